"""Step sizes that default to 1/L of the problem."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Scalar

from ..problems.oracle import Oracle


def step_size_for(oracle: Oracle, step_size: Float[Array, ...] | None, x: Float[Array, ...]) -> Scalar:
    """The step size, or 1/L of the problem if there is none, in the precision of x."""
    if step_size is None:
        step_size = 1.0 / oracle.smoothness()
    return jnp.asarray(step_size, x.dtype)
