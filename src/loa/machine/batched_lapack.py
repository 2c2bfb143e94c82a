"""Batched calls of LAPACK that never wait for the threads they run on.

jaxlib 0.10.0 to 0.11.0 divide a batch of matrices among the threads that also run the program's own operations, and
block until all parts are done. If every thread makes such a call, all wait for parts that no thread is left to compute,
and the program stands still for ever. A call with a single matrix or with little work is not divided. So importing this
module makes JAX compile larger batches into a loop over parts that are small enough, and batches of unknown length into
one over single matrices. This applies to every program that the process compiles afterwards for CPUs, whether loa's or
the user's, for one device or several, and leaves the results unchanged.

Fourier transforms, sorting and matrix products use the same threads, but do not block them. (It is reported that
transforms do in jaxlib 0.11.1, which loa does not allow yet; `tests/test_linear_algebra.py` tries them.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
from jax._src.lax import linalg
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxlib.version import __version_info__ as jaxlib_version

DIVIDING = ((0, 10, 0), (0, 11, 1))
"""The first version of jaxlib that divides batches, and the first that no longer does."""

UNDIVIDED = 200_000
"""Estimated operations in a call of LAPACK from which on jaxlib divides it."""

FACTORS = {"cholesky": 1, "lu": 1, "triangular_solve": 1}
"""jaxlib estimates m n min(m, n) operations, or fewer, for these primitives and an m × n matrix."""

LARGEST_FACTOR = 10
"""Its estimate for any other primitive is at most this multiple, and three times that for complex numbers."""


def lapack_primitives() -> list[Primitive]:
    """All operations of JAX that call LAPACK on CPUs."""
    on_cpu = mlir._platform_specific_lowerings["cpu"]
    return [value for value in vars(linalg).values() if isinstance(value, Primitive) and value in on_cpu]


def part_size(primitive: Primitive, operands: Sequence[jax.ShapeDtypeStruct]) -> int:
    """How many problems of a batch fit into one call that is not divided; the operands are those of one problem."""
    matrix = [operand.shape for operand in operands if len(operand.shape) == 2][-1]
    factor = FACTORS.get(primitive.name, LARGEST_FACTOR) * (3 if operands[0].dtype.kind == "c" else 1)
    operations = factor * math.prod(matrix) * min(operands[0].shape)
    return max(1, (UNDIVIDED - 1) // max(1, operations))


def call_in_parts(primitive: Primitive) -> None:
    """Compile large batches of a primitive into a loop over parts."""
    whole = mlir._platform_specific_lowerings["cpu"][primitive].rule

    def rule(context: Any, *operands: Any, **parameters: Any) -> Any:
        shapes = [operand.shape for operand in context.avals_in]
        batch = max(shapes, key=len)[:-2]
        one = [jax.ShapeDtypeStruct(form.shape[len(batch) :], form.dtype) for form in context.avals_in]
        known = all(isinstance(length, int) for shape in shapes for length in shape)
        size = part_size(primitive, one) if known and math.prod(batch) > 1 else 1
        if known and math.prod(batch) <= size:
            return whole(context, *operands, **parameters)

        def loop(*operands: jax.Array) -> list[jax.Array]:
            flat = [operand.reshape(-1, *form.shape) for operand, form in zip(operands, one, strict=True)]
            each = partial(_apply, primitive, parameters)
            results = jax.lax.map(each, flat, batch_size=size if size > 1 else None)
            return [result.reshape(*batch, *result.shape[1:]) for result in results]

        plain = context.replace(avals_in=_unsharded(context.avals_in), avals_out=_unsharded(context.avals_out))
        return mlir.lower_fun(loop, multiple_results=True)(plain, *operands)

    mlir.register_lowering(primitive, rule, platform="cpu")


def _apply(primitive: Primitive, parameters: dict[str, Any], operands: Sequence[jax.Array]) -> list[jax.Array]:
    return jax.tree.leaves(primitive.bind(*operands, **parameters))


def _unsharded(forms: Sequence[Any]) -> list[Any]:
    """Forms that do not say how a program for several devices divides the batch, which XLA then finds out."""
    return [ShapedArray(form.shape, form.dtype) for form in forms]


if DIVIDING[0] <= jaxlib_version < DIVIDING[1]:
    for _primitive in lapack_primitives():
        call_in_parts(_primitive)
