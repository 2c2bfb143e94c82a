"""The classes that a saved algorithm may name: those that loa makes public, and those that the caller hands over."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import equinox as eqx

from .. import algorithms, architectures

RENAMED: dict[str, str] = {}
"""Former names of public classes, with their names of today; files that contain former names stay readable."""

ADDED: dict[str, dict[str, Any]] = {
    "ADMM": {"sweeps": 1},
    "Factored": {"given": False},
    "LearnedSplitting": {"sweeps": 1},
    "Newton": {"scaling": 0.0},
    "LevenbergMarquardt": {"scaling": 0.0},
    "SemismoothNewton": {"separable": False, "log_step": 0.0, "descent": False},
    "LearnedImages": {"largest": True},
    "CompactImages": {"largest": True},
    "Safeguarded": {"deadlines": None},
    "LearnedStochasticTraining": {"as_printed": False},
}
"""For public classes, fields that were added later, with the value to use for files without them."""


def classes_in(module: ModuleType) -> tuple[type[eqx.Module], ...]:
    """The classes of algorithms and of other equinox modules that a Python module defines or imports by name.

    Hand them to `loa.load` to read what a file of yours has saved: `loa.load(path, classes=classes_in(my_module))`.

    >>> import loa
    >>> [each.__name__ for each in classes_in(loa.algorithms)][:3]
    ['Adam', 'ADMM', 'Stack']
    """
    return tuple(each for each in vars(module).values() if _is_module(each) and not inspect.isabstract(each))


def classes_of(algorithm: Any) -> frozenset[type[eqx.Module]]:
    """The classes that an algorithm is made of: those that `loa.load` needs to read it again.

    >>> import jax, loa
    >>> learned = loa.architectures.LearnedQuadratics(key=jax.random.key(0))
    >>> sorted(each.__name__ for each in classes_of(learned))
    ['CoordinateNetwork', 'LearnedQuadratics']
    """
    if isinstance(algorithm, eqx.Module):
        parts = [getattr(algorithm, field.name) for field in dataclasses.fields(algorithm)]
        return frozenset({type(algorithm)}).union(*map(classes_of, parts))
    return frozenset().union(*map(classes_of, algorithm)) if isinstance(algorithm, (tuple, list)) else frozenset()


def _is_module(each: Any) -> bool:
    return isinstance(each, type) and issubclass(each, eqx.Module)


PUBLIC = {each.__name__: each for room in (algorithms, architectures) for each in classes_in(room)}
"""The classes of loa that a saved algorithm may be made of, by their public names."""


def public_class(name: str) -> type[eqx.Module] | None:
    """The public class of loa that has or once had this name."""
    return PUBLIC.get(RENAMED.get(name, name))


def is_public(kind: type) -> bool:
    """Whether this is a public class of loa, rather than another one of the same name."""
    return PUBLIC.get(kind.__name__) is kind


def by_name(classes: Iterable[type]) -> dict[str, set[type[eqx.Module]]]:
    """The classes that the caller hands over, by name; more than one if several share a name."""
    found: dict[str, set[type[eqx.Module]]] = {}
    if not isinstance(classes, Iterable):
        raise TypeError(f"classes must be a list of classes such as [MyAlgorithm], got {classes!r}.")
    for each in classes:
        if not _is_module(each):
            raise TypeError(f"classes must be subclasses of loa.Algorithm or equinox.Module, got {each!r}.")
        found.setdefault(each.__name__, set()).add(each)
    return found
