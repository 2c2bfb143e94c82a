"""Checks of an algorithm that was read from a file: each field holds what its class declares, and invariants hold."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
import typing
from functools import cache
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..algorithms.algorithm import Stack
from ..algorithms.weights import as_distribution
from .algorithm_tree import Malformed

UNKNOWN = "unknown"
"""In the place of an annotation that cannot be evaluated: anything but a string."""

NUMBERS = (bool, int, float, complex, jax.Array, np.ndarray)


def check(module: Any, partial: bool = False) -> None:
    """Refuse a module with a field of the wrong kind, or for which a `__check_init__` of its class fails.

    Candidates of a stack are checked one by one. They may be `partial`: what they have in common may be None, because
    it is kept elsewhere; invariants of a module with such a field are not checked.
    """
    whole, hints = True, _hints(type(module))
    for field in dataclasses.fields(module):
        value = getattr(module, field.name)
        if fits(value, hints.get(field.name, Any)) or _is_default(value, field):
            continue
        if not (partial and value is None):
            kind = type(module).__name__
            raise Malformed(f"the field {field.name} of {kind} cannot be a {type(value).__name__}")
        whole = False
    if isinstance(module, Stack):
        _check_candidates(module)
        return
    for field in dataclasses.fields(module):
        _check_within(getattr(module, field.name), partial)
    if whole:
        _check_invariants(module)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the kind that an annotation names.

    Numbers and arrays of any type and shape may stand for each other, because converters and stacks change them.

    >>> fits(0.5, jax.Array), fits("half", jax.Array), fits((1, 2), tuple[int, ...]), fits(None, int | None)
    (True, False, True, True)
    """
    if hint is UNKNOWN:
        return not isinstance(value, str)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, each) for each in arguments)
    if origin is typing.Literal:
        return value in arguments
    if hint in (None, type(None)):
        return value is None
    kind = origin or hint
    if not isinstance(kind, type):
        return True
    if hasattr(kind, "array_type") or issubclass(kind, NUMBERS):
        return isinstance(value, NUMBERS)
    if issubclass(kind, (tuple, list)):
        within = [each for each in arguments if each is not ...] or [Any]
        return isinstance(value, kind) and all(any(fits(item, each) for each in within) for item in value)
    return isinstance(value, kind) if issubclass(kind, (str, eqx.Module)) else True


def _check_candidates(stack: Stack) -> None:
    leaves = [leaf for leaf in jax.tree.leaves(stack.algorithms) if eqx.is_array(leaf)]
    sizes = {leaf.shape[0] if leaf.ndim else 0 for leaf in leaves}
    if len(sizes) > 1 or 0 in sizes:  # without any it is a stack of one
        raise Malformed("the arrays of its stack do not all have one entry per candidate")
    try:
        if stack.weights is not None:
            as_distribution(stack.weights, len(stack))
    except (ValueError, TypeError) as error:
        raise Malformed(f"its stack has impossible weights ({_one_line(error)})") from error
    try:
        candidates = [stack[index] for index in range(len(stack))]
    except (ValueError, TypeError) as error:
        raise Malformed("what the candidates of its stack have in common does not fit them") from error
    for candidate in candidates:
        check(candidate, partial=True)


def _check_within(value: Any, partial: bool) -> None:
    """Check the modules in a field."""
    for each in value if isinstance(value, (tuple, list)) else ():
        _check_within(each, partial)
    if isinstance(value, eqx.Module):
        check(value, partial)


def _check_invariants(module: eqx.Module) -> None:
    """Call each `__check_init__`, as equinox does when a module is made."""
    for kind in type(module).__mro__:
        if "__check_init__" in vars(kind):
            try:
                vars(kind)["__check_init__"](module)
            except Exception as error:
                raise Malformed(f"{type(module).__name__} refuses its fields ({_one_line(error)})") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _is_default(value: Any, field: dataclasses.Field[Any]) -> bool:
    """Whether a field has its default, which is allowed even where the annotation is not accurate."""
    return value is None and field.default is None


@cache
def _hints(kind: type) -> dict[str, Any]:
    """What the annotations of the fields of a class say; UNKNOWN for those that cannot be evaluated."""
    found: dict[str, Any] = {}
    for each in reversed(kind.__mro__):
        for name, annotation in inspect.get_annotations(each).items():
            alone = types.SimpleNamespace(__annotations__={name: annotation})
            try:
                found |= typing.get_type_hints(alone, vars(sys.modules[each.__module__]), dict(vars(each)))
            except Exception:  # an annotation is an arbitrary expression
                found[name] = UNKNOWN
    static = {field.name for field in dataclasses.fields(kind) if field.metadata.get("static")}
    return {name: Any if hint is UNKNOWN and name in static else hint for name, hint in found.items()}
