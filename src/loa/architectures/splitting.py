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

    \[ y = z^{(t)} - (e^s B + \rho I)^{-1} (\nabla f(z^{(t)}) + \rho u^{(t)}), \qquad
       \hat y = \alpha y + (1 - \alpha) z^{(t)}, \]
    \[ z^{(t+1)} = \mathrm{prox}_{g/\rho}(\hat y + u^{(t)}), \qquad u^{(t+1)} = u^{(t)} + \hat y - z^{(t+1)}. \]

    Nothing has to be computed at the start, unlike in `loa.ADMM`, which takes the Hessian of each problem. The fixed
    points are the solutions, whatever B is, and the method converges if \(e^s B\) is large enough. A step takes one
    gradient and one proximal mapping. h is the curvature B and the numbers s, log ρ and α.
    """

    on_vectors: ClassVar[bool] = True

    curvature: Curvature
    log_penalty: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_scale: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=0.0)
    relaxation: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=1.6)

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> Halves:
        return Halves(x0, jnp.zeros_like(x0))

    def step(self, oracle: Oracle, state: Halves, key: Key[Array, ""]) -> Halves:
        penalty, scale = jnp.exp(self.log_penalty), jnp.exp(self.log_scale)
        pull = oracle.gradient(state.z) + penalty * state.u
        move = self.curvature.apply(lambda spectrum: self.relaxation / (scale * spectrum + penalty), pull)
        ahead = state.z - move + state.u
        z = oracle.prox(ahead, 1.0 / penalty)
        return Halves(z, ahead - z)

    def iterate(self, state: Halves) -> Float[Array, " d"]:
        return state.z
