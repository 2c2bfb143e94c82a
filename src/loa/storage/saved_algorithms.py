"""Learned algorithms in files: small, without pickles, with their provenance."""

from __future__ import annotations

import dataclasses
import json
import zipfile
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..algorithms.algorithm import Algorithm, Stack
from .files import write_whole

SUFFIX = ".eqx"


def save(path: Path | str, algorithm: Algorithm | Stack, provenance: dict[str, Any] | None = None) -> None:
    """Write an algorithm, or a stack of them, to a file, with anything JSON can hold on where it comes from.

    The file names the classes that the algorithm is made of, and so can be read wherever these can be imported.
    """
    if not isinstance(algorithm, Algorithm | Stack):
        raise TypeError(f"only a loa.Algorithm or a stack of them can be saved, got {algorithm!r}.")
    arrays: list[np.ndarray] = []
    content = {"algorithm": _describe(algorithm, arrays), "provenance": provenance or {}}
    named = {f"array_{index}": array for index, array in enumerate(arrays)}

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez_compressed(file, content=np.array(json.dumps(content)), **named)  # pyright: ignore[reportArgumentType]

    write_whole(Path(path), write)


def load(path_or_name: Path | str) -> Any:
    """Read an algorithm from a file that `loa.save` wrote, or one that ships with loa, by its name.

    >>> load("no-such-algorithm")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    FileNotFoundError: there is no file no-such-algorithm, and none of that name ships with loa; ...
    """
    content, arrays = _read(path_or_name)
    return _rebuild(content["algorithm"], arrays)


def provenance(path_or_name: Path | str) -> dict[str, Any]:
    """Where a saved algorithm comes from: seed, sizes, versions, numbers measured."""
    return _read(path_or_name)[0]["provenance"]


def shipped() -> tuple[str, ...]:
    """The names of the learned algorithms that ship with loa."""
    return tuple(sorted(path.stem for path in _weights().glob(f"*{SUFFIX}")))


def _weights() -> Path:
    return Path(str(resources.files("loa"))) / "weights"


def _read(path_or_name: Path | str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    path = Path(path_or_name)
    if not path.is_file():
        path = _weights() / f"{path_or_name}{SUFFIX}"
    if not path.is_file():
        there_are = ", ".join(shipped()) or "none"
        raise FileNotFoundError(
            f"there is no file {path_or_name}, and none of that name ships with loa; those that do: {there_are}."
        )
    try:
        with np.load(path, allow_pickle=False) as file:
            return json.loads(str(file["content"])), {name: file[name] for name in file.files}
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError) as error:
        raise ValueError(f"{path} is not an algorithm saved by loa, or is damaged ({error}).") from error


def _describe(node: Any, arrays: list[np.ndarray]) -> Any:
    """A tree of modules, containers, arrays and plain values as JSON; arrays are put aside and numbered."""
    if eqx.is_array(node):
        arrays.append(np.asarray(node))
        return {"array": len(arrays) - 1}
    if isinstance(node, eqx.Module):
        fields = {f.name: _describe(getattr(node, f.name), arrays) for f in dataclasses.fields(node)}
        return {"class": f"{type(node).__module__}:{type(node).__qualname__}", "fields": fields}
    if isinstance(node, (tuple, list)) and type(node) in (tuple, list):
        return {type(node).__name__: [_describe(item, arrays) for item in node]}
    if node is None or isinstance(node, (bool, int, float, str)):
        return {"value": node}
    raise TypeError(f"a {type(node).__name__} in an algorithm cannot be saved: {node!r}.")


def _rebuild(node: Any, arrays: dict[str, np.ndarray]) -> Any:
    if "array" in node:
        return jnp.asarray(arrays[f"array_{node['array']}"])
    if "class" in node:
        kind = _class(node["class"])
        optional = (
            f for f in dataclasses.fields(kind) if f.metadata.get("static") and f.default != dataclasses.MISSING
        )
        defaults = {field.name: field.default for field in optional}
        lacking = {field.name for field in dataclasses.fields(kind)} - set(node["fields"]) - set(defaults)
        if lacking:
            raise ValueError(
                f"the file is from another version of loa: its {kind.__name__} has no {', '.join(sorted(lacking))}."
            )
        module = object.__new__(kind)
        fields = defaults | {name: _rebuild(field, arrays) for name, field in node["fields"].items()}
        for name, value in fields.items():
            object.__setattr__(module, name, value)
        return jax.tree.map(lambda leaf: leaf, module)
    if "tuple" in node:
        return tuple(_rebuild(item, arrays) for item in node["tuple"])
    if "list" in node:
        return [_rebuild(item, arrays) for item in node["list"]]
    return node["value"]


def _class(name: str) -> type:
    module, _, qualified = name.partition(":")
    module = {"loa.networks": "loa.architectures.coordinate_network"}.get(module, module)
    module = module.replace("loa.learned.", "loa.architectures.")
    try:
        found: Any = import_module(module)
        for part in qualified.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ImportError(f"the saved algorithm is a {qualified}, which cannot be imported from {module}.") from error
    if not (isinstance(found, type) and issubclass(found, eqx.Module)):
        raise TypeError(f"{name} is not the class of an algorithm.")
    return found
