"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Key

from ..messages.arguments import parameter
from ..problems.oracle import Oracle
from .algorithm import Algorithm


class SGD(Algorithm):
    r"""Stochastic gradient descent with a fixed step size, for classes that define `stochastic_loss`.

    \[ x^{(t+1)} = x^{(t)} - \alpha \hat\nabla \ell(x^{(t)}, \theta; r^{(t+1)}), \]

    with the parameter h = α (appendix C of the paper, example (i)).

    Arguments:
        step_size: α > 0.

    Reference: Robbins and Monro, *A stochastic approximation method*, 1951.
    """

    step_size: Float[Array, ...] = eqx.field(converter=parameter("step_size"))

    def init(self, oracle: Oracle, x0: Any) -> Any:
        return x0

    def step(self, oracle: Oracle, state: Any, key: Key[Array, ""]) -> Any:
        return state - self.step_size * oracle.stochastic_gradient(state, key)
