"""Splitting (ADMM) with the learned curvature of the class."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ..algorithms.algorithm import Algorithm
from ..problems.oracle import Oracle
from .curvature import Curvature


class Halves(NamedTuple):
    """The point z and the scaled dual variable u."""

    z: Float[Array, " d"]
    u: Float[Array, " d"]


class LearnedSplitting(Algorithm):
    r"""ADMM on a loss f + g, with the average curvature of the class in the place of the Hessian of f.

    A step makes a model of f at the point x = z and `sweeps` of ADMM on it, each of which replaces z and u by

    \[ y = x - (e^s B + \rho I)^{-1} (\nabla f(x) + \rho (x - z + u)), \qquad \hat y = \alpha y + (1 - \alpha) z, \]
    \[ z^+ = \mathrm{prox}_{g/\rho}(\hat y + u), \qquad u^+ = u + \hat y - z^+. \]

    Nothing has to be computed at the start, unlike in `loa.ADMM`, which takes the Hessian of each problem. The fixed
    points are the solutions, whatever B is, and the method converges if \(e^s B\) is large enough. A step takes one
    gradient, and one proximal mapping for each sweep. h is the curvature B and the numbers s, log ρ and α.
    """

    on_vectors: ClassVar[bool] = True

    curvature: Curvature
    log_penalty: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_scale: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=0.0)
    relaxation: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=1.6)
    sweeps: int = eqx.field(static=True, default=1)

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> Halves:
        return Halves(x0, jnp.zeros_like(x0))

    def step(self, oracle: Oracle, state: Halves, key: Key[Array, ""]) -> Halves:
        penalty, scale = jnp.exp(self.log_penalty), jnp.exp(self.log_scale)
        (z, u), x, gradient = state, state.z, oracle.gradient(state.z)
        for _ in range(self.sweeps):
            pull = gradient + penalty * (x - z + u)
            move = self.curvature.apply(lambda spectrum: self.relaxation / (scale * spectrum + penalty), pull)
            ahead = z + self.relaxation * (x - z) - move + u
            z = oracle.prox(ahead, 1.0 / penalty)
            u = ahead - z
        return Halves(z, u)

    def iterate(self, state: Halves) -> Float[Array, " d"]:
        return state.z
