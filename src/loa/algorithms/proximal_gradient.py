"""The proximal gradient method (ISTA)."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Float, Key

from ..problems.oracle import Oracle
from .algorithm import Algorithm
from .step_size import optional, step_size_for


class ProximalGradient(Algorithm):
    r"""\(x^{(t+1)} = \mathrm{prox}_{\alpha g(\cdot, \theta)}(x^{(t)} - \alpha \nabla f(x^{(t)}, \theta))\), with h = α.

    For composite losses f + g with smooth f; known as ISTA where g is the ℓ₁ norm.

    Arguments:
        step_size: α > 0; 1/L of each problem if not given.
    """

    step_size: Float[Array, ...] | None = eqx.field(converter=optional, default=None)

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> Float[Array, ...]:
        return x0

    def step(self, oracle: Oracle, state: Float[Array, ...], key: Key[Array, ""]) -> Float[Array, ...]:
        alpha = step_size_for(oracle, self.step_size, state)
        return oracle.prox(state - alpha * oracle.gradient(state), alpha)
