"""LASSO with a new 50 × 100 matrix for every problem: `loa run examples/lasso_small.py`."""

import jax
import jax.numpy as jnp

import loa

ROWS, COLUMNS = 50, 100


class SmallLasso(loa.ProblemClass):
    """A tenth of the coefficients is not zero; the penalty is a share of the smallest that makes all of them zero."""

    def sample(self, key):
        entries, which, size, noise, share = jax.random.split(key, 5)
        matrix = jax.random.normal(entries, (ROWS, COLUMNS)) / ROWS**0.5
        truth = jax.random.normal(size, (COLUMNS,)) * jax.random.bernoulli(which, 0.1, (COLUMNS,))
        target = matrix @ truth + 0.05 * jax.random.normal(noise, (ROWS,))
        penalty = jax.random.uniform(share, minval=0.05, maxval=0.2) * jnp.max(jnp.abs(matrix.T @ target))
        return matrix, target, penalty

    def smooth(self, x, problem):
        matrix, target, _ = problem
        return 0.5 * jnp.sum((matrix @ x - target) ** 2)

    def loss(self, x, problem):
        return self.smooth(x, problem) + problem[2] * jnp.sum(jnp.abs(x))

    def prox(self, x, step_size, problem):
        return jnp.sign(x) * jnp.maximum(jnp.abs(x) - step_size * problem[2], 0.0)

    def smoothness(self, problem):
        return jnp.linalg.eigvalsh(problem[0] @ problem[0].T)[-1]

    def start(self, problem, key):
        return jnp.zeros(COLUMNS)
