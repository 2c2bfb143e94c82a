"""What a learned algorithm asks at its iterate, answered by the algorithm around it, which has computed it already."""

from __future__ import annotations

from typing import Any

from jaxtyping import Scalar

from ..problems.problem_class import ProblemClass
from ..problems.wrapped import Wrapped


class Asked:
    """Whether the learned algorithm asked for loss and gradient at its iterate."""

    def __init__(self, value: bool = False, gradient: bool = False):
        self.value, self.gradient = value, gradient


class KnownAnswers(Wrapped):
    """The class that it was made from; loss and gradient at one point are known, and it is noted if they are asked."""

    _problem_class: ProblemClass
    _x: Any
    _problem: Any
    _loss: Scalar
    _gradient: Any
    _asked: Asked

    def loss(self, x: Any, problem: Any) -> Scalar:
        if not self._is_here(x, problem):
            return self._problem_class.loss(x, problem)
        self._asked.value = True
        return self._loss

    def gradient(self, x: Any, problem: Any) -> Any:
        if self._gradient is None or not self._is_here(x, problem):
            return self._problem_class.gradient(x, problem)
        self._asked.gradient = True
        return self._gradient

    def value_and_gradient(self, x: Any, problem: Any) -> tuple[Scalar, Any]:
        if self._gradient is None or not self._is_here(x, problem):
            return self._problem_class.value_and_gradient(x, problem)
        return self.loss(x, problem), self.gradient(x, problem)

    def _is_here(self, x: Any, problem: Any) -> bool:
        return x is self._x and problem is self._problem
