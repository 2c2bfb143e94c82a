"""Learned algorithms in files: small, readable without running code, with a checksum and their provenance.

A file is in the safetensors format. The arrays are its tensors. Its metadata has one entry, `description`, with JSON:

    {"loa": "1", "checksum": ..., "algorithm": ..., "provenance": {...}}

`loa` is the version of the format, `algorithm` the tree of `loa.storage.algorithm_tree`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors
import safetensors.numpy

from ..algorithms.algorithm import Algorithm, Stack
from ..messages.arguments import as_path, check_type, shown
from .algorithm_checks import check
from .algorithm_tree import TYPES, Malformed, describe, rebuild
from .files import write_whole
from .public_classes import by_name

SUFFIX = ".safetensors"
FORMAT = "1"

LONGEST = 2**22
"""Bytes of the longest header of a file: a description expands in memory, arrays do not."""


def save(path: Path | str, algorithm: Algorithm | Stack, provenance: Mapping[str, Any] | None = None) -> None:
    """Write an algorithm, or a stack of algorithms, to a file.

    The file holds the arrays, the names of the classes that the algorithm is made of, and its provenance. A class of
    your own is marked as such, even if its name is one of loa's: `loa.load` takes it from `classes` only.

    Arguments:
        path: the file; existing files are replaced. The usual suffix is `.safetensors`.
        algorithm: it may consist of modules, arrays, None, bools, numbers, strings, and tuples and lists of these.
        provenance: anything that JSON can represent about where the algorithm comes from.

    >>> import tempfile, loa
    >>> path = Path(tempfile.mkdtemp()) / "heavy-ball.safetensors"
    >>> save(path, loa.HeavyBall(0.1, 0.9), {"seed": 3})
    >>> float(load(path).momentum), provenance(path)
    (0.9, {'seed': 3})
    """
    path = as_path("path", path)
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"path must name a file in a directory that exists, got {shown(str(path))}.")
    check_type("algorithm", algorithm, Algorithm | Stack, "a loa.Algorithm or a stack of them")
    tree, arrays = describe(algorithm)
    content = {"loa": FORMAT, "algorithm": tree, "provenance": _as_json(provenance or {})}
    description = json.dumps({**content, "checksum": _checksum(content, arrays)})
    whole = safetensors.numpy.save(arrays, {"description": description})
    if _header_size(whole) > LONGEST:
        raise ValueError(f"the provenance is too long to be saved: the limit is {LONGEST} bytes of JSON.")
    write_whole(path, lambda temporary: temporary.write_bytes(whole))


def load(path_or_name: Path | str, *, classes: Iterable[type] = ()) -> Any:
    """Read an algorithm from a file that `loa.save` wrote, or a learned algorithm that ships with loa.

    Loading imports nothing and runs no code from the file. The algorithm is made of loa's public classes and of those
    in `classes`; files that are damaged or describe anything else are refused with a `ValueError`.

    Arguments:
        path_or_name: a file, or one of the names in `loa.shipped()`.
        classes: your own classes of algorithms, and of modules in them, that the file may contain.

    Returns:
        A `loa.Algorithm` or a `loa.Stack`, with the bits that were saved. As everywhere in JAX, arrays of 64 bits
        become arrays of 32 bits unless `jax_enable_x64` is set.

    >>> type(load("lasso")).__name__
    'LearnedProximalNewton'
    >>> import tempfile, loa
    >>> class Cautious(loa.GradientDescent):
    ...     pass
    >>> path = Path(tempfile.mkdtemp()) / "cautious.safetensors"
    >>> save(path, Cautious(0.1))
    >>> float(load(path, classes=[Cautious]).step_size)
    0.1
    >>> load("no-such-algorithm")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    FileNotFoundError: there is no file no-such-algorithm, and no algorithm of that name ships with loa; ...
    """
    given = by_name(classes)
    saved = _read(path_or_name)
    try:
        found = rebuild(saved.content["algorithm"], saved.arrays, given)
        if not isinstance(found, Algorithm | Stack):
            raise Malformed(f"it describes a {type(found).__name__} instead of an algorithm or a stack")
        check(found)
    except Malformed as error:
        raise ValueError(f"{saved.path} cannot be loaded: {error}.") from error
    return found


def provenance(path_or_name: Path | str) -> dict[str, Any]:
    """Read where a saved algorithm comes from.

    For the algorithms that ship with loa: experiment, seed, sizes, versions, and what was measured on test problems.

    Arguments:
        path_or_name: a file, or one of the names in `loa.shipped()`.

    Returns:
        What was given to `loa.save` as provenance.

    >>> provenance("lasso")["experiment"]
    'lasso'
    """
    return _read(path_or_name).content["provenance"]


def shipped() -> tuple[str, ...]:
    """List the names of the learned algorithms that ship with loa.

    >>> "lasso" in shipped()
    True
    """
    return tuple(sorted(path.stem for path in _weights().glob(f"*{SUFFIX}")))


class _Saved(NamedTuple):
    path: Path
    content: dict[str, Any]
    arrays: dict[str, np.ndarray]


def _weights() -> Path:
    return Path(str(resources.files("loa"))) / "weights"


def _find(path_or_name: Path | str) -> Path:
    path, own = as_path("path_or_name", path_or_name), _weights() / f"{path_or_name}{SUFFIX}"
    for each in (path, own):
        if each.is_file():
            return each
    if path.is_dir():
        raise ValueError(f"{path} is a directory and not a file with an algorithm.")
    raise FileNotFoundError(
        f"there is no file {path_or_name}, and no algorithm of that name ships with loa; those that do: "
        f"{', '.join(shipped()) or 'none'}."
    )


def _read(path_or_name: Path | str) -> _Saved:
    """The content of a file after all checks that do not depend on classes."""
    path = _find(path_or_name)
    try:
        with path.open("rb") as file:
            if _header_size(file.read(8)) > min(LONGEST, path.stat().st_size):
                raise Malformed("it is not in the safetensors format")
        with safetensors.safe_open(path, "numpy") as file:
            content = _content((file.metadata() or {}).get("description", ""))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if any(array.dtype.name not in TYPES for array in arrays.values()):
            raise Malformed("it contains an array of an unusual type")
        if content.pop("checksum") != _checksum(content, arrays):
            raise Malformed("its checksum is wrong")
    except (safetensors.SafetensorError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is not an algorithm saved by loa, or is damaged ({error}).") from error
    return _Saved(path, content, arrays)


def _as_json(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The provenance as it will be read again."""
    try:
        return json.loads(json.dumps(dict(provenance)))
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"provenance must be a dict that JSON can represent ({error}).") from error


def _content(description: str) -> dict[str, Any]:
    content = json.loads(description)
    if not isinstance(content, dict) or "loa" not in content:
        raise Malformed("it does not name a version of the format")
    if content["loa"] != FORMAT:
        raise Malformed(f"its format is {content['loa']!r:.20}, and this version of loa reads format {FORMAT!r}")
    if content.keys() != {"loa", "checksum", "algorithm", "provenance"} or not isinstance(content["provenance"], dict):
        raise Malformed("its description is incomplete")
    return content


def _header_size(start: bytes) -> int:
    """The length of the header, which is what a file in the safetensors format begins with."""
    return int.from_bytes(start[:8], "little")


def _checksum(content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """A hash of the description and of all arrays with their names, types and shapes."""
    digest = hashlib.sha256(json.dumps(content).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}{array.dtype.name}{array.shape}".encode())
        digest.update(np.asarray(array, order="C").tobytes())
    return digest.hexdigest()
