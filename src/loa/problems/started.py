"""Warm starts: a problem class whose trajectories begin at a given point."""

from __future__ import annotations

from typing import Any

from jaxtyping import Array, Key

from .problem_class import ProblemClass
from .wrapped import Wrapped


class Started(Wrapped):
    """The class that it was made from, except that every trajectory starts at one point."""

    _problem_class: ProblemClass
    _point: Any

    def start(self, problem: Any, key: Key[Array, ""]) -> Any:
        return self._point
