"""Algorithms as JSON and named arrays, and back again.

A node of the JSON tree is an object of one of these kinds:

    {"class": NAME, "fields": {...}}       a module whose class is a public one of loa
    {"own class": NAME, "fields": {...}}   a module whose class the caller of `loa.load` hands over
    {"array": NAME}, {"numpy": NAME}       an array of JAX or of NumPy
    {"tuple": [...]}, {"list": [...]}      a tuple or a list
    {"value": VALUE}                       None, a bool, a number or a string

Arrays are named by their place in the algorithm, such as "curvature.basis". Rebuilding imports nothing and calls only
the `__check_init__` methods of the classes.
"""

from __future__ import annotations

import dataclasses
import inspect
import reprlib
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .public_classes import ADDED, is_public, public_class

DEEPEST = 40
"""How deeply the parts of an algorithm may be nested."""

TYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("bfloat16", "float16", "float32", "float64"),
)
"""The types of arrays that are saved."""


class Malformed(ValueError):
    """What a file describes is not an algorithm."""


def describe(algorithm: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The JSON tree of an algorithm, and its arrays by name."""
    writer = _Writer({}, {})
    return writer.node(algorithm, (), static=False), writer.arrays


def rebuild(tree: Any, arrays: Mapping[str, np.ndarray], given: Mapping[str, set[type[eqx.Module]]]) -> Any:
    """What a JSON tree and arrays describe, made of the public classes of loa and of the given ones."""
    reader = _Reader(dict(arrays), given)
    found = reader.node(tree, 0, static=False)
    if reader.arrays:
        raise Malformed(f"it contains an array {_short(next(iter(reader.arrays)))} that is not part of the algorithm")
    return found


class _Writer:
    def __init__(self, arrays: dict[str, np.ndarray], own: dict[str, type]):
        self.arrays, self.own = arrays, own

    def node(self, part: Any, place: tuple[str, ...], static: bool) -> dict[str, Any]:
        if len(place) > DEEPEST:
            raise ValueError(f"the algorithm has parts nested more than {DEEPEST} deep and cannot be saved.")
        if type(part) in (tuple, list):
            items = [self.node(item, (*place, str(index)), static) for index, item in enumerate(part)]
            return {type(part).__name__: items}
        if part is None or isinstance(part, (bool, int, float, str)):
            return {"value": part}
        if static and (eqx.is_array(part) or isinstance(part, (np.ndarray, eqx.Module))):
            raise TypeError(
                f"the static field {'.'.join(place)} holds a {type(part).__name__} and cannot be saved: only None, "
                "bools, numbers, strings and tuples of these can be saved in a static field."
            )
        if isinstance(part, (jax.Array, np.ndarray)) and part.dtype.name in TYPES:
            name = ".".join(place)
            self.arrays[name] = np.asarray(part, order="C")
            return {"array" if isinstance(part, jax.Array) else "numpy": name}
        if isinstance(part, eqx.Module):
            return self._module(part, place)
        raise TypeError(f"{'.'.join(place)} is a {type(part).__name__}, which cannot be saved: {_short(part)}.")

    def _module(self, module: eqx.Module, place: tuple[str, ...]) -> dict[str, Any]:
        kind = type(module)
        fields = {
            field.name: self.node(getattr(module, field.name), (*place, field.name), bool(field.metadata.get("static")))
            for field in dataclasses.fields(module)
        }
        if is_public(kind):
            return {"class": kind.__name__, "fields": fields}
        if self.own.setdefault(kind.__name__, kind) is not kind:
            raise TypeError(f"two classes of the algorithm have the name {kind.__name__}: rename one to save it.")
        return {"own class": kind.__name__, "fields": fields}


class _Reader:
    def __init__(self, arrays: dict[str, np.ndarray], given: Mapping[str, set[type[eqx.Module]]]):
        self.arrays, self.given = arrays, given

    def node(self, node: Any, depth: int, static: bool) -> Any:
        if depth > DEEPEST:
            raise Malformed(f"its parts are nested more than {DEEPEST} deep")
        match node:
            case {"value": None | bool() | int() | float() | str() as value, **rest} if not rest:
                return value
            case {"tuple": list(items), **rest} if not rest:
                return tuple(self.node(item, depth + 1, static) for item in items)
            case {"list": list(items), **rest} if not rest:
                return [self.node(item, depth + 1, static) for item in items]
            case _ if static:
                raise Malformed(f"one of its static fields is not a plain value but {_short(node)}")
            case {"array": str(name), **rest} if not rest:
                return jnp.asarray(self._array(name))
            case {"numpy": str(name), **rest} if not rest:
                return self._array(name)
            case {"class": str(name), "fields": dict(fields), **rest} if not rest:
                return self._module(_public(name), fields, ADDED.get(name, {}), depth)
            case {"own class": str(name), "fields": dict(fields), **rest} if not rest:
                return self._module(self._given(name), fields, {}, depth)
        raise Malformed(f"one of its parts is neither a module, an array nor a plain value: {_short(node)}")

    def _array(self, name: str) -> np.ndarray:
        if name not in self.arrays:
            raise Malformed(f"the array {_short(name)} is missing or is used twice")
        return self.arrays.pop(name)

    def _given(self, name: str) -> type[eqx.Module]:
        found = self.given.get(name, set())
        if len(found) != 1:
            what = "several of the classes handed over have that name" if found else "it was not handed over"
            raise Malformed(
                f"it is made of a class {_short(name)} that is not one of loa's, and {what}: "
                "load it with loa.load(path, classes=[...]) and a list of such classes"
            )
        return next(iter(found))

    def _module(
        self, kind: type[eqx.Module], fields: dict[str, Any], added: Mapping[str, Any], depth: int
    ) -> eqx.Module:
        if inspect.isabstract(kind):
            raise Malformed(f"{kind.__name__} is an abstract class")
        declared = {field.name: bool(field.metadata.get("static")) for field in dataclasses.fields(kind)}
        for name in fields:
            if name not in declared:
                raise Malformed(f"it has a field {_short(name)}, which {kind.__name__} does not have")
        for name in declared:
            if name not in fields and name not in added:
                raise Malformed(f"the field {name} of {kind.__name__} is missing")
        module = object.__new__(kind)
        for name, static in declared.items():
            value = (
                self.node(fields[name], depth + 1, static) if name in fields else _converted(kind, name, added[name])
            )
            object.__setattr__(module, name, value)
        return module


def _converted(kind: type[eqx.Module], name: str, value: Any) -> Any:
    """A value as the field of a class would hold it: an array in the place of a parameter."""
    field = next(each for each in dataclasses.fields(kind) if each.name == name)
    return field.metadata.get("converter", lambda given: given)(value)


def _public(name: str) -> type[eqx.Module]:
    kind = public_class(name)
    if kind is None:
        raise Malformed(f"it is made of a class {_short(name)}, which is unknown to this version of loa")
    return kind


def _short(something: Any) -> str:
    return reprlib.repr(something)
