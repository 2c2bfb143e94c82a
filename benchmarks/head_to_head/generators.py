"""The problem classes of others, written from what their papers say.

What a paper leaves open, as far as we know it, is a choice of ours: in all sparse problems a coefficient is not zero
with a given probability or in given number, with a value from N(0, 1), and there is no noise.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

import loa


def unit_columns(key, rows, columns):
    """A Gaussian matrix with columns of norm 1."""
    matrix = jax.random.normal(key, (rows, columns))
    return matrix / jnp.linalg.norm(matrix, axis=0)


def soft(x, threshold):
    return jnp.sign(x) * jnp.maximum(jnp.abs(x) - threshold, 0.0)


class Sparse(loa.ProblemClass):
    """A smooth loss plus λ‖x‖₁, from the start 0."""

    penalty: eqx.AbstractVar[float]
    columns: eqx.AbstractVar[int]

    def loss(self, x, problem):
        return self.smooth(x, problem) + self.penalty * jnp.sum(jnp.abs(x))

    def prox(self, x, step_size, problem):
        return soft(x, step_size * self.penalty)

    def start(self, problem, key):
        return jnp.zeros(self.columns)


class FixedMatrix(Sparse):
    """LASSO with one matrix for all problems; a problem is the right-hand side and the coefficients that made it."""

    matrix: jax.Array
    penalty: float = eqx.field(static=True)
    share: float = eqx.field(static=True, default=0.1)

    @property
    def columns(self):
        return self.matrix.shape[1]

    def sample(self, key):
        which, size = jax.random.split(key)
        chosen = jax.random.bernoulli(which, self.share, (self.columns,))
        truth = jax.random.normal(size, (self.columns,)) * chosen
        return self.matrix @ truth, truth

    def smooth(self, x, problem):
        return 0.5 * jnp.sum((self.matrix @ x - problem[0]) ** 2)

    def smoothness(self, problem):
        return jnp.linalg.eigvalsh(self.matrix @ self.matrix.T)[-1]


class NewMatrix(Sparse):
    """LASSO with a new matrix for every problem, and a fixed number of coefficients that are not zero."""

    rows: int = eqx.field(static=True, default=250)
    columns: int = eqx.field(static=True, default=500)
    not_zero: int = eqx.field(static=True, default=50)
    penalty: float = eqx.field(static=True, default=0.1)

    def sample(self, key):
        entries, which, size = jax.random.split(key, 3)
        matrix = unit_columns(entries, self.rows, self.columns)
        chosen = jax.random.permutation(which, self.columns) < self.not_zero
        return matrix, matrix @ (jax.random.normal(size, (self.columns,)) * chosen)

    def smooth(self, x, problem):
        return 0.5 * jnp.sum((problem[0] @ x - problem[1]) ** 2)

    def smoothness(self, problem):
        return jnp.linalg.eigvalsh(problem[0] @ problem[0].T)[-1]


class SparseLogistic(Sparse):
    """Logistic regression with an ℓ1 penalty: Gaussian features, and the signs of a sparse linear function of them."""

    rows: int = eqx.field(static=True, default=1000)
    columns: int = eqx.field(static=True, default=50)
    not_zero: int = eqx.field(static=True, default=20)
    penalty: float = eqx.field(static=True, default=0.1)

    def sample(self, key):
        entries, which, size = jax.random.split(key, 3)
        features = jax.random.normal(entries, (self.rows, self.columns))
        chosen = jax.random.permutation(which, self.columns) < self.not_zero
        labels = jnp.sign(features @ (jax.random.normal(size, (self.columns,)) * chosen))
        return labels[:, None] * features

    def smooth(self, x, problem):
        return jnp.mean(jax.nn.softplus(-(problem @ x)))

    def smoothness(self, problem):
        return jnp.linalg.eigvalsh(problem.T @ problem)[-1] / (4 * self.rows)
