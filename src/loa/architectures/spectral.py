"""A quasi-Newton method for images that begins with the learned curvature of the class in the cosine basis."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ..algorithms.algorithm import Algorithm
from ..algorithms.lbfgs import Memory
from ..algorithms.line_search import Found, dot
from ..problems.examples.image_operators import Image
from ..problems.oracle import Oracle
from .cosines import Cosines


class SpectralState(NamedTuple):
    """The image, gradient and last step in scaled cosine coordinates, pairs of them, and the number of steps made."""

    x: Image
    gradient: Image
    step: Image
    memory: Memory
    time: Int[Array, ""]


class LearnedSpectralQuasiNewton(Algorithm):
    r"""L-BFGS for images without a line search, in coordinates in which the class is well conditioned.

    Blur and total variation are nearly diagonal in the cosine basis V; the curvature is approximately

    \[ V \mathrm{diag}\big(a + \lambda b\, w^p\big) V^\top, \qquad w_{ij} = 4 \sin^2 \tfrac{\pi i}{2h} +
       4 \sin^2 \tfrac{\pi j}{2w}, \]

    where w is the spectrum of \(D^\top D\). The method works in the coordinates in which this matrix is the identity.
    Directions need not be exact, so everything except the image and its gradient is in float32. A step takes one
    gradient.

    Arguments:
        log_floor: log a.
        log_slope: log b.
        log_power: log p.
        log_first: the logarithm of the step size of the first step.
        log_step: the logarithm of the step size of all others.
        memory: the number of pairs that are kept, at least 1.
    """

    log_floor: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_slope: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_power: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=0.0)
    log_first: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=0.0)
    log_step: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=0.0)
    memory: int = eqx.field(static=True, default=10)

    def init(self, oracle: Oracle, x0: Image) -> SpectralState:
        zero = jnp.zeros(x0.shape, jnp.float32)
        return SpectralState(x0, zero, zero, Memory.empty(self.memory, zero.ravel()), jnp.zeros((), jnp.int32))

    def step(self, oracle: Oracle, state: SpectralState, key: Key[Array, ""]) -> SpectralState:
        basis = Cosines(state.x.shape)
        curvature = jnp.exp(self.log_floor) + oracle.problem.regularization * jnp.exp(
            self.log_slope + jnp.exp(self.log_power) * jnp.log(basis.frequencies())
        )
        scale = (1.0 / jnp.sqrt(curvature)).astype(jnp.float32)
        gradient = scale * basis.coefficients(oracle.gradient(state.x))

        first = state.time == 0
        slope, before = dot(state.step, gradient), dot(state.step, state.gradient)
        found = Found(jnp.where(first, 0.0, 1.0).astype(slope.dtype), slope, slope, state.x, gradient, before)
        change = gradient - state.gradient
        memory = state.memory.after(state.step.ravel(), change.ravel(), gradient.ravel(), found)
        direction = memory.direction(gradient.ravel()).reshape(gradient.shape)
        length = jnp.where(first, self.log_first + 0.5 * jnp.log(dot(gradient, gradient)), self.log_step)
        step = jnp.exp(length).astype(jnp.float32) * direction
        x = state.x + basis.image(scale * step).astype(state.x.dtype)
        return SpectralState(x, gradient, step, memory, state.time + 1)

    def iterate(self, state: SpectralState) -> Image:
        return state.x
