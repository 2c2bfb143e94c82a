"""Your own problem, on real data: `loa run examples/diabetes.py`.

A clinic fits the same robust regression again and again, each time on the patients of another day. Its patients are
those of scikit-learn's diabetes study. A problem is a sample of fifty of them, with the Huber loss and a random ridge.
"""

import jax
import jax.numpy as jnp
from sklearn.datasets import load_diabetes

import loa

PATIENTS, PROGRESSION = load_diabetes(return_X_y=True)


class HuberRegressions(loa.ProblemClass):
    features: jax.Array
    targets: jax.Array

    def __init__(self):
        self.features = jnp.asarray(PATIENTS / PATIENTS.std(axis=0))
        self.targets = jnp.asarray((PROGRESSION - PROGRESSION.mean()) / PROGRESSION.std())

    def sample(self, key):
        patients, ridge = jax.random.split(key)
        chosen = jax.random.randint(patients, (50,), 0, len(self.targets))
        return self.features[chosen], self.targets[chosen], jax.random.uniform(ridge, minval=1e-3, maxval=1e-1)

    def loss(self, x, problem):
        features, targets, ridge = problem
        residual = features @ x[:-1] + x[-1] - targets
        huber = jnp.where(jnp.abs(residual) < 0.5, 0.5 * residual**2, 0.5 * jnp.abs(residual) - 0.125)
        return jnp.mean(huber) + 0.5 * ridge * jnp.sum(x[:-1] ** 2)

    def start(self, problem, key):
        return jnp.zeros(11)


criterion = loa.gradient_norm_below(1e-6)
horizon = 300
