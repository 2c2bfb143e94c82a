"""The nonlinear conjugate gradient method."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ..problems.oracle import Oracle
from .algorithm import Algorithm
from .line_search import dot, inverse, line_search

FLATNESS = 0.1
"""The share of the initial slope that may remain after a line search."""


class ConjugateState(NamedTuple):
    """The point with its loss and gradient, the next search direction, and the step with which to probe it."""

    x: Float[Array, ...]
    value: Scalar
    gradient: Float[Array, ...]
    direction: Float[Array, ...]
    probe: Scalar


class ConjugateGradient(Algorithm):
    r"""The nonlinear conjugate gradient method, which has no parameters to set.

    \[ x^{(t+1)} = x^{(t)} + \alpha^{(t)} d^{(t)}, \qquad d^{(t+1)} = -g^{(t+1)} + \beta^{(t)} d^{(t)}, \qquad
       \beta^{(t)} = \max\Big\{0, \min\Big\{\frac{\langle g^{(t+1)}, y \rangle}{\langle d^{(t)}, y \rangle},
       \frac{\|g^{(t+1)}\|^2}{\langle d^{(t)}, y \rangle}\Big\}\Big\}, \]

    where \(g^{(t)} = \nabla \ell(x^{(t)}, \theta)\) and \(y = g^{(t+1)} - g^{(t)}\). The formula is that of Hestenes
    and Stiefel, clipped to lie between 0 and the formula of Dai and Yuan, which ensures descent and convergence.

    One additional gradient measures the curvature along the direction. The line search begins with the step that
    minimizes the quadratic with that curvature. On a quadratic it also ends there, so that the method is the linear
    conjugate gradient method and a step takes two gradients and one value.

    Reference: Dai and Yuan, *An efficient hybrid conjugate gradient method for unconstrained optimization*, 2001.

    >>> import jax, loa
    >>> parabolas, curvature = loa.problems.RunningExample(), jnp.array([2.0])  # x² - x, minimal at ½
    >>> path = loa.trajectories(ConjugateGradient(), parabolas, curvature, horizon=1, key=jax.random.key(0))
    >>> path.iterates.ravel().tolist()
    [0.0, 0.5]
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
