"""What training minimizes: a functional of short segments of trajectories, or the distance to a teacher."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, Scalar

from ..algorithms.algorithm import Algorithm
from ..messages.arguments import shown
from ..problems import gaps
from ..problems.criterion import Criterion
from ..problems.gaps import difference, norm
from ..problems.problem_class import ProblemClass
from ..trajectory.functionals import End, Functional, Record
from ..trajectory.walk import Moment, Walk, segment_step_key


class OneStepContraction(Functional):
    r"""The average factor by which a step changes the gap, the paper's training objective.

    It is the mean over steps of \(v(s^{(t+1)}, \theta) / v(s^{(t)}, \theta)\). Over a single step this is the paper's
    objective; over more steps it is differentiated through all of them.

    Arguments:
        gap: v, one of `loa.gaps` or your own.
        tempered: whether a ratio r above 1 counts as 1 + log r, so that one step that diverges does not outweigh all
            others.
        logarithmic: whether to take the mean of log r instead.
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
        walk = Walk(algorithm, problem_class, slot.problem).knowing()

        def body(carry: Any, time: Int[Array, ""]) -> tuple[Any, None]:
            moment, fold, steps, going = carry
            moment = walk.move(moment, segment_step_key(key, time))
            record = walk.record(moment)
            update = self.functional.update(fold, record)
            fold = jax.tree.map(lambda new, old: jnp.where(going, new, old), update, fold)
            return (moment, fold, steps + going, going & ~record.gap(criterion)), None

        first = Moment.beginning(slot.state)
        record = walk.record(first)
        counts = ~record.gap(criterion)
        carry = first, self.functional.init(record), first.time, counts
        (last, fold, steps, _), _ = jax.lax.scan(body, carry, jnp.arange(self.length))
        end = End(steps, jnp.asarray(False), jnp.asarray(True), steps, self.length)
        return Segment(self.functional.result(fold, end), last.state, counts)


class Imitation(Objective):
    """The squared distance to the points of a teacher that starts where the algorithm is, relative to how far it goes.

    The algorithm learns on its own trajectories, so nothing is asked of its state, and any algorithm can teach.
    """

    teacher: Algorithm
    length: int = eqx.field(static=True, kw_only=True, default=5)

    def __call__(
        self, algorithm: Algorithm, problem_class: ProblemClass, criterion: Criterion, slot: Slot, key: Key[Array, ""]
    ) -> Segment:
        pupil, master = (Walk(each, problem_class, slot.problem).knowing() for each in (algorithm, self.teacher))
        first = pupil.record(Moment.beginning(slot.state))
        start = first.iterate

        def body(carry: Any, time: Int[Array, ""]) -> tuple[Any, Scalar]:
            step_key = segment_step_key(key, time)
            moment, taught = (walk.move(at, step_key) for walk, at in zip((pupil, master), carry, strict=True))
            goal = master.record(taught).iterate
            way = norm(difference(goal, start))
            miss = norm(difference(pupil.record(moment).iterate, goal))
            return (moment, taught), (miss / jnp.where(way > 0, way, 1.0)) ** 2

        carry = Moment.beginning(slot.state), master.begin_at(start, key)
        (last, _), misses = jax.lax.scan(body, carry, jnp.arange(self.length))
        return Segment(jnp.mean(misses), last.state, ~first.gap(criterion))


def as_objective(objective: Objective | Functional | None) -> Objective:
    """Turn the argument `objective` of `loa.train` into an objective.

    Arguments:
        objective: an `Objective`, a functional, or None.

    Returns:
        The objective itself; for a functional, its mean over segments of as many steps as it needs; for None, the
        paper's one-step contraction.

    >>> as_objective(None).length
    1
    """
    if objective is None:
        objective = OneStepContraction()
    if isinstance(objective, Functional):
        objective = OverSegments(objective, length=max(1, objective.steps))
    if not isinstance(objective, Objective):
        raise TypeError(f"objective must be an Objective or a Functional, got {shown(objective)}.")
    return objective
