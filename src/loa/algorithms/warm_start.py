"""Where to start on a quadratic program, as a function of its vectors that is learned for a class."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..problems.programs.cones import Cones, onto_bounds
from ..problems.programs.quadratic_programs import PrimalDual, Program


class WarmStart(eqx.Module):
    r"""A guess of the solution of a quadratic program and of its multipliers.

    \((x, y) = C^\top (1, w, \max(W^\top w + b, 0))\), where w are the whitened entries of q, l and u. The inner weights
    W and b are random and fixed, so that C is a solution of least squares
    (`loa.learning.programs.learn_warm_start`).
    """

    mean: Float[Array, " p"]
    whitening: Float[Array, "p r"]
    inner: Float[Array, "r k"]
    bias: Float[Array, " k"]
    outer: Float[Array, "f d"]

    def features(self, program: Program) -> Float[Array, " f"]:
        """What the guess is linear in."""
        white = (vectors(program) - self.mean) @ self.whitening
        hidden = jax.nn.relu(white @ self.inner + self.bias)
        return jnp.concatenate([jnp.ones(1, white.dtype), white, hidden])

    def __call__(self, program: Program, cones: Cones = ()) -> PrimalDual:
        """The guess, with z as near to Ax as the bounds allow."""
        guess = self.features(program) @ self.outer
        x, y = guess[: len(program.q)], guess[len(program.q) :]
        return PrimalDual(x, onto_bounds(program.A @ x, program.lower, program.upper, cones), y)


def vectors(program: Program) -> Float[Array, " p"]:
    """All entries of q, l and u, with 0 where a bound is infinite."""
    joined = jnp.concatenate([program.q, program.lower, program.upper])
    return jnp.where(jnp.isfinite(joined), joined, 0.0)
