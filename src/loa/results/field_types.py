"""Values of the types that their fields declare: what was read from a file is checked before it is used."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ..messages.arguments import shown


def check_types(instance: Any, where: str = "") -> None:
    """Refuse a dataclass with a field that is not of its declared type; `where` names it in the sentence.

    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: float | None
    >>> check_types(Point("large"))
    Traceback (most recent call last):
    ...
    ValueError: x must be float or None, got 'large'
    """
    for name, kind in get_type_hints(type(instance)).items():
        _check(f"{where}{name}", getattr(instance, name), kind)


def _check(where: str, value: Any, kind: Any) -> None:
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return
    if dataclasses.is_dataclass(kind):
        _require(isinstance(value, kind), where, value, kind)  # pyright: ignore[reportArgumentType]
        check_types(value, f"{where}.")
    elif origin in (Union, UnionType):
        _require(any(_is(value, part) for part in parts), where, value, kind)
    elif origin is tuple:
        many = parts[-1] is ...
        _require(isinstance(value, tuple) and (many or len(value) == len(parts)), where, value, kind)
        for index, each in enumerate(value):
            _check(f"{where}[{index}]", each, parts[0] if many else parts[index])
    elif origin is Mapping:
        _require(isinstance(value, Mapping), where, value, kind)
        for key, each in value.items():
            _check(f"{where}[{key!r}]", each, parts[1])
    else:
        _require(_is(value, kind), where, value, kind)


def _is(value: Any, kind: Any) -> bool:
    """Whether a value is of a plain type; a whole number is a number, and True is none."""
    if kind in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if kind is float else kind)


def _require(fulfilled: bool, where: str, value: Any, kind: Any) -> None:
    if not fulfilled:
        parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else (get_origin(kind) or kind,)
        wanted = " or ".join("None" if part is NoneType else part.__name__ for part in parts)
        raise ValueError(f"{where} must be {wanted}, got {shown(value)}")
