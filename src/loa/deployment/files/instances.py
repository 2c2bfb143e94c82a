"""Stacks of problems from files, named by the parts of a problem."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ...messages.arguments import as_path, shown
from ...problems.logs.log_files import named_instances
from ...problems.problem_class import count_problems
from .column_names import names_of_leaves


def read_instances(path: Path | str, example: Any) -> Any:
    """A stack of problems from all that `loa.problems.from_files` reads, in its order; none of them is left out.

    Arguments:
        path: a file or a folder. The arrays of an .npz or .npy file have a leading axis, the problems; other files have
            a row, an entry or a line for each problem, a folder a file for each. Names are those of the fields or keys
            of a problem. If a problem is a single array, the name does not matter, and the columns of a table are its
            entries. The arrays of a tuple are named 0, 1, … or as `np.savez(file, first, second)` names them.
        example: one problem of the class, with its structure and shapes.

    Returns:
        The stack, in the structure of a problem.
    """
    path = as_path("instances", path)
    leaves, names = jax.tree.leaves(example), list(names_of_leaves(example))
    arrays = _arrays(path) if path.suffix in (".npz", ".npy") and not path.is_dir() else _rows(path)
    if names == [""] and len(arrays) > 1 and all(array.ndim == 1 for array in arrays.values()):
        arrays = {"": np.stack(list(arrays.values()), axis=1)}
    if len(names) == 1 and len(arrays) == 1:
        arrays = {names[0]: next(iter(arrays.values()))}
    arrays |= {name: arrays[f"arr_{name}"] for name in names if name not in arrays and f"arr_{name}" in arrays}
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(f"{path} must hold arrays named {', '.join(names)}, got {', '.join(arrays) or 'none'}.")
    for name, leaf in zip(names, leaves, strict=True):
        if arrays[name].shape[1:] != np.shape(leaf) or arrays[name].ndim == 0:
            wanted = ", ".join(["number of problems", *map(str, np.shape(leaf))])
            raise ValueError(f"{name or 'the array'} in {path} must have shape [{wanted}], got {shown(arrays[name])}.")
    stack = jax.tree.unflatten(jax.tree.structure(example), [arrays[name] for name in names])
    count_problems(stack)
    return stack


def _rows(path: Path) -> dict[str, np.ndarray]:
    """The instances of a folder, a table or a file of JSON, put together under their names."""
    rows = []
    for name, instance in named_instances(path):
        if isinstance(instance, Exception):
            raise ValueError(f"{path}: {name} is not a problem: {instance}.")
        rows.append(names_of_leaves(_with_arrays(instance)))
        if rows[-1].keys() != rows[0].keys():
            names, first = (", ".join(filter(None, row)) or "no names" for row in (rows[-1], rows[0]))
            raise ValueError(f"{path}: {name} has {names}, but the first problem {first}.")
    if not rows:
        raise ValueError(f"{path} holds no problems.")
    try:
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    except ValueError:
        raise ValueError(f"{path}: the problems must all have the same shapes.") from None


def _with_arrays(instance: Any) -> Any:
    """An instance whose lists of numbers are arrays; dictionaries keep their keys."""
    if isinstance(instance, dict):
        return {name: _with_arrays(part) for name, part in instance.items()}
    return np.asarray(instance)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        found: Any = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray):
            return {"": found}
        with found:
            return {name: found[name] for name in found.files}
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}.") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not an .npz or .npy file with arrays of numbers, or is damaged.") from error
