"""A semismooth Newton method for losses with a proximal mapping."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ..problems.arguments import parameter
from ..problems.gaps import norm
from ..problems.oracle import Oracle
from .algorithm import Algorithm


class NewtonPoint(NamedTuple):
    """The point, the Hessian, and what to fall back to: the last good residual, the point after it, the damping."""

    x: Float[Array, ...]
    hessian: Float[Array, "d d"]
    reached: Scalar
    back: Float[Array, ...]
    log_damping: Scalar


class SemismoothNewton(Algorithm):
    r"""A semismooth Newton method for a loss f + g, safeguarded by proximal gradient steps.

    It solves \(F(x) = x - \mathrm{prox}_{\beta g}(x - \beta \nabla f(x)) = 0\), where β = 1/L, by

    \[ \big(I - P (I - \beta H) + \mu I\big)\, d = -F(x^{(t)}), \]

    where P is the true derivative of the proximal mapping, and H is the Hessian of the smooth part, taken at
    \(x^{(t)}\) or, for a class whose gradient is affine or with `frozen`, once at the start. If a Newton step has
    reduced \(\|F\|\) by less than the factor `progress`, it is taken back, and a proximal gradient step is made in its
    place. The damping μ grows then, and shrinks when a step succeeds, by factors of ten and of `shrink`.

    A step takes one gradient, one proximal mapping and, unless it is frozen, a Hessian; it solves d linear equations.
    If the proximal mapping acts on each coordinate alone, P is diagonal, and saying so saves most of the other work.

    Arguments:
        log_damping: the logarithm of the first μ.
        log_shrink: the logarithm of the factor by which μ shrinks.
        log_progress: the logarithm of the factor by which the residual must shrink.
        frozen: whether the Hessian at the start is used throughout.
        separable: whether the proximal mapping acts on each coordinate alone, as that of a box or of the 1-norm does.

    Reference: Facchinei and Pang, *Finite-dimensional variational inequalities and complementarity problems*, 2003.
    """

    on_vectors: ClassVar[bool] = True

    log_damping: Float[Array, ""] = eqx.field(converter=parameter("log_damping"), default=-9.0)
    log_shrink: Float[Array, ""] = eqx.field(converter=parameter("log_shrink"), default=-1.0)
    log_progress: Float[Array, ""] = eqx.field(converter=parameter("log_progress"), default=0.0)
    frozen: bool = eqx.field(static=True, default=False)
    separable: bool = eqx.field(static=True, default=False)

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> NewtonPoint:
        hessian = oracle.hessian(x0)
        return NewtonPoint(x0, hessian, jnp.full((), jnp.inf, x0.dtype), x0, self.log_damping.astype(x0.dtype))

    def step(self, oracle: Oracle, state: NewtonPoint, key: Key[Array, ""]) -> NewtonPoint:
        x, beta = state.x, 1.0 / oracle.smoothness()
        forward = (x - beta * oracle.gradient(x)).ravel()
        moved, sloped = self._prox(oracle, forward, beta)
        residual = x.ravel() - moved
        length = norm(residual)
        better = length < jnp.exp(self.log_progress) * state.reached
        log_damping = jnp.where(better, state.log_damping + self.log_shrink, state.log_damping + jnp.log(10.0))
        log_damping = jnp.clip(log_damping, -23.0, 3.0)
        hessian = self._hessian(oracle, state)
        identity = jnp.eye(x.size, dtype=x.dtype)
        matrix = (1.0 + jnp.exp(log_damping)) * identity - sloped(identity - beta * hessian)
        newton = x - jnp.linalg.solve(matrix, residual).reshape(x.shape)
        ahead = jnp.where(better & jnp.all(jnp.isfinite(newton)), newton, state.back)
        back = jnp.where(better, moved.reshape(x.shape), state.back)
        reached = jnp.where(better, length, state.reached)
        return NewtonPoint(ahead, hessian, reached, back, log_damping)

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
