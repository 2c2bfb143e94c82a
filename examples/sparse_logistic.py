"""Sparse logistic regression on samples of patients with breast tumours: `loa run examples/sparse_logistic.py`."""

import jax
import jax.numpy as jnp
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import loa

PATIENTS, BENIGN = load_breast_cancer(return_X_y=True)
SIGNED = jnp.asarray(scale(PATIENTS) * (2.0 * BENIGN - 1.0)[:, None])


class SparseLogistic(loa.ProblemClass):
    """A problem is a bootstrap sample of patients and a penalty of the absolute values of the 30 coefficients."""

    def sample(self, key):
        patient, penalty = jax.random.split(key)
        chosen = jax.random.randint(patient, (150,), 0, len(SIGNED))
        return SIGNED[chosen], jax.random.uniform(penalty, minval=0.02, maxval=0.1)

    def smooth(self, x, problem):
        return jnp.mean(jax.nn.softplus(-problem[0] @ x))

    def loss(self, x, problem):
        return self.smooth(x, problem) + problem[1] * jnp.sum(jnp.abs(x))

    def prox(self, x, step_size, problem):
        return jnp.sign(x) * jnp.maximum(jnp.abs(x) - step_size * problem[1], 0.0)

    def smoothness(self, problem):
        return jnp.linalg.eigvalsh(problem[0].T @ problem[0])[-1] / (4 * 150)

    def start(self, problem, key):
        return jnp.zeros(30)


horizon = 1000
