"""Splitting (ADMM) with the problem's own curvature, factored once."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ..messages.arguments import parameter
from ..problems.oracle import Oracle
from .algorithm import Algorithm


class Split(NamedTuple):
    """The point z, the scaled dual variable u, the penalty ρ, and the inverse of H + ρI."""

    z: Float[Array, ...]
    u: Float[Array, ...]
    penalty: Float[Array, ""]
    inverse: Float[Array, "d d"]


class ADMM(Algorithm):
    r"""The alternating direction method of multipliers for a loss f + g, with the Hessian of f at the start.

    The Hessian H of the smooth part is computed once, at the start, and so is the inverse of \(H + \rho I\). A step
    makes a model of f at the point x = z and `sweeps` of ADMM on it, each of which replaces z and u by

    \[ y = x - (H + \rho I)^{-1} (\nabla f(x) + \rho (x - z + u)), \qquad \hat y = \alpha y + (1 - \alpha) z, \]
    \[ z^+ = \mathrm{prox}_{g/\rho}(\hat y + u), \qquad u^+ = u + \hat y - z^+. \]

    For a quadratic f this is ADMM. For any other f it is ADMM on a quadratic model that is shifted to every new
    gradient, so the fixed points are the solutions. It converges if H is not much smaller than the Hessians on the way.
    The penalty is relative to the problem: \(\rho = e^{p} \operatorname{tr} H / d\), where h = (p, α).

    A step takes one gradient, and one proximal mapping for each sweep; the start takes a Hessian. Memory is d².

    Arguments:
        log_penalty: p.
        relaxation: α in (0, 2).
        sweeps: how many sweeps a step makes, 1 or more.

    Reference: Boyd, Parikh, Chu, Peleato and Eckstein, *Distributed optimization and statistical learning via the
    alternating direction method of multipliers*, 2011.

    >>> import jax, loa
    >>> lasso = loa.problems.Lasso(rows=6, columns=9)
    >>> problems = lasso.draw(jax.random.key(0), 3)
    >>> losses = loa.trajectories(ADMM(), lasso, problems, horizon=20, key=jax.random.key(1)).losses
    >>> bool((losses[..., -1] < losses[..., 0]).all())
    True
    """

    log_penalty: Float[Array, ""] = eqx.field(converter=parameter("log_penalty"), default=0.0)
    relaxation: Float[Array, ""] = eqx.field(converter=parameter("relaxation"), default=1.6)
    sweeps: int = eqx.field(static=True, default=1)

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> Split:
        hessian = oracle.hessian(x0)
        penalty = jnp.exp(self.log_penalty) * positive_mean(jnp.diagonal(hessian))
        inverse = jnp.linalg.inv(hessian + penalty * jnp.eye(x0.size, dtype=x0.dtype))
        return Split(x0, jnp.zeros_like(x0), penalty, inverse)

    def step(self, oracle: Oracle, state: Split, key: Key[Array, ""]) -> Split:
        z, u, penalty, inverse = state
        x, gradient = z, oracle.gradient(z)
        for _ in range(self.sweeps):
            pull = gradient + penalty * (x - z + u)
            ahead = z + self.relaxation * (x - z - (inverse @ pull.ravel()).reshape(z.shape)) + u
            z = oracle.prox(ahead, 1.0 / penalty)
            u = ahead - z
        return Split(z, u, penalty, inverse)

    def iterate(self, state: Split) -> Float[Array, ...]:
        return state.z


def positive_mean(diagonal: Float[Array, " d"]) -> Float[Array, ""]:
    """The mean of the diagonal of a Hessian, or something positive where there is no curvature."""
    return jnp.maximum(jnp.mean(jnp.abs(diagonal)), jnp.finfo(diagonal.dtype).tiny ** 0.5)
