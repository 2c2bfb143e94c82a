"""Gradient descent."""

from __future__ import annotations

from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Key

from ..messages.arguments import parameter
from ..problems.oracle import Oracle
from .algorithm import Algorithm


class GradientDescent(Algorithm):
    r"""Gradient descent with a fixed step size.

    \[ x^{(t+1)} = x^{(t)} - \alpha \nabla \ell(x^{(t)}, \theta), \]

    with the parameter h = α.

    Arguments:
        step_size: α > 0.

    >>> import jax, loa
    >>> parabolas, curvature = loa.problems.RunningExample(), jax.numpy.array([2.0])  # x² - x, minimal at ½
    >>> path = loa.trajectories(GradientDescent(0.25), parabolas, curvature, horizon=3, key=jax.random.key(0))
    >>> path.iterates.ravel().tolist()
    [0.0, 0.25, 0.375, 0.4375]
    """

    step_size: Float[Array, ...] = eqx.field(converter=parameter("step_size"))

    def init(self, oracle: Oracle, x0: Any) -> Any:
        return x0

    def step(self, oracle: Oracle, state: Any, key: Key[Array, ""]) -> Any:
        return state - self.step_size * oracle.gradient(state)
