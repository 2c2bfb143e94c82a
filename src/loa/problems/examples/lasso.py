"""LASSO: sparse recovery with an ℓ1 penalty (section 6.3 of the paper)."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Scalar

from ...messages.arguments import number_range
from ..computed_optimum import ComputedOptimum
from ..problem_class import whole_number


class SparseRecovery(NamedTuple):
    """One problem: the right-hand side b, the regularization parameter λ and, once computed, the optimal loss."""

    target: Float[Array, " p"]
    regularization: Float[Array, ""]
    optimal_loss: Float[Array, ""] | None = None


class Lasso(ComputedOptimum):
    r"""Sparse regression: least squares with an ℓ1 penalty (section 6.3 of the paper).

    \[ \min_x \tfrac12 \|Ax - b\|^2 + \lambda \|x\|_1, \]

    with a matrix \(A \in \mathbb R^{p \times d}\) shared by all problems. A is drawn once from U(-½, ½);
    \(b \sim N(\mu, C^\top C)\) with μ and C drawn once from U(-5, 5); λ is uniform on its range. The start is one draw
    from \(U(-100, 100)^d\), the same for every problem.

    Arguments:
        rows: p ≥ 1, the number of equations.
        columns: d ≥ 1, the number of unknowns.
        regularization: the range of λ > 0.
        seed: determines A, μ, C and the start.

    >>> from loa import with_optimal_losses
    >>> lasso = Lasso(rows=6, columns=9)
    >>> problems = with_optimal_losses(lasso, lasso.draw(jax.random.key(0), 3))
    >>> problems.optimal_loss.shape
    (3,)
    """

    affine_gradient: ClassVar[bool] = True

    matrix: Float[Array, "p d"]
    mean: Float[Array, " p"]
    factor: Float[Array, "p p"]
    start_point: Float[Array, " d"]
    largest_eigenvalue: Float[Array, ""]
    regularization: tuple[float, float] = eqx.field(static=True)

    def __init__(
        self,
        rows: int = 35,
        columns: int = 70,
        regularization: tuple[float, float] = (5.0, 10.0),
        seed: int = 0,
    ):
        rows, columns = whole_number("rows", rows), whole_number("columns", columns)
        self.regularization = number_range("regularization", regularization)
        seed = whole_number("seed", seed, least=0)
        matrix_key, mean_key, factor_key, start_key = jax.random.split(jax.random.key(seed), 4)
        self.matrix = jax.random.uniform(matrix_key, (rows, columns), minval=-0.5, maxval=0.5)
        self.mean = jax.random.uniform(mean_key, (rows,), minval=-5.0, maxval=5.0)
        self.factor = jax.random.uniform(factor_key, (rows, rows), minval=-5.0, maxval=5.0)
        self.start_point = jax.random.uniform(start_key, (columns,), minval=-100.0, maxval=100.0)
        self.largest_eigenvalue = jnp.asarray(np.linalg.norm(np.asarray(self.matrix, np.float64), 2) ** 2, float)

    def sample(self, key: Key[Array, ""]) -> SparseRecovery:
        target_key, regularization_key = jax.random.split(key)
        noise = jax.random.normal(target_key, self.mean.shape)
        low, high = self.regularization
        weight = jax.random.uniform(regularization_key, minval=low, maxval=high)
        return SparseRecovery(self.mean + noise @ self.factor, weight)

    def start(self, problem: SparseRecovery, key: Key[Array, ""]) -> Float[Array, " d"]:
        return self.start_point

    def loss(self, x: Float[Array, " d"], problem: SparseRecovery) -> Scalar:
        return self.smooth(x, problem) + self.nonsmooth(x, problem)

    def smooth(self, x: Float[Array, " d"], problem: SparseRecovery) -> Scalar:
        """The smooth part, h(x) = ½‖Ax - b‖²."""
        residual = self.matrix @ x - problem.target
        return 0.5 * jnp.sum(residual * residual)

    def nonsmooth(self, x: Float[Array, " d"], problem: SparseRecovery) -> Scalar:
        """The non-smooth part, g(x) = λ‖x‖₁."""
        return problem.regularization * jnp.sum(jnp.abs(x))

    def gradient(self, x: Float[Array, " d"], problem: SparseRecovery) -> Float[Array, " d"]:
        return (self.matrix @ x - problem.target) @ self.matrix

    def prox(self, x: Float[Array, " d"], step_size: Scalar, problem: SparseRecovery) -> Float[Array, " d"]:
        """Soft thresholding, sign(x) max(|x| - αλ, 0)."""
        threshold = step_size * problem.regularization
        return x - jnp.clip(x, -threshold, threshold)

    def smoothness(self, problem: SparseRecovery) -> Scalar:
        return self.largest_eigenvalue

    def suboptimality(self, x: Float[Array, " d"], problem: SparseRecovery) -> Scalar:
        r"""The duality gap at a dual point proportional to the residual.

        The dual point is \(u = s (Ax - b)\) with \(s = \min(1, \lambda / \|A^\top(Ax - b)\|_\infty)\). The dual is
        \(\max -\frac12 \|u\|^2 - \langle u, b \rangle\) subject to \(\|A^\top u\|_\infty \le \lambda\). The gap is
        written as a sum of non-negative terms, so that nothing cancels.
        """
        residual, correlation = self.matrix @ x - problem.target, self.gradient(x, problem)
        scale = jnp.minimum(1.0, problem.regularization / jnp.max(jnp.abs(correlation)))
        terms = problem.regularization * jnp.abs(x) + scale * correlation * x
        return 0.5 * (1.0 - scale) ** 2 * jnp.sum(residual * residual) + jnp.sum(jnp.maximum(terms, 0.0))
