"""Small systems of linear equations, without LAPACK.

On CPUs JAX hands a batch of LAPACK calls to the very threads that run its programs, and waits. If all of these threads
wait, they wait for ever: this was seen within seconds with two programs on two devices (jaxlib 0.10). The engine runs
one program per device, so its steps should not call LAPACK; those that do get one device (see `loa.admission`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

LARGEST = 128
"""Equations up to which elimination without blocks is about as fast as LAPACK."""


def solve_positive(matrix: Float[Array, "n n"], right: Float[Array, " n"]) -> Float[Array, " n"]:
    """The solution of a positive definite system: such a matrix needs no pivots. Large ones are left to LAPACK."""
    if len(right) > LARGEST:
        return jax.scipy.linalg.solve(matrix, right, assume_a="pos")

    def solve(_: object, b: Array) -> Array:
        return _eliminated(jnp.concatenate([matrix, b[:, None]], axis=1))

    return jax.lax.custom_linear_solve(lambda x: matrix @ x, right, solve, symmetric=True)


def _eliminated(system: Float[Array, "n n+1"]) -> Float[Array, " n"]:
    """Gauss and Jordan: each row in turn is divided by its pivot and taken from all others."""
    rows = jnp.arange(len(system))

    def eliminate(k: Array, system: Array) -> Array:
        row = system[k] / system[k, k]
        others = jnp.where(rows == k, 0.0, system[:, k])
        return (system - others[:, None] * row).at[k].set(row)

    return jax.lax.fori_loop(0, len(system), eliminate, system)[:, -1]
