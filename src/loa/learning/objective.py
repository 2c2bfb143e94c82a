"""What training minimizes: a functional of short segments of trajectories, or the distance to a teacher."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, Scalar

from ..algorithms.algorithm import Algorithm
from ..problems import gaps
from ..problems.criterion import Criterion
from ..problems.gaps import norm
from ..problems.oracle import Calls, Oracle
from ..problems.problem_class import ProblemClass
from ..trajectory.functionals import End, Functional, Record
from ..trajectory.kernels import transition


class OneStepContraction(Functional):
    r"""The mean over steps of \(v(s^{(t+1)}, \theta) / v(s^{(t)}, \theta)\), the paper's training objective.

    Over a single step this is the paper's; over more it is differentiated through all of them. So that one step that
    diverges does not outweigh all others, a ratio r above 1 counts as 1 + log r unless `tempered` is false. With
    `logarithmic` the mean of log r is taken.
    """

    gap: gaps.Gap = eqx.field(static=True, default=gaps.loss)
    tempered: bool = eqx.field(static=True, kw_only=True, default=True)
    logarithmic: bool = eqx.field(static=True, kw_only=True, default=False)
    name: str = eqx.field(static=True, kw_only=True, default="contraction")

    def init(self, record: Record) -> tuple[Scalar, Scalar]:
        gap = record.gap(self.gap)
        return gap, jnp.zeros_like(gap)

    def update(self, carry: tuple[Scalar, Scalar], record: Record) -> tuple[Scalar, Scalar]:
        before, total = carry
        gap = record.gap(self.gap)
        ratio = jnp.where(before > 0, gap / jnp.where(before > 0, before, 1.0), 0.0)
        logarithm = jnp.log(jnp.maximum(ratio, 1e-30))
        if self.logarithmic:
            return gap, total + logarithm
        return gap, total + (jnp.where(ratio > 1, 1.0 + logarithm, ratio) if self.tempered else ratio)

    def result(self, carry: tuple[Scalar, Scalar], end: End) -> Scalar:
        return carry[1] / jnp.maximum(end.time, 1)


class Slot(NamedTuple):
    """A problem in training: how far the algorithm has come on it, and in how many steps."""

    problem: Any
    state: Any
    time: Int[Array, ""]


class Segment(NamedTuple):
    """A few steps on one problem: the value to minimize, where they led, and whether they count."""

    value: Scalar
    state: Any
    counts: Bool[Array, ""]


class Objective(eqx.Module):
    """What is minimized over segments of `length` steps."""

    length: eqx.AbstractVar[int]

    @abstractmethod
    def __call__(
        self, algorithm: Algorithm, problem_class: ProblemClass, criterion: Criterion, slot: Slot, key: Key[Array, ""]
    ) -> Segment:
        """Run a segment from where the slot is; differentiable by the algorithm."""


class OverSegments(Objective):
    """A functional of segments. Steps from points that already solve the problem do not count."""

    functional: Functional
    length: int = eqx.field(static=True, kw_only=True, default=1)

    def __call__(
        self, algorithm: Algorithm, problem_class: ProblemClass, criterion: Criterion, slot: Slot, key: Key[Array, ""]
    ) -> Segment:
        def record(time: Any, state: Any) -> Record:
            return Record(time, algorithm.iterate(state), state, slot.problem, problem_class, Calls.none())

        def unsolved(state: Any) -> Bool[Array, ""]:
            return ~criterion(problem_class, algorithm.iterate(state), slot.problem)

        def body(carry: Any, time: Int[Array, ""]) -> tuple[Any, None]:
            state, fold, steps, going = carry
            state = transition(algorithm, problem_class, slot.problem, state, jax.random.fold_in(key, time))
            update = self.functional.update(fold, record(steps + 1, state))
            fold = jax.tree.map(lambda new, old: jnp.where(going, new, old), update, fold)
            return (state, fold, steps + going, going & unsolved(state)), None

        first = unsolved(slot.state)
        zero = jnp.zeros((), jnp.int32)
        carry = slot.state, self.functional.init(record(zero, slot.state)), zero, first
        (state, fold, steps, _), _ = jax.lax.scan(body, carry, jnp.arange(self.length))
        end = End(steps, jnp.asarray(False), jnp.asarray(True), steps, self.length)
        return Segment(self.functional.result(fold, end), state, first)


class Imitation(Objective):
    """The squared distance to the points of a teacher that starts where the algorithm is, relative to how far it goes.

    The algorithm learns on its own trajectories, so nothing is asked of its state, and any algorithm can teach.
    """

    teacher: Algorithm
    length: int = eqx.field(static=True, kw_only=True, default=5)

    def __call__(
        self, algorithm: Algorithm, problem_class: ProblemClass, criterion: Criterion, slot: Slot, key: Key[Array, ""]
    ) -> Segment:
        start = algorithm.iterate(slot.state)

        def body(carry: Any, time: Int[Array, ""]) -> tuple[Any, Scalar]:
            state, teacher_state = carry
            step_key = jax.random.fold_in(key, time)
            state = transition(algorithm, problem_class, slot.problem, state, step_key)
            teacher_state = transition(self.teacher, problem_class, slot.problem, teacher_state, step_key)
            goal = self.teacher.iterate(teacher_state)
            way = norm(goal - start)
            miss = norm(algorithm.iterate(state) - goal)
            return (state, teacher_state), (miss / jnp.where(way > 0, way, 1.0)) ** 2

        carry = slot.state, self.teacher.init(Oracle(problem_class, slot.problem), start)
        (state, _), misses = jax.lax.scan(body, carry, jnp.arange(self.length))
        return Segment(jnp.mean(misses), state, ~criterion(problem_class, start, slot.problem))
