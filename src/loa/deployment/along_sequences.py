"""Problems as they occur along sequences, warm-started: a class to learn and certify algorithms for closed loops."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from ..algorithms.algorithm import Algorithm
from ..messages.arguments import check_callable
from ..problems import gaps
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass, sampled, whole_number
from ..problems.vector_points import dtype_of
from ..trajectory.checks import check_algorithm, check_setting
from ..trajectory.job import is_sound, where
from ..trajectory.kernels import in_precision
from ..trajectory.walk import Moment, Walk, trajectory_key


class Met(NamedTuple):
    """A problem that was met along a sequence, and the point where it is to be started."""

    problem: Any
    start: Any


def along_sequences(
    problem_class: ProblemClass,
    algorithm: Algorithm,
    *,
    criterion: Criterion,
    horizon: int,
    length: int,
    warm: bool | Callable[[Any], Any] = True,
) -> ProblemClass:
    """Turn a class that says by `next` which problem follows into the class of problems met along its sequences.

    A problem of the new class is a `Met`: one of the first `length` problems of a sequence of its own, at a place drawn
    uniformly, and the point where it is started, the solution of the problem before. To evaluate, train, tune, run and
    certify algorithms on the new class is to do so for warm-started problems. A mean over its problems is the mean
    along sequences; draws are independent, because each has its own sequence, so that certificates count sequences.

    The sequences are those of `algorithm`. Any algorithm that meets the criterion finds nearly the same solutions, so
    the sequences of another one differ little from these; `loa.rollout` measures an algorithm along its own sequences.

    Arguments:
        problem_class: a class that defines `next`.
        algorithm: solves the problems before; a classical one that can be relied on.
        criterion: when these count as solved.
        horizon: the largest number of its steps, at least 1.
        length: of the sequences, at least 1.
        warm: as for `loa.rollout`: whether problems are started at the solution before, or a function of that solution.

    Returns:
        The class, by the same name.

    >>> import loa
    >>> class Following(loa.ProblemClass):
    ...     def sample(self, key):
    ...         return jax.random.normal(key, (2,))
    ...     def loss(self, x, problem):
    ...         return jnp.sum((x - problem) ** 2)
    ...     def start(self, problem, key):
    ...         return jnp.zeros(2)
    ...     def next(self, problem, x, key):
    ...         return problem + 0.01 * jax.random.normal(key, (2,))
    >>> setting = dict(criterion=loa.gradient_norm_below(1e-3), horizon=100)
    >>> cold, descent = Following(), loa.GradientDescent(0.1)
    >>> warm = along_sequences(cold, loa.LBFGS(), length=10, **setting)
    >>> means = [loa.evaluate(descent, each, each.draw(jax.random.key(0), 100), key=jax.random.key(1), **setting)
    ...          ["stopping_time"].mean() for each in (cold, warm)]
    >>> bool(means[1] < 0.7 * means[0])
    True
    """
    check_setting(problem_class, criterion, horizon, jax.random.key(0))
    check_algorithm("algorithm", algorithm)
    if not problem_class.has("next"):
        raise ValueError(
            f"{type(problem_class).__name__} has no sequences: define `def next(self, problem, x, key)` in it."
        )
    if not isinstance(warm, bool):
        check_callable("warm", warm, "true, false, or a function of a solution")
    kind = _along(type(problem_class))
    return kind(problem_class, algorithm, criterion, int(horizon), whole_number("length", length), warm)


class AlongSequences(ProblemClass):
    """What `along_sequences` makes of a class: whatever is asked about a `Met` is asked there about its problem."""

    _problem_class: eqx.AbstractVar[ProblemClass]
    _algorithm: eqx.AbstractVar[Algorithm]
    _criterion: eqx.AbstractVar[Criterion]
    _horizon: eqx.AbstractVar[int]
    _length: eqx.AbstractVar[int]
    _warm: eqx.AbstractVar[Any]

    def sample(self, key: Key[Array, ""]) -> Met:
        first, place, others, start = jax.random.split(key, 4)
        problem = jax.tree.map(jnp.asarray, sampled(self._problem_class, first))
        x = self._problem_class.start(problem, start)

        def follow(number: Int[Array, ""], met: Met) -> Met:
            before, after = jax.random.split(jax.random.fold_in(others, number))
            solution = self._solution(met, before)
            problem = self._problem_class.next(met.problem, solution, after)
            return _like(met, Met(problem, self._started(problem, solution, before)))

        count = jax.random.randint(place, (), 0, self._length)
        return jax.lax.fori_loop(0, count, follow, Met(problem, jax.tree.map(jnp.asarray, x)))

    def start(self, problem: Met, key: Key[Array, ""]) -> Any:
        return problem.start

    def loss(self, x: Any, problem: Met) -> Any:
        return self._problem_class.loss(x, problem.problem)

    def next(self, problem: Met, x: Any, key: Key[Array, ""]) -> Met:
        after = self._problem_class.next(problem.problem, x, key)
        return Met(after, self._started(after, x, key))

    def has(self, method: str) -> bool:
        return self._problem_class.has(method)

    def _started(self, problem: Any, x: Any, key: Key[Array, ""]) -> Any:
        if self._warm is False:
            return self._problem_class.start(problem, key)
        return x if self._warm is True else self._warm(x)

    def _solution(self, met: Met, key: Key[Array, ""]) -> Any:
        """Where the algorithm ends; if it diverges, where it began."""
        walk = Walk(in_precision(self._algorithm, dtype_of(met.start)), self._problem_class, met.problem).knowing()
        own_key = trajectory_key(key, 0)

        def sound(moment: Moment) -> Any:
            record = walk.record(moment)
            return is_sound(record.gap(gaps.loss), record.iterate)

        def goes_on(moment: Moment) -> Any:
            return sound(moment) & ~walk.record(moment).gap(self._criterion) & (moment.time < self._horizon)

        last = jax.lax.while_loop(goes_on, lambda moment: walk.step(moment, own_key), walk.begin_at(met.start, own_key))
        return where(sound(last), walk.point(last.state), met.start)

    def __getattribute__(self, name: str) -> Any:
        """What is not defined here is asked of the other class, about the problem that was met."""
        if name.startswith("__") or name in OWN:
            return object.__getattribute__(self, name)
        found = getattr(object.__getattribute__(self, "_problem_class"), name)
        return _about_problems(found) if callable(found) else found


FIELDS = ("_problem_class", "_algorithm", "_criterion", "_horizon", "_length", "_warm")
OWN = frozenset((*FIELDS, *vars(AlongSequences), "draw"))
"""What is not asked of the other class."""


def _about_problems(ask: Callable[..., Any]) -> Callable[..., Any]:
    """A method of the other class that is asked about problems that were met."""

    @wraps(ask)
    def asked(*arguments: Any, **named: Any) -> Any:
        return ask(*map(_problem_of, arguments), **{name: _problem_of(each) for name, each in named.items()})

    return asked


def _problem_of(argument: Any) -> Any:
    return argument.problem if isinstance(argument, Met) else argument


def _like(form: Any, found: Any) -> Any:
    return jax.tree.map(lambda leaf, new: jnp.asarray(new, leaf.dtype), form, found)


@cache
def _along(kind: Any) -> Any:
    """The class derived from another one, so that it counts as one of its kind; its own fields stay empty."""

    def __init__(self: Any, *parts: Any) -> None:
        for field in dataclasses.fields(parts[0]):
            object.__setattr__(self, field.name, None)
        for name, part in zip(FIELDS, parts, strict=True):
            object.__setattr__(self, name, part)

    annotations = dict.fromkeys(FIELDS, Any)
    static = {name: eqx.field(static=True) for name in ("_horizon", "_length", "_warm")}
    content = {"__module__": kind.__module__, "__annotations__": annotations, "__init__": __init__, **static}
    return type(kind)(kind.__name__, (AlongSequences, kind), content)
