"""Nesterov's accelerated gradient method."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ..problems.oracle import Oracle
from .algorithm import Algorithm
from .step_size import optional, step_size_for


class Extrapolated(NamedTuple):
    r"""State of an accelerated method: the point x, the extrapolated point y, and \(\tau\), which says how far."""

    x: Float[Array, ...]
    y: Float[Array, ...]
    tau: Scalar

    @staticmethod
    def at(x0: Float[Array, ...]) -> Extrapolated:
        return Extrapolated(x0, x0, jnp.ones((), x0.dtype))


class NesterovAcceleratedGradient(Algorithm):
    r"""A gradient step from an extrapolated point, with h = α, or (α, β).

    \[ x^{(t+1)} = y^{(t)} - \alpha \nabla \ell(y^{(t)}, \theta), \qquad
       y^{(t+1)} = x^{(t+1)} + \beta^{(t)} (x^{(t+1)} - x^{(t)}), \]

    starting with \(y^{(0)} = x^{(0)}\). For convex losses \(\beta^{(t)} = (\tau_t - 1) / \tau_{t+1}\), where
    \(\tau_0 = 1\) and \(\tau_{t+1} = (1 + \sqrt{1 + 4 \tau_t^2}) / 2\). With `momentum` it is that number at all times;
    the choice for m-strongly convex losses is \((\sqrt L - \sqrt m) / (\sqrt L + \sqrt m)\).

    Arguments:
        step_size: α > 0; 1/L of each problem if not given.
        momentum: a fixed β in [0, 1), optional.

    Reference: Nesterov, *A method for solving the convex programming problem with convergence rate O(1/k²)*, 1983.

    >>> import loa, jax
    >>> problem_class = loa.problems.Quadratics(dimension=5)
    >>> problems = problem_class.draw(jax.random.key(0), 3)
    >>> nag = loa.NesterovAcceleratedGradient()  # every problem with its own 1/L
    >>> loa.trajectories(nag, problem_class, problems, horizon=10, key=jax.random.key(1)).losses.shape
    (3, 1, 11)
    """

    step_size: Float[Array, ...] | None = eqx.field(converter=optional, default=None)
    momentum: Float[Array, ...] | None = eqx.field(converter=optional, default=None)

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> Extrapolated:
        return Extrapolated.at(x0)

    def step(self, oracle: Oracle, state: Extrapolated, key: Key[Array, ""]) -> Extrapolated:
        x, y, tau = state
        new = y - step_size_for(oracle, self.step_size, x) * oracle.gradient(y)
        next_tau = following(tau)
        beta = (tau - 1) / next_tau if self.momentum is None else self.momentum.astype(x.dtype)
        return Extrapolated(new, new + beta * (new - x), next_tau)

    def iterate(self, state: Extrapolated) -> Float[Array, ...]:
        return state.x


def following(tau: Scalar) -> Scalar:
    r"""\(\tau_{t+1} = (1 + \sqrt{1 + 4 \tau_t^2}) / 2\)."""
    return (1 + jnp.sqrt(1 + 4 * tau**2)) / 2
