"""The accelerated proximal gradient method (FISTA)."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ..messages.arguments import parameter
from ..problems.oracle import Oracle
from .algorithm import Algorithm
from .nesterov import Extrapolated, following
from .step_size import step_size_for


class FISTA(Algorithm):
    r"""FISTA: the proximal gradient method with Nesterov's acceleration.

    Each step is a proximal gradient step from an extrapolated point, with the parameter h = α:

    \[ x^{(t+1)} = \mathrm{prox}_{\alpha g(\cdot, \theta)}(y^{(t)} - \alpha \nabla f(y^{(t)}, \theta)), \qquad
       y^{(t+1)} = x^{(t+1)} + \frac{\tau_t - 1}{\tau_{t+1}} (x^{(t+1)} - x^{(t)}), \]

    with \(\tau_0 = 1\) and \(\tau_{t+1} = (1 + \sqrt{1 + 4 \tau_t^2}) / 2\). With `restart` the momentum is reset
    whenever it points uphill, \(\langle y^{(t)} - x^{(t+1)}, x^{(t+1)} - x^{(t)} \rangle > 0\): then
    \(y^{(t+1)} = x^{(t+1)}\) and \(\tau_{t+1} = 1\).

    Arguments:
        step_size: α > 0; by default 1/L of each problem.
        restart: whether to restart (the gradient scheme of O'Donoghue and Candès).

    References: Beck and Teboulle, *A fast iterative shrinkage-thresholding algorithm for linear inverse problems*,
    2009; O'Donoghue and Candès, *Adaptive restart for accelerated gradient schemes*, 2015.

    >>> import jax, loa
    >>> lasso = loa.problems.Lasso(rows=6, columns=9)
    >>> problems = lasso.draw(jax.random.key(0), 3)
    >>> losses = loa.trajectories(FISTA(), lasso, problems, horizon=20, key=jax.random.key(1)).losses
    >>> bool((losses[..., -1] < losses[..., 0]).all())
    True
    """

    step_size: Float[Array, ...] | None = eqx.field(converter=parameter("step_size", optional=True), default=None)
    restart: bool = eqx.field(static=True, default=True)

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> Extrapolated:
        return Extrapolated.at(x0, oracle)

    def step(self, oracle: Oracle, state: Extrapolated, key: Key[Array, ""]) -> Extrapolated:
        alpha = step_size_for(oracle, self.step_size, state.x)
        forward, ahead = state.look_ahead(oracle, alpha)
        new = oracle.prox(forward, alpha)
        move = new - state.x
        tau = following(state.tau)
        beta = (state.tau - 1) / tau
        if self.restart:
            uphill = jnp.sum((state.beta * state.move - move) * move) > 0
            beta, tau = jnp.where(uphill, 0.0, beta), jnp.where(uphill, 1.0, tau)
        return Extrapolated(new, move, beta, tau, ahead)

    def iterate(self, state: Extrapolated) -> Float[Array, ...]:
        return state.x
