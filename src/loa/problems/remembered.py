"""Loss and gradient at the current iterate, computed once although several parties ask for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxtyping import Scalar

from .problem_class import ProblemClass
from .wrapped import Wrapped


def remembered(
    problem_class: ProblemClass, x: Any, problem: Any, known: tuple[Scalar, Any] | None = None
) -> Remembered:
    """A problem class that already knows the loss and the gradient of one problem at one point.

    Criterion, functionals and step all ask for them, and XLA does not merge all of these computations, in particular
    not across loops. They are computed here, outside of any loop that asks for them later, so the results can be used
    anywhere. XLA drops a gradient that nobody asks for.

    A loss that JAX cannot differentiate (one with a `while_loop`, for example) is remembered without its gradient:
    asking for that raises the error of JAX, and algorithms that only ask for values work.

    Arguments:
        problem_class: the class that is asked.
        x: the point, and
        problem: the problem. They are recognized as objects: an equal array elsewhere is another point.
        known: loss and gradient, where an algorithm has them in its state; then nothing is computed.

    Returns:
        an object with all attributes and methods of `problem_class`.
    """
    if known is None:
        known = loss_and_gradient(problem_class, x, problem)
    return Remembered(problem_class, x, problem, *known)


def loss_and_gradient(problem_class: ProblemClass, x: Any, problem: Any) -> tuple[Scalar, Any]:
    """Loss and gradient at a point; None in the place of a gradient that cannot be computed."""
    try:
        return problem_class.value_and_gradient(x, problem)
    except Exception:  # whatever is wrong with the gradient is raised again when somebody asks for it
        return problem_class.loss(x, problem), None


class Remembered(Wrapped):
    """The class that it was made from, except for the loss and the gradient at the point that was given."""

    _problem_class: ProblemClass
    _x: Any
    _problem: Any
    _loss: Scalar
    _gradient: Any

    def loss(self, x: Any, problem: Any) -> Scalar:
        return self._loss if self._is_here(x, problem) else self._problem_class.loss(x, problem)

    def gradient(self, x: Any, problem: Any) -> Any:
        if self._is_here(x, problem) and self._gradient is not None:
            return self._gradient
        return self._problem_class.gradient(x, problem)

    def value_and_gradient(self, x: Any, problem: Any) -> tuple[Scalar, Any]:
        if self._is_here(x, problem) and self._gradient is not None:
            return self._loss, self._gradient
        return self._problem_class.value_and_gradient(x, problem)

    def translated(self, problem_class: ProblemClass, x: Any, translate: Callable[[Any], Any]) -> Remembered:
        """The same memory for a class whose points have another form, in which x is the point that is remembered."""
        gradient = None if self._gradient is None else translate(self._gradient)
        return Remembered(problem_class, x, self._problem, self._loss, gradient)

    def _is_here(self, x: Any, problem: Any) -> bool:
        return x is self._x and problem is self._problem
