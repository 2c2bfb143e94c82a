"""Gradient descent."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ..problems.oracle import Oracle
from .algorithm import Algorithm


class GradientDescent(Algorithm):
    r"""\(x^{(t+1)} = x^{(t)} - \alpha \nabla \ell(x^{(t)}, \theta)\), with h = α."""

    step_size: Float[Array, ...] = eqx.field(converter=jnp.asarray)

    def init(self, oracle: Oracle, x0: Any) -> Any:
        return x0

    def step(self, oracle: Oracle, state: Any, key: Key[Array, ""]) -> Any:
        return state - self.step_size * oracle.gradient(state)
