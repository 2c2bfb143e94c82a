"""A quasi-Newton method that begins with the learned curvature of the class, for smooth problems."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Scalar

from ..algorithms.algorithm import Algorithm
from ..algorithms.line_search import dot
from ..problems.oracle import Oracle
from .curvature import Curvature
from .features import split


class Pairs(NamedTuple):
    """The last m changes s of the point with the changes y of the gradient, newest first, and 1/⟨s, y⟩; 0 if none."""

    s: Float[Array, "m d"]
    y: Float[Array, "m d"]
    inverse: Float[Array, " m"]

    def after(self, s: Float[Array, " d"], y: Float[Array, " d"]) -> Pairs:
        """With a new pair, unless its curvature is not positive."""
        product = dot(s, y)
        good = product > 1e-10 * dot(s, s)
        new = Pairs(s, y, 1.0 / jnp.where(good, product, 1.0))
        pushed = jax.tree.map(lambda one, many: jnp.concatenate([one[None], many[:-1]]), new, self)
        return jax.tree.map(lambda one, other: jnp.where(good, one, other), pushed, self)

    def direction(self, gradient: Float[Array, " d"], first: Float[Array, " d"]) -> Float[Array, " d"]:
        r"""\(-Hg\), where H is what the BFGS updates make of the diagonal matrix `first`, rescaled to the last pair."""

        def down(q: Array, pair: Pairs) -> tuple[Array, Scalar]:
            share = pair.inverse * dot(pair.s, q)
            return q - share * pair.y, share

        def up(q: Array, pair_and_share: tuple[Pairs, Scalar]) -> tuple[Array, None]:
            pair, share = pair_and_share
            return q + (share - pair.inverse * dot(pair.y, q)) * pair.s, None

        length = self.inverse[0] * dot(self.y[0], first * self.y[0])
        q, shares = jax.lax.scan(down, gradient, self)
        q = q * first / jnp.where(length > 0, length, 1.0)
        return -jax.lax.scan(up, q, (self, shares), reverse=True)[0]


class QuasiNewtonState(NamedTuple):
    """The point; gradient and step there, in the coordinates of the curvature; pairs; and the number of steps made."""

    x: Float[Array, " d"]
    gradient: Float[Array, " d"]
    step: Float[Array, " d"]
    pairs: Pairs
    time: Int[Array, ""]


class LearnedQuasiNewton(Algorithm):
    r"""\(x^{(t+1)} = x^{(t)} - \alpha H^{(t)} \nabla \ell(x^{(t)}, \theta)\), without a line search.

    H is what m updates of the BFGS method make of the inverse of the class's average curvature, damped in proportion to
    a power of the loss, as Levenberg and Marquardt do:

    \[ H_0 \propto V \big(\mathrm{diag}(w) + \mu I\big)^{-1} V^\top, \qquad
       \mu = \mu_0 + \mu_1\, \ell(x^{(t)}, \theta)^p. \]

    Steps are no longer than a learned radius. One value and one gradient per step. h is the curvature (V, w) and the
    logarithms of \(\mu_0, \mu_1\), p, α and the radius.
    """

    curvature: Curvature
    log_floor: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_damping: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    power: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_step: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=0.0)
    log_radius: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=20.0)
    memory: int = eqx.field(static=True, default=10)

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> QuasiNewtonState:
        zero, rows = jnp.zeros_like(x0), jnp.zeros((self.memory, x0.size), x0.dtype)
        return QuasiNewtonState(x0, zero, zero, Pairs(rows, rows, rows[:, 0]), jnp.zeros((), jnp.int32))

    def step(self, oracle: Oracle, state: QuasiNewtonState, key: Key[Array, ""]) -> QuasiNewtonState:
        loss, gradient = oracle.value_and_gradient(state.x)
        gradient = self.curvature.coordinates(gradient)
        pairs = state.pairs.after(state.step, gradient - state.gradient)
        damping = jnp.exp(self.log_floor) + jnp.exp(self.log_damping + self.power * jnp.log(jnp.maximum(loss, 1e-30)))
        direction = pairs.direction(gradient, 1.0 / (self.curvature.spectrum + damping))
        step = jnp.exp(self.log_step) * direction
        step = step / jnp.maximum(1.0, split(step)[0] / jnp.exp(self.log_radius))
        return QuasiNewtonState(state.x + self.curvature.point(step), gradient, step, pairs, state.time + 1)

    def iterate(self, state: QuasiNewtonState) -> Float[Array, " d"]:
        return state.x
