"""Stacks of problems from files of NumPy, named by the parts of a problem."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..problems.arguments import as_path, shown
from ..problems.problem_class import count_problems
from .column_names import names_of_leaves


def read_instances(path: Path | str, example: Any) -> Any:
    """A stack of problems from an `.npz` or `.npy` file.

    Arguments:
        path: the file. Its arrays have a leading axis, the problems, and the names of the fields or keys of a problem;
            if a problem is a single array, the name does not matter. The arrays of a tuple are named 0, 1, … or as
            `np.savez(file, first, second)` names them.
        example: one problem of the class, with its structure and shapes.

    Returns:
        The stack, in the structure of a problem.
    """
    path = as_path("instances", path)
    arrays, leaves = _arrays(path), jax.tree.leaves(example)
    names = list(names_of_leaves(example))
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
