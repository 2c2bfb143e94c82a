"""The nonlinear conjugate gradient method."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ..problems.oracle import Oracle
from .algorithm import Algorithm
from .line_search import dot, inverse, line_search

FLATNESS = 0.1
"""How much of the slope a line search may leave."""


class ConjugateState(NamedTuple):
    """The point with its loss and gradient, the direction to search next, and the step to probe it with."""

    x: Float[Array, ...]
    value: Scalar
    gradient: Float[Array, ...]
    direction: Float[Array, ...]
    probe: Scalar


class ConjugateGradient(Algorithm):
    r"""Nonlinear conjugate gradients; on quadratics the linear method, step by step. It has no parameters.

    \[ x^{(t+1)} = x^{(t)} + \alpha^{(t)} d^{(t)}, \qquad d^{(t+1)} = -g^{(t+1)} + \beta^{(t)} d^{(t)}, \qquad
       \beta^{(t)} = \max\Big\{0, \min\Big\{\frac{\langle g^{(t+1)}, y \rangle}{\langle d^{(t)}, y \rangle},
       \frac{\|g^{(t+1)}\|^2}{\langle d^{(t)}, y \rangle}\Big\}\Big\}, \]

    where \(g^{(t)} = \nabla \ell(x^{(t)}, \theta)\) and \(y = g^{(t+1)} - g^{(t)}\): the formula of Hestenes and
    Stiefel, kept between 0 and that of Dai and Yuan, which gives descent and convergence.

    The curvature along the direction is measured by one more gradient on it; the step that minimizes the quadratic
    with that curvature is where the line search begins. On a quadratic it ends there, too: two gradients and one
    value per step.

    Reference: Dai and Yuan, *An efficient hybrid conjugate gradient method for unconstrained optimization*, 2001.
    """

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> ConjugateState:
        value, gradient = oracle.value_and_gradient(x0)
        return ConjugateState(x0, value, gradient, -gradient, inverse(jnp.sqrt(dot(gradient, gradient))))

    def step(self, oracle: Oracle, state: ConjugateState, key: Key[Array, ""]) -> ConjugateState:
        x, value, gradient, direction, probe = state
        slope = dot(gradient, direction)
        curvature = (dot(oracle.gradient(x + probe * direction), direction) - slope) / probe
        newton = -slope / jnp.where(curvature > 0, curvature, 1.0)
        first = jnp.where((curvature > 0) & (newton > 0), newton, probe)
        found = line_search(oracle, x, direction, value, gradient, first, FLATNESS)

        change = found.gradient - gradient
        gain, square = dot(direction, change), dot(found.gradient, found.gradient)
        beta = jnp.where(gain > 0, jnp.clip(dot(found.gradient, change), 0.0, square) * inverse(gain), 0.0)
        conjugate = beta * direction - found.gradient
        conjugate = jnp.where(dot(found.gradient, conjugate) < 0, conjugate, -found.gradient)
        likely = found.step * slope / jnp.minimum(dot(found.gradient, conjugate), -jnp.finfo(x.dtype).tiny)
        next_probe = jnp.where((likely > 0) & jnp.isfinite(likely), likely, probe)
        return ConjugateState(found.x, found.value, found.gradient, conjugate, next_probe)

    def iterate(self, state: ConjugateState) -> Float[Array, ...]:
        return state.x

    def known(self, state: ConjugateState) -> tuple[Scalar, Float[Array, ...]]:
        return state.value, state.gradient
