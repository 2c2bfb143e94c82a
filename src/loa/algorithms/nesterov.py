"""Nesterov's accelerated gradient method."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ..problems.oracle import Oracle
from .algorithm import Algorithm
from .step_size import optional, step_size_for


class Earlier(NamedTuple):
    r"""What the gradient at y follows from, besides that at x: the gradient at the previous x, and β."""

    gradient: Float[Array, ...]
    beta: Scalar


class Extrapolated(NamedTuple):
    r"""State of an accelerated method: the point x, the extrapolated point y, and \(\tau\), which says how far.

    With an affine gradient also what makes \(\nabla f(y) = \nabla f(x) + \beta (\nabla f(x) - \nabla f(x'))\) of the
    gradient at x. Criteria ask for that one, so it is then the only gradient computed in a step.
    """

    x: Float[Array, ...]
    y: Float[Array, ...]
    tau: Scalar
    earlier: Earlier | None

    @staticmethod
    def at(x0: Float[Array, ...], oracle: Oracle) -> Extrapolated:
        one = jnp.ones((), x0.dtype)
        affine = oracle.problem_class.affine_gradient
        return Extrapolated(x0, x0, one, Earlier(jnp.zeros_like(x0), jnp.zeros_like(one)) if affine else None)

    def gradient(self, oracle: Oracle) -> tuple[Float[Array, ...], Float[Array, ...]]:
        """The gradient at y, by one call of the oracle, and the gradient that this call gave."""
        if self.earlier is None:
            asked = oracle.gradient(self.y)
            return asked, asked
        asked = oracle.gradient(self.x)
        return asked + self.earlier.beta * (asked - self.earlier.gradient), asked

    def moved(self, new: Float[Array, ...], beta: Scalar, tau: Scalar, asked: Float[Array, ...]) -> Extrapolated:
        """The state at a new point, extrapolated by β."""
        earlier = None if self.earlier is None else Earlier(asked, beta)
        return Extrapolated(new, new + beta * (new - self.x), tau, earlier)


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
        gradient, asked = state.gradient(oracle)
        new = state.y - step_size_for(oracle, self.step_size, state.x) * gradient
        tau = following(state.tau)
        beta = (state.tau - 1) / tau if self.momentum is None else self.momentum.astype(new.dtype)
        return state.moved(new, beta, tau, asked)

    def iterate(self, state: Extrapolated) -> Float[Array, ...]:
        return state.x


def following(tau: Scalar) -> Scalar:
    r"""\(\tau_{t+1} = (1 + \sqrt{1 + 4 \tau_t^2}) / 2\)."""
    return (1 + jnp.sqrt(1 + 4 * tau**2)) / 2
