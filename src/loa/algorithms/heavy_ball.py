"""Polyak's heavy ball method."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Float, Key

from ..messages.arguments import parameter
from ..problems.oracle import Oracle
from .algorithm import Algorithm


class Momentum(NamedTuple):
    """The state of a method that remembers one previous point."""

    x: Any
    previous: Any


class HeavyBall(Algorithm):
    r"""Polyak's heavy ball method: gradient descent with momentum.

    \[ x^{(t+1)} = x^{(t)} - \alpha \nabla \ell(x^{(t)}, \theta) + \beta (x^{(t)} - x^{(t-1)}), \]

    starting with \(x^{(-1)} = x^{(0)}\), with the parameters h = (α, β).

    Arguments:
        step_size: α > 0.
        momentum: β in [0, 1).

    Reference: Polyak, *Some methods of speeding up the convergence of iteration methods*, 1964.

    >>> import jax, loa
    >>> parabolas, curvature = loa.problems.RunningExample(), jax.numpy.array([2.0])  # x² - x, minimal at ½
    >>> path = loa.trajectories(HeavyBall(0.25, 0.5), parabolas, curvature, horizon=3, key=jax.random.key(0))
    >>> path.iterates.ravel().tolist()
    [0.0, 0.25, 0.5, 0.625]
    """

    step_size: Float[Array, ...] = eqx.field(converter=parameter("step_size"))
    momentum: Float[Array, ...] = eqx.field(converter=parameter("momentum"))

    def init(self, oracle: Oracle, x0: Any) -> Momentum:
        return Momentum(x0, x0)

    def step(self, oracle: Oracle, state: Momentum, key: Key[Array, ""]) -> Momentum:
        x, previous = state
        return Momentum(x - self.step_size * oracle.gradient(x) + self.momentum * (x - previous), x)

    def iterate(self, state: Momentum) -> Any:
        return state.x
