"""A semismooth Newton method for losses with a proximal mapping."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ..messages.arguments import parameter
from ..problems.gaps import norm
from ..problems.oracle import Oracle
from .algorithm import Algorithm


class NewtonPoint(NamedTuple):
    """The point, the Hessian, and what to fall back to: the last good residual, the point after it, the damping.

    And the logarithm of how much larger the next residual may be, and the loss at the point to fall back to.
    """

    x: Float[Array, ...]
    hessian: Float[Array, "d d"]
    reached: Scalar
    back: Float[Array, ...]
    log_damping: Scalar
    allowed: Scalar
    value: Scalar


SETTLES = 0.985
"""The factor by which the increase that a residual is allowed, if any, shrinks with every step."""


class SemismoothNewton(Algorithm):
    r"""A semismooth Newton method for a loss f + g, safeguarded by proximal gradient steps.

    It solves \(F_\beta(x) = x - \mathrm{prox}_{\beta g}(x - \beta \nabla f(x)) = 0\), where \(\beta = e^s / L\), by

    \[ \big(I - P (I - \beta H) + \mu I\big)\, d = -F_\beta(x^{(t)}), \]

    where P is the true derivative of the proximal mapping, and H is the Hessian of the smooth part, taken at
    \(x^{(t)}\) or, for a class whose gradient is affine or with `frozen`, once at the start. The zeros are
    the same for every β; a large one finds the active constraints sooner where f is strongly convex. If after a Newton
    step \(\|F_{1/L}\|\) is more than `progress` times what it was at the last point that was kept, the step is taken
    back, and a proximal gradient step of size 1/L is made in its place. The damping μ grows then by a factor of ten,
    and shrinks by the factor `shrink` when a step succeeds.

    A residual can be small far away from the solutions, and is 0 at maxima as well. With `descent`, the loss decides
    instead: it is that of the proximal gradient step from the new point, and must be lower than it was for the last
    point that was kept, or as low but for rounding, with a smaller residual.

    A step takes one gradient, two proximal mappings, a loss if that decides, and a Hessian unless it is frozen; it
    solves d linear equations. If the proximal mapping acts on each coordinate alone, P is diagonal, and saying so saves
    most of the other work.

    Arguments:
        log_damping: the logarithm of the first μ.
        log_shrink: the logarithm of the factor by which μ shrinks.
        log_progress: the logarithm of `progress`. If it is positive, residuals may increase in the beginning; it then
            shrinks by 1.5% with every step, so that the method cannot run in circles for long.
        log_step: s, the logarithm of β relative to 1/L.
        frozen: whether the Hessian at the start is used throughout.
        separable: whether the proximal mapping acts on each coordinate alone, as that of a box or of the 1-norm does.
        descent: whether the loss must decrease; by default it must. The residual alone needs fewer steps on some
            quadratic problems.

    Reference: Facchinei and Pang, *Finite-dimensional variational inequalities and complementarity problems*, 2003.

    >>> import jax, loa
    >>> lasso = loa.problems.Lasso(rows=12, columns=6)
    >>> problems = lasso.draw(jax.random.key(0), 3)
    >>> losses = loa.trajectories(SemismoothNewton(), lasso, problems, horizon=20, key=jax.random.key(1)).losses
    >>> bool((losses[..., -1] < losses[..., 0]).all())
    True
    """

    on_vectors: ClassVar[bool] = True

    log_damping: Float[Array, ""] = eqx.field(converter=parameter("log_damping"), default=-9.0)
    log_shrink: Float[Array, ""] = eqx.field(converter=parameter("log_shrink"), default=-1.0)
    log_progress: Float[Array, ""] = eqx.field(converter=parameter("log_progress"), default=0.0)
    log_step: Float[Array, ""] = eqx.field(converter=parameter("log_step"), default=0.0)
    frozen: bool = eqx.field(static=True, default=False)
    separable: bool = eqx.field(static=True, default=False)
    descent: bool = eqx.field(static=True, default=True)

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> NewtonPoint:
        hessian = oracle.hessian(x0)
        log_damping, allowed = (each.astype(x0.dtype) for each in (self.log_damping, self.log_progress))
        none = jnp.full((), jnp.inf, x0.dtype)
        return NewtonPoint(x0, hessian, none, x0, log_damping, allowed, none)

    def step(self, oracle: Oracle, state: NewtonPoint, key: Key[Array, ""]) -> NewtonPoint:
        x, small, gradient = state.x.ravel(), 1.0 / oracle.smoothness(), oracle.gradient(state.x).ravel()
        safe = oracle.prox(x - small * gradient, small)
        length = norm(x - safe)
        better = length < jnp.exp(state.allowed) * state.reached
        value = state.value
        if self.descent:
            value = oracle.value(safe)
            rounding = 10 * jnp.finfo(x.dtype).eps * jnp.abs(state.value)
            better = (value < state.value - rounding) | (better & (value <= state.value + rounding))
        log_damping = jnp.where(better, state.log_damping + self.log_shrink, state.log_damping + jnp.log(10.0))
        log_damping = jnp.clip(log_damping, -23.0, 3.0)
        beta = jnp.exp(self.log_step).astype(x.dtype) * small
        moved, sloped = self._prox(oracle, x - beta * gradient, beta)
        hessian = self._hessian(oracle, state)
        identity = jnp.eye(x.size, dtype=x.dtype)
        matrix = (1.0 + jnp.exp(log_damping)) * identity - sloped(identity - beta * hessian)
        newton = x - jnp.linalg.solve(matrix, x - moved)
        ahead = jnp.where(better & jnp.all(jnp.isfinite(newton)), newton, state.back)
        back = jnp.where(better, safe, state.back)
        reached = jnp.where(better, length, state.reached)
        allowed = jnp.minimum(state.allowed, SETTLES * state.allowed)
        return NewtonPoint(ahead, hessian, reached, back, log_damping, allowed, jnp.where(better, value, state.value))

    def _prox(
        self, oracle: Oracle, point: Float[Array, " d"], beta: Scalar
    ) -> tuple[Float[Array, " d"], Callable[[Float[Array, "d d"]], Float[Array, "d d"]]]:
        """The proximal mapping, and what multiplies a matrix by its derivative P from the left."""
        if self.separable:
            moved, slope = jax.jvp(lambda v: oracle.prox(v, beta), (point,), (jnp.ones_like(point),))
            return moved, lambda matrix: slope[:, None] * matrix
        moved, jacobian = oracle.prox_and_jacobian(point, beta)
        return moved, lambda matrix: jacobian @ matrix

    def _hessian(self, oracle: Oracle, state: NewtonPoint) -> Float[Array, "d d"]:
        constant = self.frozen or oracle.problem_class.affine_gradient
        return state.hessian if constant else oracle.hessian(state.x)

    def iterate(self, state: NewtonPoint) -> Float[Array, ...]:
        return state.x
