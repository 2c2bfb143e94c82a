"""The gradient method of Barzilai and Borwein."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ..messages.arguments import parameter
from ..problems.oracle import Oracle
from .algorithm import Algorithm
from .line_search import dot, inverse


class SpectralStep(NamedTuple):
    """The point, its gradient, and the step size to use next."""

    x: Float[Array, ...]
    gradient: Float[Array, ...]
    step_size: Scalar


class BarzilaiBorwein(Algorithm):
    r"""Gradient descent whose step size is the inverse of the curvature along the last step.

    \[ x^{(t+1)} = x^{(t)} - \alpha^{(t)} \nabla \ell(x^{(t)}, \theta), \qquad
       \alpha^{(t+1)} = \frac{\langle s, s \rangle}{\langle s, y \rangle}, \]

    with the step \(s = x^{(t+1)} - x^{(t)}\) and the change of the gradient y. Where the curvature is not positive, the
    step size stays. The loss need not decrease in every step, and there is no line search: one gradient per step. The
    method converges on strictly convex quadratics; elsewhere it may diverge.

    Arguments:
        step_size: the first step size, positive. By default the first step has unit length.

    Reference: Barzilai and Borwein, *Two-point step size gradient methods*, IMA Journal of Numerical Analysis, 1988.

    >>> import jax, loa
    >>> quadratics = loa.problems.Quadratics(dimension=5)
    >>> result = loa.evaluate(
    ...     BarzilaiBorwein(), quadratics, quadratics.draw(jax.random.key(0), 3),
    ...     criterion=loa.gradient_norm_below(1e-3), horizon=5000, key=jax.random.key(1),
    ... )
    >>> bool((result.outcome == "solved").all())
    True
    """

    step_size: Float[Array, ...] | None = eqx.field(converter=parameter("step_size", optional=True), default=None)

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> SpectralStep:
        gradient = oracle.gradient(x0)
        unit = inverse(jnp.sqrt(dot(gradient, gradient)))
        return SpectralStep(x0, gradient, unit if self.step_size is None else jnp.asarray(self.step_size, x0.dtype))

    def step(self, oracle: Oracle, state: SpectralStep, key: Key[Array, ""]) -> SpectralStep:
        x = state.x - state.step_size * state.gradient
        gradient = oracle.gradient(x)
        move, change = x - state.x, gradient - state.gradient
        curvature = dot(move, change)
        spectral = dot(move, move) * inverse(curvature)
        return SpectralStep(x, gradient, jnp.where(curvature > 0, spectral, state.step_size))

    def iterate(self, state: SpectralStep) -> Float[Array, ...]:
        return state.x
