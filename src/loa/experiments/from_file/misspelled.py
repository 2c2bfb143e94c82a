"""Names in a user's file that loa does not read, and that are probably misspelled."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType

from ...problems.problem_class import OPTIONAL, ProblemClass

READ = (
    "problem_class", "experiment", "criterion", "horizon", "baselines", "sizes", "learn", "functionals", "instances",
    "order", "pad", "guarded",
)  # fmt: skip
"""What loa reads from a file."""

DICTIONARIES = ("baselines", "sizes")
"""Which of them are dictionaries."""

METHODS = ("sample", "loss", "start", *OPTIONAL)

LIKE = 0.8
"""How similar two names are, from 0 to 1, if one was probably meant to be the other."""


def near_misses(module: ModuleType) -> Iterator[str]:
    """A sentence for each name that is similar to one that loa would read, and that is not there.

    Arguments:
        module: the user's file.
    """
    own = {name: value for name, value in vars(module).items() if not isinstance(value, type | ModuleType)}
    for name, meant in _similar(own, READ, there=vars(module)):
        if name.isupper() or (meant in DICTIONARIES and not isinstance(own[name], Mapping)):
            continue  # a constant, or a number of its own such as `size = 5`
        yield f"`{name}` is not a name that loa reads: `{meant}` was probably meant."
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, ProblemClass) and value.__module__ == module.__name__:
            there = [method for method in METHODS if getattr(value, method) is not getattr(ProblemClass, method)]
            for name, meant in _similar(vars(value), METHODS, there):
                yield f"`{value.__name__}.{name}` is not a method that loa calls: `{meant}` was probably meant."


def _similar(names: Iterable[str], read: Iterable[str], there: Iterable[str]) -> Iterator[tuple[str, str]]:
    missing = [each for each in read if each not in there]
    for name in names:
        found = difflib.get_close_matches(name.lower(), missing, n=1, cutoff=LIKE)
        if found and name not in read and not name.startswith("_"):
            yield name, found[0]
