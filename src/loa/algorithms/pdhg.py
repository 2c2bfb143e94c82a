"""The primal-dual hybrid gradient method for quadratic programs."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ..messages.arguments import parameter
from ..problems.oracle import Oracle
from ..problems.programs.cones import onto_bounds
from .algorithm import Algorithm


class Pair(NamedTuple):
    """The iterates x, z and y, and the norms of P and A."""

    x: Float[Array, " n"]
    z: Float[Array, " m"]
    y: Float[Array, " m"]
    curvature: Scalar
    coupling: Scalar


class PDHG(Algorithm):
    r"""The primal-dual hybrid gradient method for quadratic programs, in the form of Condat and Vũ.

    \[ x^+ = x - \tau (P x + q + A^\top y), \quad v = y / \sigma + A (2 x^+ - x), \quad
       z^+ = \Pi_{[l, u]}(v), \quad y^+ = \sigma (v - z^+), \]

    where \(\sigma = \omega / \|A\|\) and \(1/\tau = \|P\| / 2 + \omega \|A\|\), which makes it converge. Nothing is
    factored. A step takes one gradient and one projection. `loa.problems.QuadraticPrograms` has an example of a class.

    Arguments:
        log_weight: the logarithm of ω, the weight of the dual variables.

    Reference: Condat, *A primal-dual splitting method for convex optimization involving Lipschitzian, proximable and
    linear composite terms*, 2013.
    """

    on_vectors: ClassVar[bool] = True

    log_weight: Float[Array, ""] = eqx.field(converter=parameter("log_weight"), default=0.0)

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> Pair:
        program = oracle.program()
        n, m = len(program.q), len(program.lower)
        curvature = jnp.linalg.norm(jnp.asarray(program.P), 2)
        coupling = jnp.maximum(jnp.linalg.norm(jnp.asarray(program.A), 2), 1e-12)
        return Pair(x0[:n], x0[n : n + m], x0[n + m :], curvature, coupling)

    def step(self, oracle: Oracle, state: Pair, key: Key[Array, ""]) -> Pair:
        P, q, A, lower, upper = oracle.program()
        weight = jnp.exp(self.log_weight)
        sigma, tau = weight / state.coupling, 1.0 / (0.5 * state.curvature + weight * state.coupling)
        x = state.x - tau * (P @ state.x + q + A.T @ state.y)
        ahead = state.y / sigma + A @ (2.0 * x - state.x)
        z = onto_bounds(ahead, lower, upper, oracle.cones)
        return state._replace(x=x, z=z, y=sigma * (ahead - z))

    def iterate(self, state: Pair) -> Float[Array, " d"]:
        return jnp.concatenate([state.x, state.z, state.y])
