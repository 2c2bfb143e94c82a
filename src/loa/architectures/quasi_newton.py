"""A quasi-Newton method that begins with the learned curvature of the class, for smooth problems."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Int, Key

from ..algorithms.algorithm import Algorithm
from ..algorithms.compact_bfgs import by_row, oldest_first, weights_of_gradients, weights_of_steps
from ..algorithms.line_search import dot, inverse
from ..problems.gaps import norm
from ..problems.oracle import Oracle
from .curvature import Curvature
from .features import split


class Pairs(NamedTuple):
    r"""The last m changes of the point with the changes of the gradient, both divided by the length of the first.

    Pair number n is in row n mod m of S and Y, over the oldest one; rows never written are 0. R holds the products
    \(s_i^\top y_j\) where pair j is not older than i, from the oldest pair to the newest.
    """

    S: Float32[Array, "m d"]
    Y: Float32[Array, "m d"]
    R: Float32[Array, "m m"]
    written: Int[Array, ""]

    @staticmethod
    def none(size: int, dimension: int) -> Pairs:
        rows = jnp.zeros((size, dimension), jnp.float32)
        return Pairs(rows, rows, jnp.eye(size, dtype=jnp.float32), jnp.zeros((), jnp.int32))

    @property
    def by_age(self) -> Int[Array, " m"]:
        """The rows from the oldest pair to the newest."""
        return oldest_first(self.written, self.R.shape[0])

    def after(self, s: Float32[Array, " d"], y: Float32[Array, " d"]) -> Pairs:
        """With a new pair, unless its curvature is not positive."""
        length, s = split(s)
        y = y / jnp.where(length > 0, length, 1.0)
        good = dot(s, y) > 1e-10
        new = (good & (jnp.arange(self.R.shape[0]) == self.by_age[0]))[:, None]
        pairs = Pairs(jnp.where(new, s, self.S), jnp.where(new, y, self.Y), self.R, self.written + good)
        shifted = jnp.pad(self.R[1:, 1:], (0, 1)).at[:, -1].set((pairs.S @ y)[pairs.by_age])
        return pairs._replace(R=jnp.where(good, shifted, self.R))

    def direction(self, gradient: Float32[Array, " d"], first: Float32[Array, " d"]) -> Float32[Array, " d"]:
        r"""\(-Hg\), where H is what the BFGS updates make of the diagonal matrix `first`, rescaled to the last pair.

        In the compact representation, which takes four matrix-vector products here. `loa.LBFGS` needs two, because it
        remembers the products of its pairs; with another first matrix in every step, these would be of no use.
        """
        rows = self.by_age
        newest = self.Y[rows[-1]]
        first = first * jnp.where(self.written > 0, self.R[-1, -1] * inverse(dot(newest, first * newest)), 1.0)
        u = weights_of_gradients(self.R, (self.S @ gradient)[rows])
        guess = first * (gradient - by_row(u, rows) @ self.Y)
        w = weights_of_steps(self.R, u, (self.Y @ guess)[rows])
        return -guess - by_row(w, rows) @ self.S


class QuasiNewtonState(NamedTuple):
    """The point; the last gradient and step, in the coordinates of the curvature; and pairs of these."""

    x: Float[Array, " d"]
    gradient: Float[Array, " d"]
    step: Float[Array, " d"]
    pairs: Pairs


class LearnedQuasiNewton(Algorithm):
    r"""A quasi-Newton method that begins with the learned curvature of the class, without a line search.

    \(x^{(t+1)} = x^{(t)} - \alpha H^{(t)} \nabla \ell(x^{(t)}, \theta)\).

    H is what m updates of the BFGS method make of the inverse of the class's average curvature, damped in proportion to
    a power of the loss, as Levenberg and Marquardt do:

    \[ H_0 \propto V \big(\mathrm{diag}(w) + \mu I\big)^{-1} V^\top, \qquad
       \mu = \mu_0 + \mu_1\, \ell(x^{(t)}, \theta)^p. \]

    Steps are no longer than a learned radius. Directions need not be exact, so all but the point, its loss and its
    gradient is in float32. A step takes one value and one gradient. h is the curvature (V, w), the power p, and the
    logarithms of \(\mu_0, \mu_1\), α and the radius.
    """

    on_vectors: ClassVar[bool] = True

    curvature: Curvature
    log_floor: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_damping: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    power: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_step: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=0.0)
    log_radius: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=20.0)
    memory: int = eqx.field(static=True, default=10)

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> QuasiNewtonState:
        zero = jnp.zeros(x0.size, jnp.float32)
        return QuasiNewtonState(x0, zero, zero, Pairs.none(self.memory, x0.size))

    def step(self, oracle: Oracle, state: QuasiNewtonState, key: Key[Array, ""]) -> QuasiNewtonState:
        loss, gradient = oracle.value_and_gradient(state.x)
        gradient = self.curvature.coordinates(gradient.astype(jnp.float32))
        pairs = state.pairs.after(state.step, gradient - state.gradient)
        damping = jnp.exp(self.log_floor) + jnp.exp(self.log_damping + self.power * jnp.log(jnp.maximum(loss, 1e-30)))
        first = (1.0 / (self.curvature.spectrum + damping)).astype(jnp.float32)
        step = jnp.exp(self.log_step).astype(jnp.float32) * pairs.direction(gradient, first)
        too_long = jnp.maximum(1.0, norm(step.astype(state.x.dtype)) / jnp.exp(self.log_radius))
        step = step / too_long.astype(jnp.float32)
        x = state.x + self.curvature.point(step).astype(state.x.dtype)
        return QuasiNewtonState(x, gradient, step, pairs)

    def iterate(self, state: QuasiNewtonState) -> Float[Array, " d"]:
        return state.x
