"""What a problem class may give as its constraint."""

from __future__ import annotations

from typing import Any

from ...messages.arguments import shown
from ..problem_class import ProblemClass
from .term import Term


def check_constraint(problem_class: ProblemClass, problem: Any) -> None:
    """Refuse a constraint that is none, or that is given twice."""
    if not problem_class.has("constraint"):
        return
    name, given = type(problem_class).__name__, problem_class.constraint
    if isinstance(given, type):
        raise TypeError(f"{name}.constraint must be an instance of a class of loa.sets: write `{given.__name__}(…)`.")
    if not (problem_class.has("smooth") or problem_class.has("gradient")):
        raise TypeError(
            f"{name} has a constraint, which is a part of its loss: call the other part `smooth` instead of `loss`."
        )
    term = problem_class.term(problem)
    if not isinstance(term, Term):
        raise TypeError(
            f"{name}.constraint must be one of loa.sets, such as loa.sets.Box(0.0, 1.0), got {shown(term)}."
        )
    if problem_class.defines("prox"):
        raise TypeError(
            f"{name} has a constraint and a prox, which say the same: remove {name}.prox or the constraint."
        )
