"""What depends on a problem alone, computed once although it is asked for at every step."""

from __future__ import annotations

from typing import Any

from jaxtyping import Scalar

from .only_eigenvalues import only_eigenvalues
from .problem_class import ProblemClass
from .wrapped import Wrapped


def smoothness_of(problem_class: ProblemClass, problem: Any) -> Scalar:
    """The smoothness constant of a problem, computed without eigenvectors that it does not need."""
    return only_eigenvalues(problem_class.smoothness)(problem)


def smoothness_once(problem_class: ProblemClass, problem: Any, smoothness: Scalar | None = None) -> ProblemClass:
    """A problem class that knows the smoothness constant L of one problem, which may take an eigenvalue problem.

    Arguments:
        problem_class: the class that is asked.
        problem: the problem. It is recognized as an object.
        smoothness: its constant, if it was computed before; it is computed here if not. XLA drops it if nobody asks.

    Returns:
        an object with all attributes and methods of `problem_class`; the class itself if it has no such constant.
    """
    if not (problem_class.has("smoothness") or problem_class.has("prox")):
        return problem_class
    try:
        known = smoothness_of(problem_class, problem) if smoothness is None else smoothness
    except Exception:  # whatever is wrong with it is raised again when somebody asks for it
        return problem_class
    return KnownSmoothness(problem_class, problem, known)


class KnownSmoothness(Wrapped):
    """The class that it was made from, except for the smoothness constant of one problem."""

    _problem_class: ProblemClass
    _problem: Any
    _smoothness: Scalar

    def smoothness(self, problem: Any) -> Scalar:
        return self._smoothness if problem is self._problem else self._problem_class.smoothness(problem)


class Asked:
    """Whether a problem class was asked for a smoothness constant."""

    smoothness = False


class NotingSmoothness(Wrapped):
    """The class that it was made from, which notes whether it is asked for a smoothness constant."""

    _problem_class: ProblemClass
    _asked: Asked

    def smoothness(self, problem: Any) -> Scalar:
        self._asked.smoothness = True
        return self._problem_class.smoothness(problem)
