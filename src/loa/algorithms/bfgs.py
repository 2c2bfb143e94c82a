"""The BFGS method with the whole matrix, without a line search, begun with the problem's own curvature."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Bool, Float, Key, Scalar

from ..messages.arguments import parameter
from ..problems.gaps import norm
from ..problems.oracle import Oracle
from .admm import positive_mean
from .algorithm import Algorithm
from .line_search import ROUNDING, dot

SHORTER = 0.4
"""A step that led to a larger loss is followed by one that is no longer than this share of it."""

CURVED = 1e-10
"""A pair is used if the cosine of the angle between its two changes is larger than this."""


class DenseModel(NamedTuple):
    """A point that is to be tried; the best point so far with its loss and gradient; and the inverse Hessian."""

    x: Float[Array, " d"]
    best: Float[Array, " d"]
    loss: Scalar
    gradient: Float[Array, " d"]
    inverse: Float[Array, "d d"]


class BFGS(Algorithm):
    r"""The method of Broyden, Fletcher, Goldfarb and Shanno with a full matrix, begun with the Hessian at the start.

    \(x^{(t+1)} = x - \alpha B \nabla \ell(x, \theta)\), where x is the best of the points so far. B is what the updates
    of the method make of \((H + \mu s I)^{-1}\), with the Hessian H at the start and the mean s of the absolute values
    on its diagonal; or of \(s^{-1} I\) if that is not positive definite. There is no line search: a step takes one
    value and one gradient, and d² operations more. After a step that increased the loss, B is updated all the same, and
    the next step from x is at most 0.4 times as long. No step is longer than a radius.

    Arguments:
        log_damping: log μ.
        log_step: log α.
        log_radius: the logarithm of the radius.

    >>> import jax, loa
    >>> rosenbrock = loa.problems.Rosenbrock(dimension=2)
    >>> problems = rosenbrock.draw(jax.random.key(0), 3)
    >>> losses = loa.trajectories(BFGS(), rosenbrock, problems, horizon=100, key=jax.random.key(1)).losses
    >>> bool((losses.min(axis=-1) < 1e-6).all())
    True
    """

    on_vectors: ClassVar[bool] = True

    log_damping: Float[Array, ""] = eqx.field(converter=parameter("log_damping"), default=-9.0)
    log_step: Float[Array, ""] = eqx.field(converter=parameter("log_step"), default=0.0)
    log_radius: Float[Array, ""] = eqx.field(converter=parameter("log_radius"), default=20.0)

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> DenseModel:
        never = jnp.full((), jnp.inf, x0.dtype)
        return DenseModel(x0, x0, never, jnp.zeros_like(x0), self.first(oracle, x0))

    def first(self, oracle: Oracle, x0: Float[Array, " d"]) -> Float[Array, "d d"]:
        """The inverse of the Hessian to begin with."""
        hessian, identity = oracle.hessian(x0), jnp.eye(x0.size, dtype=x0.dtype)
        size = positive_mean(jnp.diagonal(hessian))
        factor = jnp.linalg.cholesky(hessian + jnp.exp(self.log_damping) * size * identity)
        definite = jnp.all(jnp.isfinite(factor))
        return jnp.where(definite, cho_solve((jnp.where(definite, factor, identity), True), identity), identity / size)

    def step(self, oracle: Oracle, state: DenseModel, key: Key[Array, ""]) -> DenseModel:
        x, tried = state.x, state.x - state.best
        loss, gradient = oracle.value_and_gradient(x)
        inverse = updated(state.inverse, tried, gradient - state.gradient)
        tolerated = jnp.where(jnp.isfinite(state.loss), ROUNDING * jnp.finfo(x.dtype).eps * jnp.abs(state.loss), 0.0)
        better = (loss <= state.loss + tolerated) & jnp.all(jnp.isfinite(gradient))
        best, slope = jnp.where(better, x, state.best), jnp.where(better, gradient, state.gradient)
        step = -jnp.exp(self.log_step).astype(x.dtype) * (inverse @ slope)
        radius = jnp.exp(self.log_radius).astype(x.dtype)
        radius = jnp.where(better, radius, jnp.minimum(radius, SHORTER * norm(tried)))
        step = step * jnp.minimum(1.0, radius / jnp.maximum(norm(step), jnp.finfo(x.dtype).tiny))
        return DenseModel(best + step, best, jnp.where(better, loss, state.loss), slope, inverse)

    def iterate(self, state: DenseModel) -> Float[Array, " d"]:
        return state.x

    def recovers(self, state: DenseModel) -> Bool[Array, ""]:
        return jnp.isfinite(state.loss)


def updated(inverse: Float[Array, "d d"], step: Float[Array, " d"], change: Float[Array, " d"]) -> Float[Array, "d d"]:
    """The inverse Hessian after a step that changed the gradient; the same one if the curvature is not positive."""
    ahead, curvature = inverse @ change, dot(step, change)
    good = (curvature > CURVED * norm(step) * norm(change)) & jnp.isfinite(dot(change, ahead))
    share = jnp.where(good, 1.0 / jnp.where(good, curvature, 1.0), 0.0)
    towards = share * (jnp.where(good, 0.5 * (1.0 + share * dot(change, ahead)), 0.0) * step - ahead)
    towards = jnp.where(good, towards, 0.0)
    return inverse + step[:, None] * towards + towards[:, None] * step
