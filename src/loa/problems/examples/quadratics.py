"""Strongly convex quadratics (section 6.1 of the paper)."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ...messages.arguments import number_range
from ..problem_class import ProblemClass, whole_number


class Quadratic(NamedTuple):
    """One problem: the diagonal of A and the right-hand side b."""

    diagonal: Float[Array, " d"]
    target: Float[Array, " d"]


class Quadratics(ProblemClass):
    r"""Strongly convex quadratics (section 6.1 of the paper).

    \[ \min_x \tfrac12 \|Ax - b\|^2 \]

    with a diagonal A whose entries increase linearly from √m to √L. m and L are uniform on their ranges;
    \(b \sim N(\mu, C^\top C)\), where μ and C are drawn once from U(-5, 5) and belong to the class. The start is 0.

    Arguments:
        dimension: of x, at least 1.
        strong_convexity: the range of m > 0.
        smoothness_range: the range of L ≥ m.
        seed: determines μ and C.

    >>> Quadratics(dimension=5).draw(jax.random.key(0), 3).target.shape
    (3, 5)
    """

    affine_gradient: ClassVar[bool] = True

    mean: Float[Array, " d"]
    factor: Float[Array, "d d"]
    strong_convexity: tuple[float, float] = eqx.field(static=True)
    smoothness_range: tuple[float, float] = eqx.field(static=True)

    def __init__(
        self,
        dimension: int = 200,
        strong_convexity: tuple[float, float] = (1e-3, 5e-3),
        smoothness_range: tuple[float, float] = (1e2, 5e2),
        seed: int = 0,
    ):
        dimension, seed = whole_number("dimension", dimension), whole_number("seed", seed, least=0)
        mean_key, factor_key = jax.random.split(jax.random.key(seed))
        self.mean = jax.random.uniform(mean_key, (dimension,), minval=-5.0, maxval=5.0)
        self.factor = jax.random.uniform(factor_key, (dimension, dimension), minval=-5.0, maxval=5.0)
        self.strong_convexity = number_range("strong_convexity", strong_convexity)
        self.smoothness_range = number_range("smoothness_range", smoothness_range)

    def sample(self, key: Key[Array, ""]) -> Quadratic:
        m_key, l_key, b_key = jax.random.split(key, 3)
        m = jax.random.uniform(m_key, minval=self.strong_convexity[0], maxval=self.strong_convexity[1])
        largest = jax.random.uniform(l_key, minval=self.smoothness_range[0], maxval=self.smoothness_range[1])
        noise = jax.random.normal(b_key, self.mean.shape)
        diagonal = jnp.linspace(jnp.sqrt(m), jnp.sqrt(largest), self.mean.size)
        return Quadratic(diagonal, self.mean + noise @ self.factor)

    def loss(self, x: Float[Array, " d"], problem: Quadratic) -> Scalar:
        residual = problem.diagonal * x - problem.target
        return 0.5 * jnp.sum(residual * residual)

    def gradient(self, x: Float[Array, " d"], problem: Quadratic) -> Float[Array, " d"]:
        return problem.diagonal * (problem.diagonal * x - problem.target)

    def start(self, problem: Quadratic, key: Key[Array, ""]) -> Float[Array, " d"]:
        return jnp.zeros_like(problem.target)

    def smoothness(self, problem: Quadratic) -> Scalar:
        return problem.diagonal[-1] ** 2

    def optimal_loss(self, problem: Quadratic) -> float:
        return 0.0

    def solution(self, problem: Quadratic) -> Float[Array, " d"]:
        return problem.target / problem.diagonal
