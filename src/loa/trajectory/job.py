"""A job: which trajectories are to be run, what happens in a step of one, and what is kept of it."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Int8, Key, Scalar, UInt32

from ..algorithms.algorithm import Algorithm
from ..problems import gaps
from ..problems.criterion import Criterion
from ..problems.oracle import Calls
from ..problems.per_problem import smoothness_of
from ..problems.problem_class import ProblemClass
from ..problems.programs.quadratic_programs import Program, own_arrays
from ..storage.checkpoint import fingerprint, recognizable
from .functionals import End, Functional, Record
from .walk import Moment, Walk, trajectory_key


class Slot(eqx.Module):
    """One trajectory in flight; the engine holds a stack of them."""

    item: Int[Array, ""]
    key_data: UInt32[Array, ...]
    algorithm: Algorithm | None
    problem: Any
    smoothness: Scalar | None
    program: Program | None
    state: Any
    calls: Calls
    folds: tuple[Any, ...]
    time: Int[Array, ""]
    stopping_time: Int[Array, ""]
    finite: Bool[Array, ""]
    impossible: Int8[Array, ""]
    active: Bool[Array, ""]

    @property
    def moment(self) -> Moment:
        return Moment(self.time, self.state, self.calls)


OUTCOMES = ("solved", "exhausted", "diverged", "infeasible", "unbounded")
"""How a trajectory can end: the criterion is met, the horizon is reached, loss or point are no longer numbers, or a
quadratic program is found to have no feasible point, or no finite minimum."""


class Outcome(NamedTuple):
    """What is kept of a trajectory that has ended."""

    solved: Any
    diverged: Any
    impossible: Any
    values: tuple[Any, ...]

    @property
    def words(self) -> np.ndarray:
        """How each trajectory ended, in a word."""
        found = [self.solved, self.diverged, self.impossible == 1, self.impossible == 2]
        return np.select(found, [OUTCOMES[0], *OUTCOMES[2:]], OUTCOMES[1])


class Job(eqx.Module):
    """Everything that stays fixed while trajectories run: what to run on what, and what to measure.

    A trajectory is known by its item number, which runs through (candidate, problem, replicate) in that order. If its
    steps ask for the smoothness constant of the problem, it is computed when the trajectory begins, and kept. So are
    the arrays of a quadratic program.
    """

    algorithms: Algorithm
    common: Algorithm | None
    problem_class: ProblemClass
    problems: Any
    indices: Int[Array, " problem"]
    key: Key[Array, ""]
    criterion: Criterion
    functionals: tuple[Functional, ...]
    horizon: Int[Array, ""] = eqx.field(converter=lambda steps: jnp.asarray(steps, jnp.int32))
    num_candidates: int | None = eqx.field(static=True)
    replicates: int = eqx.field(static=True)
    keeps_smoothness: bool = eqx.field(static=True, default=False)
    starts: Any = None
    """Where trajectories are warm-started: a stack of points, one for each problem."""

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.num_candidates or 1, self.indices.shape[0], self.replicates

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def first_problem(self) -> Any:
        return jax.tree.map(lambda leaf: leaf[0], self.problems)

    @property
    def steps(self) -> int:
        return max((functional.steps for functional in self.functionals), default=0)

    def begin(self, item: Int[Array, ""]) -> Slot:
        """The slot of a trajectory at time 0. Items past the end give a slot that is not active."""
        candidate, number, replicate = jnp.unravel_index(jnp.minimum(item, self.size - 1), self.shape)
        stacked = self.num_candidates is not None
        own = _take(self.algorithms, candidate) if stacked else self.algorithms
        algorithm = _together(own, self.common)
        problem = _take(self.problems, number)
        key = trajectory_key(self.key, self.indices[number], replicate)
        smoothness = jnp.asarray(smoothness_of(self.problem_class, problem)) if self.keeps_smoothness else None
        program = own_arrays(self.problem_class, problem)
        walk = self._walk(algorithm, problem, smoothness, program)
        moment = walk.begin(key) if self.starts is None else walk.begin_at(_take(self.starts, number), key)
        record = walk.look(moment)
        folds = tuple(functional.init(record) for functional in self.functionals)
        return Slot(
            item=jnp.asarray(item, jnp.int32),
            key_data=jax.random.key_data(key),
            algorithm=eqx.filter(own, eqx.is_array) if stacked else None,
            problem=problem,
            smoothness=smoothness,
            program=program,
            state=moment.state,
            calls=moment.calls,
            folds=folds,
            time=moment.time,
            stopping_time=jnp.asarray(-1, jnp.int32),
            finite=jnp.asarray(True),
            impossible=jnp.zeros((), jnp.int8),
            active=item < self.size,
        )

    def advance(self, slot: Slot) -> Slot:
        """Look at the current state; if the trajectory has not ended with it, make one step.

        Looking and stepping are in one body so that what both need, such as the gradient, is computed once. The state
        of a trajectory that has ended is never used again, so it may change: to hold it would cost a pass over it.
        """
        walk = self._walk(self.algorithm_of(slot), slot.problem, slot.smoothness, slot.program)
        record = walk.look(slot.moment)
        sound = is_sound(record.gap(gaps.loss), record.iterate)
        finite = sound | walk.algorithm.recovers(slot.state)
        unsolved = slot.stopping_time < 0
        solved_now = unsolved & sound & record.gap(self.criterion)
        stopping_time = jnp.where(solved_now, slot.time, slot.stopping_time)
        folds = tuple(
            where((slot.time > 0) & (unsolved | (slot.time <= functional.steps)), functional.update(fold, record), fold)
            for functional, fold in zip(self.functionals, slot.folds, strict=True)
        )
        solved = stopping_time >= 0
        continues = finite & (slot.time < self.horizon) & ~(solved & (slot.time >= self.steps))

        key = jax.random.wrap_key_data(slot.key_data, impl=jax.random.key_impl(self.key))
        after = walk.step(slot.moment, key, record=record, running=slot.active & continues)
        impossible = self._impossible(walk, record, after)
        continues &= impossible == 0
        looked = (folds, stopping_time, finite)
        folds, stopping_time, finite = where(slot.active, looked, (slot.folds, slot.stopping_time, slot.finite))
        return dataclasses.replace(
            slot,
            state=after.state,
            calls=after.calls,
            folds=folds,
            time=slot.time + (slot.active & continues),
            stopping_time=stopping_time,
            finite=finite,
            impossible=jnp.where(slot.active, impossible, slot.impossible),
            active=slot.active & continues,
        )

    def _impossible(self, walk: Walk, record: Record, after: Moment) -> Int8[Array, ""]:
        """0, or the number of the reason for which a problem is now known to have no solution."""
        problem_class: Any = walk.problem_class
        if not hasattr(problem_class, "impossible"):
            return jnp.zeros((), jnp.int8)
        ahead = walk.look(after)
        move = gaps.difference(ahead.iterate, record.iterate)
        slopes = [each.problem_class.gradient(each.iterate, each.problem) for each in (ahead, record)]
        slope = gaps.difference(*slopes)
        return problem_class.impossible(move, slope, record.problem)

    def _walk(self, algorithm: Algorithm, problem: Any, smoothness: Scalar | None, program: Program | None) -> Walk:
        walk = Walk(algorithm, self.problem_class, problem)
        walk = walk if smoothness is None else walk.knowing(smoothness)
        return walk if program is None else walk.knowing_program(program)

    def outcome(self, slot: Slot) -> Outcome:
        """What a trajectory that has ended amounts to."""
        solved = slot.stopping_time >= 0
        end = End(slot.time, solved, slot.finite, slot.stopping_time, self.horizon, slot.impossible)
        results = zip(self.functionals, slot.folds, strict=True)
        values = tuple(functional.result(fold, end) for functional, fold in results)
        return Outcome(end.solved, end.diverged, end.impossible, values)

    def algorithm_of(self, slot: Slot) -> Algorithm:
        return _together(slot.algorithm, self.common, self.algorithms)

    def identity(self) -> str | None:
        """A fingerprint of all that determines the results: arrays, and the text of what is computed with them.

        None if that cannot be told.
        """

        def one(job: Job, item: Any) -> tuple[Slot, Outcome]:
            slot = job.advance(job.begin(item))
            return slot, job.outcome(slot)

        compiled: Any = eqx.filter_jit(one)
        program = compiled.lower(self, np.int32(0)).as_text()
        return fingerprint(self, program) if recognizable(program) else None


def _together(*parts: Any) -> Algorithm:
    """An algorithm from its own parameters, those it has in common with others, and the rest, where there are such."""
    return eqx.combine(*(part for part in parts if part is not None))


def _take(tree: Any, index: Int[Array, ""]) -> Any:
    return jax.tree.map(lambda leaf: leaf[index] if eqx.is_array(leaf) else leaf, tree)


def is_sound(loss: Scalar, x: Any) -> Bool[Array, ""]:
    """Whether a trajectory has not diverged: its loss is a number or +∞, as outside a set, and its point is finite."""
    finite = [jnp.all(jnp.isfinite(part)) for part in jax.tree.leaves(x)]
    return ~(jnp.isnan(loss) | jnp.isneginf(loss)) & jnp.all(jnp.stack(finite))


def where(condition: Bool[Array, ""], chosen: Any, otherwise: Any) -> Any:
    return jax.tree.map(lambda new, old: jnp.where(condition, new, old), chosen, otherwise)
