"""Nesterov's accelerated gradient method."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ..messages.arguments import parameter
from ..problems.oracle import Oracle
from .algorithm import Algorithm
from .step_size import step_size_for


class Extrapolated(NamedTuple):
    r"""The state of an accelerated method: the point x, the move that led to it, β, and τ, which determines β.

    The extrapolated point is \(y = x + \beta (x - x')\). If the gradient is affine, it need not be evaluated there: the
    point ahead, \(p(x) = x - \alpha \nabla f(x)\), is then affine in x, so \(p(y) = p(x) + \beta (p(x) - p(x'))\). For
    this reason \(p(x')\) is kept. A step then computes only the gradient at x, which criteria also need.
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
        """The point ahead of y, computed with one gradient, and the point ahead of x if it has to be kept."""
        if self.ahead is None:
            y = self.x + self.beta * self.move
            return y - alpha * oracle.gradient(y), None
        ahead = self.x - alpha * oracle.gradient(self.x)
        return ahead + self.beta * (ahead - self.ahead), ahead


class NesterovAcceleratedGradient(Algorithm):
    r"""Nesterov's accelerated gradient method.

    Each step is a gradient step from an extrapolated point, with the parameters h = α or h = (α, β):

    \[ x^{(t+1)} = y^{(t)} - \alpha \nabla \ell(y^{(t)}, \theta), \qquad
       y^{(t+1)} = x^{(t+1)} + \beta^{(t)} (x^{(t+1)} - x^{(t)}), \]

    starting with \(y^{(0)} = x^{(0)}\). For convex losses \(\beta^{(t)} = (\tau_t - 1) / \tau_{t+1}\), where
    \(\tau_0 = 1\) and \(\tau_{t+1} = (1 + \sqrt{1 + 4 \tau_t^2}) / 2\). If `momentum` is given, β is that constant;
    the usual choice for m-strongly convex losses is \((\sqrt L - \sqrt m) / (\sqrt L + \sqrt m)\).

    Arguments:
        step_size: α > 0; by default 1/L of each problem.
        momentum: a constant β in [0, 1); by default the sequence above.

    Reference: Nesterov, *A method for solving the convex programming problem with convergence rate O(1/k²)*, 1983.

    >>> import jax, loa
    >>> parabolas, curvature = loa.problems.RunningExample(), jnp.array([2.0])  # x² - x, minimal at ½
    >>> nag = NesterovAcceleratedGradient(0.25, momentum=0.5)
    >>> path = loa.trajectories(nag, parabolas, curvature, horizon=3, key=jax.random.key(0))
    >>> path.iterates.ravel().tolist()
    [0.0, 0.25, 0.4375, 0.515625]
    """

    step_size: Float[Array, ...] | None = eqx.field(converter=parameter("step_size", optional=True), default=None)
    momentum: Float[Array, ...] | None = eqx.field(converter=parameter("momentum", optional=True), default=None)

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
    r"""The next τ, \(\tau_{t+1} = (1 + \sqrt{1 + 4 \tau_t^2}) / 2\)."""
    return (1 + jnp.sqrt(1 + 4 * tau**2)) / 2
