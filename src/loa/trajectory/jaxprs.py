"""What a program takes, read off its jaxpr before it runs: memory, and threads that it may wait for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

LAPACK = {
    "cholesky", "cholesky_update", "eig", "eigh", "geqp3", "geqrf", "hessenberg", "householder_product", "lu", "ormqr",
    "qr", "schur", "svd", "triangular_solve", "tridiagonal", "tridiagonal_solve", "fft",
}  # fmt: skip
"""Primitives that may wait for threads, see `loa.algorithms.linear_systems`. Fourier transforms do so as well."""

SHARED_OUT = 200_000
"""Operations in a batch of triangular systems from which on jaxlib shares them out among threads."""


def largest_array(jaxpr: Any, own: Sequence[Any]) -> int:
    """Bytes of the largest array computed anywhere in a jaxpr from some of its variables."""
    largest, depend = 0, set(own)
    for equation in jaxpr.eqns:
        if depend.isdisjoint(variable for variable in equation.invars if not hasattr(variable, "val")):
            continue
        depend.update(equation.outvars)
        largest = max([largest, *(num_bytes(variable.aval) for variable in equation.outvars)])
        largest = max([largest, *(largest_array(inner, inner.invars) for inner in _inner(equation))])
    return largest


def _equations(jaxpr: Any) -> Iterator[Any]:
    """All that is computed anywhere in a jaxpr."""
    for equation in jaxpr.eqns:
        yield equation
        for inner in _inner(equation):
            yield from _equations(inner)


def waiting(jaxpr: Any) -> float:
    """How many operations at most may wait for threads; of those other than triangular systems it is unknown."""
    return max(map(_waiting, _equations(jaxpr)), default=0.0)


def _waiting(equation: Any) -> float:
    if equation.primitive.name not in LAPACK:
        return 0.0
    if equation.primitive.name != "triangular_solve":
        return np.inf
    matrix, right = (variable.aval.shape for variable in equation.invars)
    return float(np.prod(matrix) * min(right[-2:]))


def _inner(equation: Any) -> Iterator[Any]:
    """The jaxprs in an equation of a jaxpr, such as the body of a loop; not what has its own way with batches."""
    if equation.primitive.name == "custom_vmap_call":
        return
    for parameter in jax.tree.leaves(equation.params, is_leaf=lambda leaf: hasattr(leaf, "jaxpr")):
        inner = getattr(parameter, "jaxpr", parameter)
        if hasattr(inner, "eqns"):
            yield inner


def num_bytes(array: Any) -> int:
    return int(np.prod(array.shape)) * getattr(array.dtype, "itemsize", 8)
