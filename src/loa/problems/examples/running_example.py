"""The paper's running example: one-dimensional quadratics, and their mixture with rare outliers (section 3)."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ...messages.arguments import is_number, positive_number, share, shown
from ..problem_class import ProblemClass


class RunningExample(ProblemClass):
    r"""One-dimensional quadratics with random curvature (the running example in section 3 of the paper).

    \[ \ell(x, \theta) = \frac{\theta}{2} x^2 - x \]

    with θ uniform on [m, L]. The start is 0 and the solution 1/θ.

    Arguments:
        smallest: m > 0.
        largest: L > m.

    >>> float(RunningExample().solution(jnp.asarray(4.0)))
    0.25
    """

    affine_gradient: ClassVar[bool] = True

    smallest: float = eqx.field(static=True, default=1.0)
    largest: float = eqx.field(static=True, default=10.0)

    def __check_init__(self):
        if not (is_number(self.smallest) and is_number(self.largest) and 0 < self.smallest < self.largest < math.inf):
            raise ValueError(
                f"the running example needs 0 < m < L, got m = {shown(self.smallest)}, L = {shown(self.largest)}."
            )

    def sample(self, key: Key[Array, ""]) -> Float[Array, ""]:
        return jax.random.uniform(key, minval=self.smallest, maxval=self.largest)

    def loss(self, x: Float[Array, ""], problem: Float[Array, ""]) -> Scalar:
        return 0.5 * problem * x**2 - x

    def start(self, problem: Float[Array, ""], key: Key[Array, ""]) -> Float[Array, ""]:
        return jnp.zeros_like(problem)

    def optimal_loss(self, problem: Float[Array, ""]) -> Scalar:
        return -0.5 / problem

    def solution(self, problem: Float[Array, ""]) -> Float[Array, ""]:
        return 1.0 / problem

    def smoothness(self, problem: Float[Array, ""]) -> Scalar:
        return problem


class Parabola(NamedTuple):
    """One problem of the outlier mixture: curvature and linear term."""

    curvature: Float[Array, ""]
    slope: Float[Array, ""]


class OutlierMixture(ProblemClass):
    r"""One-dimensional quadratics, a few of which have a much larger curvature (section 3 of the paper).

    \[ \ell(x, \theta) = \frac{\theta_L}{2} x^2 - \theta_b x. \]

    \(\theta_L\) is the usual curvature or, rarely, the outlier; \(\theta_b\) is uniform on [0, 1]. The start is 0.

    Arguments:
        curvature: the usual curvature > 0.
        outlier: the curvature > 0 of outliers.
        outlier_probability: in [0, 1].

    >>> OutlierMixture(outlier_probability=0.5).draw(jax.random.key(0), 4).curvature.shape
    (4,)
    """

    affine_gradient: ClassVar[bool] = True

    curvature: float = eqx.field(static=True, default=1.0)
    outlier: float = eqx.field(static=True, default=100.0)
    outlier_probability: float = eqx.field(static=True, default=0.01)

    def __check_init__(self):
        positive_number("curvature", self.curvature)
        positive_number("outlier", self.outlier)
        share("outlier_probability", self.outlier_probability)

    def sample(self, key: Key[Array, ""]) -> Parabola:
        curvature_key, slope_key = jax.random.split(key)
        is_outlier = jax.random.bernoulli(curvature_key, self.outlier_probability)
        return Parabola(jnp.where(is_outlier, self.outlier, self.curvature), jax.random.uniform(slope_key))

    def loss(self, x: Float[Array, ""], problem: Parabola) -> Scalar:
        return 0.5 * problem.curvature * x**2 - problem.slope * x

    def start(self, problem: Parabola, key: Key[Array, ""]) -> Float[Array, ""]:
        return jnp.zeros_like(problem.slope)

    def optimal_loss(self, problem: Parabola) -> Scalar:
        return -0.5 * problem.slope**2 / problem.curvature

    def solution(self, problem: Parabola) -> Float[Array, ""]:
        return problem.slope / problem.curvature

    def smoothness(self, problem: Parabola) -> Scalar:
        return problem.curvature
