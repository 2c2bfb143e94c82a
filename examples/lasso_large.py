"""LASSO with a new 250 × 500 matrix for every problem, as in Math-L2O: `loa run examples/lasso_large.py`."""

import jax
import jax.numpy as jnp

import loa

ROWS, COLUMNS, NOT_ZERO, PENALTY = 250, 500, 50, 0.1


class LargeLasso(loa.ProblemClass):
    """Columns of norm 1, and 50 coefficients of 500 that are not zero."""

    def sample(self, key):
        entries, which, size = jax.random.split(key, 3)
        matrix = jax.random.normal(entries, (ROWS, COLUMNS))
        matrix /= jnp.linalg.norm(matrix, axis=0)
        chosen = jax.random.permutation(which, COLUMNS) < NOT_ZERO
        return matrix, matrix @ (jax.random.normal(size, (COLUMNS,)) * chosen)

    def smooth(self, x, problem):
        matrix, target = problem
        return 0.5 * jnp.sum((matrix @ x - target) ** 2)

    def loss(self, x, problem):
        return self.smooth(x, problem) + PENALTY * jnp.sum(jnp.abs(x))

    def prox(self, x, step_size, problem):
        return jnp.sign(x) * jnp.maximum(jnp.abs(x) - step_size * PENALTY, 0.0)

    def smoothness(self, problem):
        return jnp.linalg.eigvalsh(problem[0] @ problem[0].T)[-1]

    def start(self, problem, key):
        return jnp.zeros(COLUMNS)


sizes = {"prior": 60, "posterior": 60, "validation": 60, "held-out": 120, "test": 60}  # a megabyte each
