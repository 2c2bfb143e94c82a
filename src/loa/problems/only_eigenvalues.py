"""Eigenvalues alone, where a function computes eigenvectors that nobody uses.

`jnp.linalg.eigvalsh` computes eigenvectors too and discards them, which takes three to eight times as long for matrices
of 20 to 50 rows. Many classes compute their smoothness constant in this way, once for every problem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jaxlib import lapack
from jaxtyping import Array, Float

CALLS = ("jit", "pjit")
"""Names of the primitive by which one compiled function calls another, from version to version of JAX."""


def only_eigenvalues(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose symmetric eigenvalue problems are solved for eigenvalues alone where vectors are not used.

    Results are those of the function, up to rounding. It cannot be differentiated.

    Arguments:
        function: of arrays or pytrees of arrays.

    Returns:
        the function.

    >>> largest = only_eigenvalues(lambda matrix: jnp.linalg.eigvalsh(matrix)[-1])
    >>> float(largest(jnp.diag(jnp.array([1.0, 3.0, 2.0]))))
    3.0
    """

    def replaced(*arguments: Any) -> Any:
        closed, form = jax.make_jaxpr(function, return_shape=True)(*arguments)
        if not _decomposes(closed.jaxpr):
            return function(*arguments)
        leaves = _evaluated(closed, jax.tree.leaves(arguments), [True] * len(closed.jaxpr.outvars))
        return jax.tree.unflatten(jax.tree.structure(form), leaves)

    return replaced


def _decomposes(jaxpr: Any) -> bool:
    """Whether an eigenvalue problem is solved where `_evaluated` would find it."""
    return any(
        each.primitive.name == "eigh" or (_called(each) is not None and _decomposes(_called(each).jaxpr))
        for each in jaxpr.eqns
    )


def _called(equation: Any) -> Any:
    """The function that an equation calls, if that is all it does."""
    return equation.params.get("jaxpr") if equation.primitive.name in CALLS else None


def _evaluated(closed: Any, arguments: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
    """The outputs of a jaxpr; None in the place of those that are not wanted."""
    jaxpr = closed.jaxpr
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    known |= dict(zip(jaxpr.invars, arguments, strict=True))

    def value(atom: Any) -> Any:
        return atom.val if isinstance(atom, core.Literal) else known[atom]

    needed = _needed(jaxpr, wanted)
    for equation in jaxpr.eqns:
        outputs = [each in needed for each in equation.outvars]
        if any(outputs) or equation.effects:
            results = _applied(equation, [value(each) for each in equation.invars], outputs)
            known.update(zip(equation.outvars, results, strict=True))
    return [value(each) if want else None for each, want in zip(jaxpr.outvars, wanted, strict=True)]


def _needed(jaxpr: Any, wanted: Sequence[bool]) -> set[Any]:
    """The variables that the wanted outputs depend on."""
    needed = {each for each, want in zip(jaxpr.outvars, wanted, strict=True) if want and isinstance(each, core.Var)}
    for equation in reversed(jaxpr.eqns):
        if equation.effects or not needed.isdisjoint(equation.outvars):
            needed |= {each for each in equation.invars if isinstance(each, core.Var)}
    return needed


def _applied(equation: Any, inputs: list[Any], wanted: list[bool]) -> list[Any]:
    """What an equation computes."""
    if equation.primitive.name == "eigh" and _is_simple(equation, inputs[0]) and wanted == [False, True]:
        return [None, eigenvalues(inputs[0])]
    called = _called(equation)
    if called is not None:
        return _evaluated(called, inputs, wanted)
    found = equation.primitive.bind(*inputs, **equation.params)
    return list(found) if equation.primitive.multiple_results else [found]


def _is_simple(equation: Any, matrix: Any) -> bool:
    """Whether it is one real matrix whose eigenvalues are all wanted, in ascending order."""
    plain = equation.params.get("sort_eigenvalues", True) and equation.params.get("subset_by_index") is None
    return plain and matrix.ndim == 2 and matrix.dtype in (jnp.float32, jnp.float64)


def eigenvalues(matrix: Float[Array, "d d"]) -> Float[Array, " d"]:
    """The eigenvalues of a symmetric matrix, in ascending order."""
    return jax.lax.platform_dependent(matrix, cpu=_by_lapack, default=jnp.linalg.eigvalsh)


def _by_lapack(matrix: Float[Array, "d d"]) -> Float[Array, " d"]:
    """One matrix at a time: see `linear_algebra` for what batches may do."""
    shapes = (matrix.shape, matrix.dtype), ((len(matrix),), matrix.dtype), ((), np.dtype(np.int32))
    call = jax.ffi.ffi_call(
        lapack.prepare_lapack_call("syevd_ffi", matrix.dtype),
        [jax.ShapeDtypeStruct(*each) for each in shapes],
        input_output_aliases={0: 0},
        vmap_method="sequential",
    )
    _, values, failure = call(matrix, mode=np.uint8(ord("N")), uplo=np.uint8(ord("L")))
    return jnp.where(failure == 0, values, jnp.nan)
