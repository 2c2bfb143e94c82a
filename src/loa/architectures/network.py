"""The learned algorithm of the paper's experiment on training a network, full batch (appendix K)."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Scalar

from ..algorithms.algorithm import Algorithm
from ..algorithms.line_search import dot
from ..problems.oracle import Oracle
from .coordinate_network import CoordinateNetwork
from .features import split, weighted

LOSS, TIME = 1e3, 1e2
"""Units of losses (and gradients) and of t, so that all features are of order 1."""


class TrainingState(NamedTuple):
    """Current and previous point, the loss at the previous one, and the number of steps made."""

    x: Float[Array, " d"]
    previous: Float[Array, " d"]
    previous_loss: Scalar
    time: Int[Array, ""]


class LearnedNetworkTraining(Algorithm):
    r"""The paper's learned algorithm for training a network with full batches (appendix K).

    \[ x^{(t+1)} = x^{(t)} + d^{(t)} \]

    with a direction d from a coordinate-wise network. It sees the normalized gradient \(d_1\), the normalized
    momentum \(d_2\), and both multiplied by a learned diagonal, \(g \odot d_1\) and \(m \odot d_2\). Their four weights
    come from a second network that sees the norms of gradient and momentum, the change of the loss, the largest entry
    of the gradient, the inner product of \(d_1\) and \(d_2\), and t. Large features are measured in fixed units. This
    does not change which functions can be represented, because the weights of the first layer can undo it; but then
    these weights are of the same order, and training is more stable.

    Arguments:
        dimension: of the points, at least 1.
        key: a PRNG key for the initial weights.
    """

    weights: CoordinateNetwork
    direction: CoordinateNetwork
    gradient_diagonal: Float[Array, " d"]
    momentum_diagonal: Float[Array, " d"]

    def __init__(self, dimension: int = 351, *, key: Key[Array, ""]):
        weight_key, direction_key = jax.random.split(key)
        self.weights = CoordinateNetwork((6, 30, 20, 10, 4), key=weight_key)
        self.direction = CoordinateNetwork((4, 20, 20, 20, 1), key=direction_key)
        self.gradient_diagonal = jnp.ones(dimension)
        self.momentum_diagonal = jnp.ones(dimension)

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> TrainingState:
        return TrainingState(x0, x0, oracle.value(x0), jnp.zeros((), jnp.int32))

    def step(self, oracle: Oracle, state: TrainingState, key: Key[Array, ""]) -> TrainingState:
        x, previous, previous_loss, time = state
        loss, gradient = oracle.value_and_gradient(x)
        (gradient_norm, d1), (momentum_norm, d2) = split(gradient), split(x - previous)
        features = jnp.stack(
            [
                jnp.log1p(gradient_norm),
                jnp.log1p(momentum_norm),
                (loss - previous_loss) / LOSS,
                jnp.max(jnp.abs(gradient)) / LOSS,
                dot(d1, d2),
                time.astype(x.dtype) / TIME,
            ]
        )
        channels = self.gradient_diagonal * d1, d1, d2, self.momentum_diagonal * d2
        (direction,) = self.direction(weighted(self.weights(features), *channels))
        return TrainingState(x + direction, x, loss, time + 1)

    def iterate(self, state: TrainingState) -> Float[Array, " d"]:
        return state.x
