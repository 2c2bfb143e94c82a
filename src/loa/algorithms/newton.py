"""Newton's method and the method of Levenberg and Marquardt, with damping that adapts."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float, Key, Scalar

from ..messages.arguments import parameter
from ..problems.oracle import Oracle
from .admm import positive_mean
from .algorithm import Algorithm

ROUNDING = 10.0
"""Losses that differ by fewer units of relative precision than this are taken as equal."""


SMALLEST = 1e-12
"""The smallest curvature of a coordinate that damping is scaled by, as a share of the average."""


class Model(NamedTuple):
    """A point that is to be tried; the best point so far with its loss, gradient and curvature; and the damping."""

    x: Float[Array, ...]
    best: Float[Array, ...]
    loss: Scalar
    gradient: Float[Array, ...]
    curvature: Float[Array, "d d"]
    log_damping: Scalar


class Newton(Algorithm):
    r"""Newton's method with adaptive damping, for smooth losses.

    \[ x^{(t+1)} = x - (H + \mu S)^{-1} \nabla \ell(x, \theta), \qquad S_{ii} = s^{1-q} |H_{ii}|^q, \quad
       s = \frac1d \sum_i |H_{ii}|, \]

    where x is the best of the points so far and H the Hessian there. The damping μ shrinks by a factor when a point is
    better than those before, and grows when it is not, or when \(H + \mu S\) is not positive definite, so that the
    next point is closer. With q = 1 the method does not depend on the units of the coordinates. A step takes one
    value, one gradient and one Hessian, and solves d linear equations.

    Arguments:
        log_damping: the logarithm of the first μ.
        log_shrink: the logarithm of the factor by which μ shrinks.
        log_grow: the logarithm of the factor by which μ grows.
        scaling: q in [0, 1]. With 0 all coordinates are damped equally, as Levenberg did; with 1 each in proportion to
            its curvature, as Marquardt did, which suits coordinates of very different size.

    >>> import jax, loa
    >>> rosenbrock = loa.problems.Rosenbrock(dimension=2)
    >>> problems = rosenbrock.draw(jax.random.key(0), 3)
    >>> losses = loa.trajectories(Newton(), rosenbrock, problems, horizon=100, key=jax.random.key(1)).losses
    >>> bool((losses.min(axis=-1) < 1e-6).all())
    True
    """

    log_damping: Float[Array, ""] = eqx.field(converter=parameter("log_damping"), default=-5.0)
    log_shrink: Float[Array, ""] = eqx.field(converter=parameter("log_shrink"), default=-1.5)
    log_grow: Float[Array, ""] = eqx.field(converter=parameter("log_grow"), default=1.5)
    scaling: Float[Array, ""] = eqx.field(converter=parameter("scaling"), default=0.0)

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> Model:
        zero = jnp.zeros((x0.size, x0.size), x0.dtype)
        first = jnp.asarray(self.log_damping - self.log_shrink, x0.dtype)
        return Model(x0, x0, jnp.full((), jnp.inf, x0.dtype), jnp.zeros_like(x0), zero, first)

    def step(self, oracle: Oracle, state: Model, key: Key[Array, ""]) -> Model:
        loss, gradient, curvature = self.look(oracle, state.x)
        tolerated = ROUNDING * jnp.finfo(loss.dtype).eps * jnp.abs(state.loss)
        better = (loss <= state.loss + jnp.where(jnp.isfinite(tolerated), tolerated, 0.0)) & jnp.isfinite(loss)
        best = jnp.where(better, state.x, state.best)
        loss = jnp.where(better, loss, state.loss)
        gradient = jnp.where(better, gradient, state.gradient)
        curvature = jnp.where(better, curvature, state.curvature)
        change = jnp.where(better, self.log_shrink, self.log_grow)
        log_damping = jnp.clip(state.log_damping + change, -30.0, 30.0)
        damping = jnp.exp(log_damping) * self._sizes(jnp.diagonal(curvature))
        factor = jnp.linalg.cholesky(curvature + jnp.diag(damping))
        definite = jnp.all(jnp.isfinite(factor))
        move = cho_solve((jnp.where(definite, factor, 1.0), True), gradient.ravel()).reshape(best.shape)
        log_damping = jnp.where(definite, log_damping, log_damping + self.log_grow - self.log_shrink)
        return Model(jnp.where(definite, best - move, best), best, loss, gradient, curvature, log_damping)

    def _sizes(self, diagonal: Float[Array, " d"]) -> Float[Array, " d"]:
        """What the damping of each coordinate is in proportion to."""
        mean = positive_mean(diagonal)
        return mean * jnp.maximum(jnp.abs(diagonal) / mean, SMALLEST) ** self.scaling

    def look(self, oracle: Oracle, x: Float[Array, ...]) -> tuple[Scalar, Float[Array, ...], Float[Array, "d d"]]:
        """Loss, gradient and curvature at a point."""
        return *oracle.value_and_gradient(x), oracle.hessian(x)

    def iterate(self, state: Model) -> Float[Array, ...]:
        return state.x


class LevenbergMarquardt(Newton):
    r"""The method of Levenberg and Marquardt, for losses that are half the squared norm of `residuals`.

    Newton's method with \(J^\top J\) in the place of the Hessian, where J is the derivative of the residuals. A step
    takes two values, one gradient and one Jacobian.

    Arguments:
        log_damping, log_shrink, log_grow, scaling: as for `Newton`.

    >>> import jax, loa
    >>> class Roots(loa.ProblemClass):
    ...     def sample(self, key):
    ...         return jax.random.uniform(key, (3,), minval=1.0, maxval=9.0)
    ...     def residuals(self, x, problem):
    ...         return x**2 - problem
    ...     def loss(self, x, problem):
    ...         return 0.5 * jnp.sum(self.residuals(x, problem) ** 2)
    ...     def start(self, problem, key):
    ...         return jnp.ones(3)
    >>> problems = Roots().draw(jax.random.key(0), 3)
    >>> losses = loa.trajectories(LevenbergMarquardt(), Roots(), problems, horizon=20, key=jax.random.key(1)).losses
    >>> bool((losses[..., -1] < 1e-6).all())
    True
    """

    def look(self, oracle: Oracle, x: Float[Array, ...]) -> tuple[Scalar, Float[Array, ...], Float[Array, "d d"]]:
        _, jacobian = oracle.residuals_and_jacobian(x)
        return *oracle.value_and_gradient(x), jacobian.T @ jacobian
