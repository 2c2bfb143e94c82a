"""Group LASSO: which of 20 groups of coefficients are needed at all? `loa run examples/group_lasso.py`."""

import jax
import jax.numpy as jnp

import loa

ROWS, GROUPS, SIZE = 60, 20, 4


class GroupLasso(loa.ProblemClass):
    """Three groups in twenty matter; rows, right-hand side and penalty differ."""

    def sample(self, key):
        entries, which, size, noise, penalty = jax.random.split(key, 5)
        matrix = jax.random.normal(entries, (ROWS, GROUPS * SIZE)) / ROWS**0.5
        needed = jnp.repeat(jax.random.bernoulli(which, 0.15, (GROUPS,)), SIZE)
        target = matrix @ (needed * jax.random.normal(size, needed.shape)) + 0.1 * jax.random.normal(noise, (ROWS,))
        return matrix, target, jax.random.uniform(penalty, minval=0.1, maxval=0.5)

    def smooth(self, x, problem):
        return 0.5 * jnp.sum((problem[0] @ x - problem[1]) ** 2)

    def constraint(self, problem):
        return loa.sets.GroupNorm(problem[2], groups=SIZE)

    def smoothness(self, problem):
        return jnp.linalg.eigvalsh(problem[0] @ problem[0].T)[-1]

    def start(self, problem, key):
        return jnp.zeros(GROUPS * SIZE)
