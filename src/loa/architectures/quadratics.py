"""The learned algorithm of the paper's experiment on quadratics (appendix H)."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ..algorithms.algorithm import Algorithm
from ..problems.oracle import Oracle
from .coordinate_network import CoordinateNetwork
from .features import split


class LearnedState(NamedTuple):
    """Current and previous point, and the loss at the previous one."""

    x: Any
    previous: Any
    previous_loss: Scalar


class LearnedQuadratics(Algorithm):
    r"""The paper's learned algorithm for quadratics (appendix H).

    \[ x^{(t+1)} = x^{(t)} + \beta^{(t)} d^{(t)}, \]

    with one network for the direction d and one for the step size β. The direction is computed coordinate by
    coordinate from the normalized gradient \(d_1\), the normalized momentum \(d_2\) and \(d_1 \odot d_2\). The step
    size is computed from \(\log(1 + \cdot)\) of the norms of gradient and momentum and of the last two losses.

    Arguments:
        key: a PRNG key for the initial weights.

    >>> learned = LearnedQuadratics(key=jax.random.key(0))
    >>> sum(weights.size for weights in jax.tree.leaves(learned))  # numbers to learn
    772
    """

    direction: CoordinateNetwork
    step_size: CoordinateNetwork

    def __init__(self, *, key: Key[Array, ""]):
        direction_key, step_key = jax.random.split(key)
        self.direction = CoordinateNetwork((3, 10, 10, 10, 10, 10, 10, 1), key=direction_key, linear_after=(0, 5))
        self.step_size = CoordinateNetwork((4, 8, 8, 8, 8, 1), key=step_key, linear_after=(3,))

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> LearnedState:
        return LearnedState(x0, x0, oracle.value(x0))

    def step(self, oracle: Oracle, state: LearnedState, key: Key[Array, ""]) -> LearnedState:
        x, previous, previous_loss = state
        loss, gradient = oracle.value_and_gradient(x)
        (gradient_norm, d1), (momentum_norm, d2) = split(gradient), split(x - previous)
        (direction,) = self.direction(jnp.stack([d1, d2, d1 * d2]))
        sizes = jnp.stack([gradient_norm, momentum_norm, loss, previous_loss])
        (beta,) = self.step_size(jnp.sign(sizes) * jnp.log1p(jnp.abs(sizes)))  # losses may be negative
        return LearnedState(x + beta * direction, x, loss)

    def iterate(self, state: LearnedState) -> Float[Array, " d"]:
        return state.x
