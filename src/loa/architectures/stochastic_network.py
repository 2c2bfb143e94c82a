"""The learned algorithm of the paper's experiment on training a network with mini-batches (appendix L)."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ..algorithms.adam import Moments, root
from ..algorithms.algorithm import Algorithm
from ..problems.oracle import Oracle
from .coordinate_network import CoordinateNetwork
from .features import split, weighted

BETA1, BETA2, RATE, EPSILON = 0.9, 0.999, 1e-3, 1e-8
LOSS, TIME, STEP = 1e3, 1e3, 1e-3
"""Units of loss, t and step size, so that inputs and outputs of the network are of order 1; all are 1 in the paper."""


class LearnedStochasticTraining(Algorithm):
    r"""Adam with learned preconditioners: the paper's algorithm for training with mini-batches (appendix L).

    \[ x^{(t+1)} = x^{(t)} - u\, s_4 \kappa\, p_1 \odot \hat m / (0.001 |p_2| \odot \sqrt{\hat v} + \varepsilon). \]

    The preconditioners \(p_1, p_2\) come from a coordinate-wise network that sees the directions \(d_1, d_2\) of Adam's
    moments \(\hat m, \hat v\) and \(d_1 \odot d_2\). Their weights \(s_1, s_2, s_3\) and the step size \(s_4\) come
    from a second network that sees the norms of the moments, t and the stochastic loss. The paper's text writes
    \(d_1, d_2\) for \(p_1, p_2\) in the update, and its figure has three features instead of four.

    The initial weights are such that \(p_1 = p_2\) and \(s_4 \ge 0\), which is Adam with the rate \(s_4\). Otherwise
    coordinates with a \(p_2\) close to zero would make steps too long to learn anything from.

    The paper has no factor u. Ours is \(10^{-3}\), and t and the loss are divided by \(10^3\) before the second network
    sees them, so that weights of order 1 make steps of the right size.

    Arguments:
        key: a PRNG key for the initial weights.
        as_printed: whether u, and the units of t and loss, are 1, as the paper prints it; for weights that were trained
            elsewhere. Otherwise these would move a thousand times too little.
    """

    weights: CoordinateNetwork
    preconditioners: CoordinateNetwork
    as_printed: bool = eqx.field(static=True, default=False)

    def __init__(self, *, key: Key[Array, ""], as_printed: bool = False):
        self.as_printed = as_printed
        weight_key, direction_key = jax.random.split(key)
        weights = CoordinateNetwork((4, 15, 15, 4), key=weight_key)
        preconditioners = CoordinateNetwork((3, 15, 15, 2), key=direction_key)
        self.weights = _with_last(weights, weights.weights[-1].at[3].apply(jnp.abs))
        self.preconditioners = _with_last(preconditioners, jnp.abs(preconditioners.weights[-1][:1]).repeat(2, axis=0))

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> Moments:
        return Moments(x0, jnp.zeros_like(x0), jnp.zeros_like(x0), jnp.zeros((), jnp.int32))

    def step(self, oracle: Oracle, state: Moments, key: Key[Array, ""]) -> Moments:
        x, first, second, time = state
        loss, gradient = oracle.stochastic_value_and_gradient(x, key)
        time = time + 1
        first = BETA1 * first + (1 - BETA1) * gradient
        second = BETA2 * second + (1 - BETA2) * gradient**2
        since = time.astype(x.dtype)
        mean, square = first / (1 - BETA1**since), second / (1 - BETA2**since)
        (n1, d1), (n2, d2) = split(mean), split(square)
        loss_unit, time_unit, step_unit = (1.0, 1.0, 1.0) if self.as_printed else (LOSS, TIME, STEP)
        features = jnp.stack([jnp.log1p(n1), jnp.log1p(n2), since / time_unit, loss / loss_unit])
        *weights, step_size = self.weights(features)
        p1, p2 = self.preconditioners(weighted(jnp.stack(weights), d1, d1 * d2, d2))
        move = step_unit * step_size * RATE * p1 * mean / (1e-3 * jnp.abs(p2) * root(square) + EPSILON)
        return Moments(x - move, first, second, time)

    def iterate(self, state: Moments) -> Float[Array, " d"]:
        return state.x


def _with_last(network: CoordinateNetwork, weight: Float[Array, "out in"]) -> CoordinateNetwork:
    """The network with a different last layer."""
    return eqx.tree_at(lambda network: network.weights[-1], network, weight)
