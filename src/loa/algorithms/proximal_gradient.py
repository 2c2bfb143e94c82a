"""The proximal gradient method (ISTA)."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Float, Key

from ..messages.arguments import parameter
from ..problems.oracle import Oracle
from .algorithm import Algorithm
from .step_size import step_size_for


class ProximalGradient(Algorithm):
    r"""The proximal gradient method, for losses with a non-smooth part.

    \[ x^{(t+1)} = \mathrm{prox}_{\alpha g(\cdot, \theta)}(x^{(t)} - \alpha \nabla f(x^{(t)}, \theta)) \]

    for composite losses f + g with smooth f, with the parameter h = α. If g is the ℓ₁ norm, this is ISTA.

    Arguments:
        step_size: α > 0; by default 1/L of each problem.

    >>> import jax, loa
    >>> lasso = loa.problems.Lasso(rows=6, columns=9)
    >>> problems = lasso.draw(jax.random.key(0), 3)
    >>> losses = loa.trajectories(ProximalGradient(), lasso, problems, horizon=20, key=jax.random.key(1)).losses
    >>> bool((losses[..., -1] < losses[..., 0]).all())
    True
    """

    step_size: Float[Array, ...] | None = eqx.field(converter=parameter("step_size", optional=True), default=None)

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> Float[Array, ...]:
        return x0

    def step(self, oracle: Oracle, state: Float[Array, ...], key: Key[Array, ""]) -> Float[Array, ...]:
        alpha = step_size_for(oracle, self.step_size, state)
        return oracle.prox(state - alpha * oracle.gradient(state), alpha)
