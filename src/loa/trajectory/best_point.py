"""What solving a problem keeps of a trajectory: the best point, how it was reached, and what it cost."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Scalar

from ..problems import gaps
from ..problems.criterion import Criterion
from ..problems.oracle import Calls
from ..problems.problem_class import MissingOracle, ProblemClass
from ..problems.vector_points import dtype_of
from .functionals import End, Functional, Record
from .job import OUTCOMES, is_sound, where


class Answer(NamedTuple):
    """A solution of one problem as arrays: the point, how its trajectory ended (an index of `OUTCOMES`), its cost."""

    x: Any
    outcome: Int[Array, ""]
    steps: Int[Array, ""]
    loss: Scalar
    gap: Scalar | None
    calls: Calls


class _Best(NamedTuple):
    """The best point so far, its loss, and the loss that a better point must have."""

    x: Any
    loss: Scalar
    rank: Scalar


class BestPoint(Functional):
    """The point to return for a problem: the one that meets the criterion, or the one with the lowest finite loss.

    Of programs, whose loss is a Lagrangian, it is the one with the smallest residual.

    Where a class has a prox, the loss may be infinite outside of a set. Points out there, if only by rounding, are
    compared by where the prox moves them, and that is what is kept. Or the loss may know nothing of the constraints: a
    start that violates them then counts only until there is another point.

    Arguments:
        criterion: when a problem counts as solved.
    """

    criterion: Criterion
    name: str = eqx.field(static=True, kw_only=True, default="solution")
    is_number: ClassVar[bool] = False

    def init(self, record: Record) -> tuple[_Best, Any, Calls]:
        loss = record.gap(gaps.loss)
        rank = jnp.where(jnp.isfinite(loss) & _admissible(record), _merit(record, loss), jnp.inf)
        best = _Best(record.iterate, loss, rank)
        return best, _optimum(record.problem_class, record.problem, loss), record.calls

    def update(self, carry: tuple[_Best, Any, Calls], record: Record) -> tuple[_Best, Any, Calls]:
        best, optimum, _ = carry
        loss = record.gap(gaps.loss)
        sound, met = is_sound(loss, record.iterate), record.gap(self.criterion)
        x, value, merit = record.iterate, loss, _merit(record, loss)
        if record.problem_class.has("prox"):
            x, value = _inside(record.problem_class, record.iterate, record.problem, loss)
            merit = value
            x, value = where(met, (record.iterate, loss), (x, value))
        best = where(sound & (met | (merit < best.rank)), _Best(x, value, merit), best)
        return best, optimum, record.calls

    def result(self, carry: tuple[_Best, Any, Calls], end: End) -> Answer:  # pyright: ignore[reportIncompatibleMethodOverride]
        best, optimum, calls = carry
        solved, exhausted, diverged, *_ = range(len(OUTCOMES))
        unsolved = jnp.where(end.impossible > 0, diverged + end.impossible, exhausted)
        return Answer(
            best.x,
            jnp.where(end.solved, solved, jnp.where(end.diverged, diverged, unsolved)).astype(jnp.int32),
            jnp.where(end.solved, end.stopping_time, end.time),
            best.loss,
            None if optimum is None else gaps.above_optimum(best.loss, *optimum),
            calls,
        )


def _merit(record: Record, loss: Scalar) -> Scalar:
    """By which points are compared: the loss, unless the class says otherwise, since a Lagrangian has no minimum."""
    problem_class: Any = record.problem_class
    return record.gap(problem_class.merit()) if hasattr(problem_class, "merit") else loss


def settled(answer: Answer, problem_class: ProblemClass, criterion: Criterion, problem: Any) -> Answer:
    """The answer with its point moved into the set, where the point is outside of it and a solution there as well.

    Arguments:
        answer: the answer to one problem, from `BestPoint`.
        problem_class, criterion, problem: what it is the answer to.
    """
    if not problem_class.has("prox"):
        return answer

    def moved() -> Answer:
        x, loss = _inside(problem_class, answer.x, problem, answer.loss)
        gap = None if answer.gap is None else gaps.loss_gap(problem_class, x, problem)
        unspoilt = (answer.outcome != OUTCOMES.index("solved")) | criterion(problem_class, x, problem)
        return where(unspoilt & jnp.isfinite(loss), answer._replace(x=x, loss=loss, gap=gap), answer)

    return jax.lax.cond(jnp.isposinf(answer.loss), moved, lambda: answer)


def _inside(problem_class: ProblemClass, x: Any, problem: Any, loss: Scalar) -> tuple[Any, Scalar]:
    """A point and its loss or, if that is infinite, the point where the prox moves it with a tiny step size."""

    def moved() -> tuple[Any, Scalar]:
        near = problem_class.prox(x, jnp.asarray(jnp.finfo(dtype_of(x)).eps), problem)
        return near, jnp.asarray(problem_class.loss(near, problem), loss.dtype)

    return jax.lax.cond(jnp.isposinf(loss), moved, lambda: (x, loss))


def _admissible(record: Record) -> Bool[Array, ""]:
    """Whether the constraints of a prox hold: a tiny step size lets it move only what violates them."""
    problem_class, x = record.problem_class, record.iterate
    if not problem_class.has("prox"):
        return jnp.asarray(True)
    tiny = jnp.asarray(jnp.finfo(dtype_of(x)).eps)
    moved = gaps.norm(gaps.difference(problem_class.prox(x, tiny, record.problem), x))
    return moved <= tiny**0.5 * (1.0 + gaps.norm(x))


def _optimum(problem_class: ProblemClass, problem: Any, loss: Scalar) -> tuple[Scalar, Scalar] | None:
    """The smallest loss and its accuracy, where the class knows them."""
    if not problem_class.has("optimal_loss"):
        return None
    try:
        known = problem_class.optimal_loss(problem), problem_class.optimal_accuracy(problem)
    except MissingOracle:
        return None
    smallest, accuracy = (jnp.asarray(each, loss.dtype) for each in known)
    return smallest, accuracy
