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

    >>> import jax, loa
    >>> import jax.numpy as jnp
    >>> class Averages(loa.ProblemClass):  # of ten numbers, by one of them at a time
    ...     def sample(self, key):
    ...         return jax.random.normal(key, (10,))
    ...     def loss(self, x, problem):
    ...         return 0.5 * jnp.mean((x - problem) ** 2)
    ...     def start(self, problem, key):
    ...         return jnp.asarray(10.0)
    ...     def stochastic_loss(self, x, problem, key):
    ...         return 0.5 * (x - jax.random.choice(key, problem)) ** 2
    >>> problems = Averages().draw(jax.random.key(0), 3)
    >>> losses = loa.trajectories(SGD(0.1), Averages(), problems, horizon=50, key=jax.random.key(1)).losses
    >>> bool((losses[..., -1] < 0.1 * losses[..., 0]).all())
    True
    """

    step_size: Float[Array, ...] = eqx.field(converter=parameter("step_size"))

    def init(self, oracle: Oracle, x0: Any) -> Any:
        return x0

    def step(self, oracle: Oracle, state: Any, key: Key[Array, ""]) -> Any:
        return state - self.step_size * oracle.stochastic_gradient(state, key)
