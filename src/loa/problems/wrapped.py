"""A problem class that answers for another one, and only some questions differently."""

from __future__ import annotations

from functools import cache
from typing import Any

import equinox as eqx
from jaxtyping import Array, Key, Scalar

from .problem_class import ProblemClass


class Wrapped(ProblemClass):
    """The class that it was made from, except for what a subclass defines itself."""

    _problem_class: eqx.AbstractVar[ProblemClass]

    def sample(self, key: Key[Array, ""]) -> Any:
        return self._problem_class.sample(key)

    def start(self, problem: Any, key: Key[Array, ""]) -> Any:
        return self._problem_class.start(problem, key)

    def loss(self, x: Any, problem: Any) -> Scalar:
        return self._problem_class.loss(x, problem)

    def __getattribute__(self, name: str) -> Any:
        """What no subclass defines is asked of the other class, also where `ProblemClass` has a default for it."""
        if name.startswith("__") or name in _defined_by(type(self)):
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "_problem_class"), name)


@cache
def _defined_by(wrapped: type) -> frozenset[str]:
    """The names that a subclass of `Wrapped`, or `Wrapped` itself, defines."""
    classes = [each for each in wrapped.__mro__ if issubclass(each, Wrapped)]
    return frozenset(name for each in classes for name in (*each.__annotations__, *vars(each)))
