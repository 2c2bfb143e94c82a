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
    r"""State of an accelerated method: the point x, the move that led to it, β, and \(\tau\), from which β follows.

    The extrapolated point is \(y = x + \beta (x - x')\). An affine gradient need not be asked for there: the point
    ahead, \(p(x) = x - \alpha \nabla f(x)\), is affine then, so that \(p(y) = p(x) + \beta (p(x) - p(x'))\). For this
    \(p(x')\) is kept. The gradient at x, which criteria ask for too, is then the only one computed in a step.
    """

    x: Float[Array, ...]
    move: Float[Array, ...]
    beta: Scalar
    tau: Scalar
    ahead: Float[Array, ...] | None

    @staticmethod
    def at(x0: Float[Array, ...], oracle: Oracle) -> Extrapolated:
        zero, one = jnp.zeros((), x0.dtype), jnp.ones((), x0.dtype)
        ahead = jnp.zeros_like(x0) if oracle.problem_class.affine_gradient else None
        return Extrapolated(x0, jnp.zeros_like(x0), zero, one, ahead)

    def look_ahead(self, oracle: Oracle, alpha: Scalar) -> tuple[Float[Array, ...], Float[Array, ...] | None]:
        """The point ahead of y, by one call for a gradient; and that ahead of x, if it is to be kept."""
        if self.ahead is None:
            y = self.x + self.beta * self.move
            return y - alpha * oracle.gradient(y), None
        ahead = self.x - alpha * oracle.gradient(self.x)
        return ahead + self.beta * (ahead - self.ahead), ahead


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
        return Extrapolated.at(x0, oracle)

    def step(self, oracle: Oracle, state: Extrapolated, key: Key[Array, ""]) -> Extrapolated:
        new, ahead = state.look_ahead(oracle, step_size_for(oracle, self.step_size, state.x))
        tau = following(state.tau)
        beta = (state.tau - 1) / tau if self.momentum is None else self.momentum.astype(new.dtype)
        return Extrapolated(new, new - state.x, beta, tau, ahead)

    def iterate(self, state: Extrapolated) -> Float[Array, ...]:
        return state.x


def following(tau: Scalar) -> Scalar:
    r"""\(\tau_{t+1} = (1 + \sqrt{1 + 4 \tau_t^2}) / 2\)."""
    return (1 + jnp.sqrt(1 + 4 * tau**2)) / 2
