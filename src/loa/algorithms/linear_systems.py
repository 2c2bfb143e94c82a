"""Systems of linear equations inside the steps of algorithms.

On CPUs, JAX divides a batch of LAPACK calls among the same threads that run its programs, and waits. If all of these
threads wait, they wait for ever: seen within seconds with two programs on two devices (jaxlib 0.10). The engine
runs one program per device, so steps should ask LAPACK for one system at a time, which is not divided and no slower.
Jobs that ask for more run on one device (see `loa.trajectory.jaxprs`).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, Float


def solve_positive(matrix: Float[Array, "n n"], right: Float[Array, " n"]) -> Float[Array, " n"]:
    """The solution of a system with a positive definite matrix; of a batch of systems, one after the other."""

    def solve(_: Any, b: Array) -> Array:
        return _one_by_one(matrix, b)

    return jax.lax.custom_linear_solve(lambda x: matrix @ x, right, solve, symmetric=True)


@jax.custom_batching.custom_vmap
def _one_by_one(matrix: Float[Array, "n n"], right: Float[Array, " n"]) -> Float[Array, " n"]:
    return cho_solve(cho_factor(matrix), right)


@_one_by_one.def_vmap
def _batch(size: int, batched: list[bool], *system: Array) -> tuple[Array, bool]:
    stacked = [
        part if has_axis else jnp.broadcast_to(part, (size, *part.shape))
        for part, has_axis in zip(system, batched, strict=True)
    ]
    return jax.lax.map(lambda one: _one_by_one(*one), tuple(stacked)), True
