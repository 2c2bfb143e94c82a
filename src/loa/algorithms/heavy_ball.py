"""Polyak's heavy ball method."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ..problems.oracle import Oracle
from .algorithm import Algorithm


class Momentum(NamedTuple):
    """State of a method that remembers one previous point."""

    x: Any
    previous: Any


class HeavyBall(Algorithm):
    r"""\(x^{(t+1)} = x^{(t)} - \alpha \nabla \ell(x^{(t)}, \theta) + \beta (x^{(t)} - x^{(t-1)})\), with h = (α, β).

    Starts with \(x^{(-1)} = x^{(0)}\).
    """

    step_size: Float[Array, ...] = eqx.field(converter=jnp.asarray)
    momentum: Float[Array, ...] = eqx.field(converter=jnp.asarray)

    def init(self, oracle: Oracle, x0: Any) -> Momentum:
        return Momentum(x0, x0)

    def step(self, oracle: Oracle, state: Momentum, key: Key[Array, ""]) -> Momentum:
        x, previous = state
        return Momentum(x - self.step_size * oracle.gradient(x) + self.momentum * (x - previous), x)

    def iterate(self, state: Momentum) -> Any:
        return state.x
