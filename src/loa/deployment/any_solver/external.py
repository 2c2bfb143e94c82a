"""Solvers that are not JAX: any function of Python, or any executable."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import pickle
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...messages.arguments import check_type, shown


@dataclasses.dataclass(frozen=True, eq=False)
class External:
    """A solver of any kind, with the values of its parameters.

    A function solves an instance and returns the numbers that are of interest, such as `{"iterations": 12}`; if it
    raises an error, or reports `{"solved": False}`, the run has failed. An executable is a command where `{instance}`
    stands for the instance and `{name}` for a parameter. An instance that is neither text nor a number is written to a
    JSON file, and its path is filled in. A run fails if the exit code is not 0; if the last line of the output is a
    JSON object, its numbers are reported.

    Arguments:
        solve: a function `solve(instance, **parameters)`, defined in a file; or a command, as text or as words.
        space: what may be tuned, by name: a pair (low, high) of numbers, a `loa.learning.Interval`, or a list of
            choices. A pair of whole numbers stands for whole numbers. A pair of positive numbers whose ratio is at
            least 1000 is searched evenly in its logarithm.
        parameters: their values now; the solver's own defaults if not given.

    >>> solver = External("sort --numeric-sort {instance}")
    >>> solver.at(reverse=True).parameters
    {'reverse': True}
    """

    solve: Any
    space: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        words = isinstance(self.solve, str | list | tuple)
        if not (callable(self.solve) or (words and len(self.solve))):
            raise TypeError(
                f"solve must be a function solve(instance, **parameters) or a command, got {shown(self.solve)}."
            )
        check_type("space", self.space, Mapping | None, "a dict of ranges or choices by parameter")
        check_type("parameters", self.parameters, Mapping, "a dict of values by parameter")

    def at(self, **parameters: Any) -> External:
        """The same solver with other values of some parameters."""
        return dataclasses.replace(self, parameters={**self.parameters, **parameters})

    @property
    def name(self) -> str:
        """How the solver is called in tables."""
        if callable(self.solve):
            return getattr(self.solve, "__name__", type(self.solve).__name__)
        return Path(_words(self.solve)[0]).name

    @property
    def words(self) -> str:
        """The solver with its parameters, for certificates."""
        return ", ".join([self.name, *(f"{name}={value}" for name, value in self.parameters.items())])

    def reference(self) -> dict[str, Any]:
        """Where a process of its own finds the function: a file, a module, or the function itself, pickled."""
        if not callable(self.solve):
            return _of_function(partial(run_command, _words(self.solve)))
        return _of_function(self.solve)

    @property
    def fingerprint(self) -> str:
        """A hash of the command and of the files that it names, or of the function and of the file that defines it."""
        if not callable(self.solve):
            parts = [*_words(self.solve), *_contents(_words(self.solve))]
        else:
            try:
                source = Path(inspect.getsourcefile(self.solve) or "").read_text()
            except (TypeError, OSError):
                source = ""
            parts = [self.name, source]
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()

    def defaults(self) -> dict[str, Any]:
        """The values of the parameters in the space, as far as they are given here or by the function itself."""
        known: dict[str, Any] = {}
        if callable(self.solve):
            try:
                signature = inspect.signature(self.solve).parameters
            except (TypeError, ValueError):
                signature = {}
            known = {name: each.default for name, each in signature.items() if each.default is not each.empty}
        return {name: value for name, value in {**known, **self.parameters}.items() if name in (self.space or {})}

    @property
    def takes_seed(self) -> bool:
        """Whether the function has an argument `seed`, which then is the number of the replicate."""
        if not callable(self.solve):
            return any("{seed}" in word for word in _words(self.solve))
        try:
            return "seed" in inspect.signature(self.solve).parameters
        except (TypeError, ValueError):
            return False


@dataclasses.dataclass(frozen=True, eq=False)
class Referred:
    """A solver on its way to a worker, which need not be able to import its function: it says where that is."""

    name: str
    where: Mapping[str, Any]

    def reference(self) -> dict[str, Any]:
        """As `External.reference`."""
        return dict(self.where)


def _words(command: str | Sequence[str] | Any) -> list[str]:
    return shlex.split(command) if isinstance(command, str) else [str(word) for word in command]


def _contents(words: Sequence[str]) -> list[str]:
    """Hashes of the executable and of all files that a command names, such as a script."""
    files = [shutil.which(words[0]) or words[0], *words[1:]]
    return [hashlib.blake2b(Path(each).read_bytes()).hexdigest() for each in files if Path(each).is_file()]


def _of_function(function: Any) -> dict[str, Any]:
    name, qualname = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    module = sys.modules.get(name or "")
    file = getattr(module, "__file__", None)
    if module is not None and qualname and "<" not in qualname:
        own = name == "__main__" or getattr(getattr(module, "__spec__", None), "loader_state", None) is not None
        if file is not None or name != "__main__":
            alias = Path(file).stem if own and file else name
            return {"module": alias, "file": str(Path(file).resolve()) if own and file else None, "qualname": qualname}
    return {"pickled": _pickled(function)}


def _pickled(function: Any) -> bytes:
    try:
        import cloudpickle as pickler  # pyright: ignore[reportMissingImports]
    except ImportError:
        pickler = pickle
    try:
        return pickler.dumps(function)
    except Exception as error:
        raise ValueError(
            f"{shown(function)} cannot be sent to a process of its own ({type(error).__name__}): define it at the top "
            "level of a file, or pip install cloudpickle."
        ) from error


def run_command(words: Sequence[str], instance: Any, **parameters: Any) -> dict[str, Any]:
    """Run an executable on an instance, and read what it reports from the last line of its output."""
    with tempfile.TemporaryDirectory() as folder:
        given = instance
        if not isinstance(instance, str | int | float | Path):
            given = Path(folder) / "instance.json"
            given.write_text(json.dumps(_plain(instance)))
        values = {"instance": given, **parameters}
        done = subprocess.run([_filled(word, values) for word in words], stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="")
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}")
    lines = done.stdout.strip().splitlines()
    try:
        reported = json.loads(lines[-1]) if lines else {}
    except ValueError:
        reported = {}
    return reported if isinstance(reported, dict) else {}


def _filled(word: str, values: Mapping[str, Any]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", str(value))
    return word


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return np.asarray(value).tolist()
