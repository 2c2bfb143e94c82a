"""Non-negative factorizations of matrices, from random starts: `loa run examples/factorization.py`.

Losses are not convex, so algorithms can end at different points. What ends at worse ones is not deployed.
"""

import jax
import jax.numpy as jnp

import loa

ROWS, COLUMNS, RANK = 12, 20, 3


class Factorizations(loa.ProblemClass):
    """A noisy matrix of low rank, and random factors to start from."""

    constraint = loa.sets.NonNegative()

    def sample(self, key):
        left, right, noise = jax.random.split(key, 3)
        shares, spectra = jax.random.exponential(left, (ROWS, RANK)), jax.random.exponential(right, (RANK, COLUMNS))
        return shares @ spectra + 0.1 * jax.random.normal(noise, (ROWS, COLUMNS))

    def smooth(self, x, matrix):
        misfit = jnp.mean((x["shares"] @ x["spectra"] - matrix) ** 2)
        return 0.5 * misfit + 1e-3 * (jnp.sum(x["shares"] ** 2) + jnp.sum(x["spectra"] ** 2))

    def start(self, matrix, key):
        left, right = jax.random.split(key)
        return {"shares": jax.random.uniform(left, (ROWS, RANK)), "spectra": jax.random.uniform(right, (RANK, COLUMNS))}
