"""How much memory a program takes, read off its jaxpr before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np


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


def _inner(equation: Any) -> Iterator[Any]:
    """The jaxprs in an equation of a jaxpr, such as the body of a loop."""
    for parameter in jax.tree.leaves(equation.params, is_leaf=lambda leaf: hasattr(leaf, "jaxpr")):
        inner = getattr(parameter, "jaxpr", parameter)
        if hasattr(inner, "eqns"):
            yield inner


def num_bytes(array: Any) -> int:
    return int(np.prod(array.shape)) * getattr(array.dtype, "itemsize", 8)
