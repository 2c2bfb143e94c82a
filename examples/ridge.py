"""Ridge regressions that were logged while a model was in use: `loa run examples/ridge.py`."""

import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

import loa

features, targets = load_diabetes(return_X_y=True)
features, targets = scale(features), scale(targets)

log = np.random.default_rng(0)
patients = log.integers(0, len(targets), (4000, 80))
logged = {
    "features": features[patients],
    "targets": targets[patients],
    "penalty": np.exp(log.uniform(np.log(1e-3), np.log(1e-1), 4000)),
}


def loss(coefficients, problem):
    residuals = problem["features"] @ coefficients - problem["targets"]
    return 0.5 * jnp.mean(residuals**2) + 0.5 * problem["penalty"] * jnp.sum(coefficients**2)


problem_class = loa.FromInstances(logged, loss, start=jnp.zeros(10))
