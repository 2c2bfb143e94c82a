"""Compiled programs that solve one problem: all of it in one call, or a number of steps at a time."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Key

from ..algorithms.algorithm import Algorithm
from ..messages.waiting import waiting_for
from ..problems.criterion import Criterion
from ..problems.oracle import Calls
from ..problems.problem_class import ProblemClass
from ..trajectory.best_point import Answer, BestPoint, settled
from ..trajectory.checks import warn_of_precision
from ..trajectory.compatibility import check_job
from ..trajectory.engine import SMALL_SLOT, UNSPLIT_SUMS
from ..trajectory.job import Job, Slot
from ..trajectory.kernels import in_precision
from ..trajectory.walk import start_key, trajectory_key
from .inputs import Shapes
from .solution import OUTCOMES, Solution

LATE = OUTCOMES.index("late")


class Program:
    """An algorithm compiled for one problem of given shapes.

    What is called are functions of plain lists of arrays, in the order of the leaves of problem and point, which cost
    microseconds to call. The steps are those of `loa.solve`.

    Arguments:
        algorithm, problem_class, criterion, horizon, key: as for `loa.solve`.
        problem: the shapes of a problem, and an example of one.
        point: the shapes of a point.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        problem_class: ProblemClass,
        criterion: Criterion,
        horizon: int,
        key: Key[Array, ""],
        problem: Shapes,
        point: Shapes,
    ):
        self.problem, self.point, self.horizon = problem, point, horizon
        stack = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], problem.example)
        self._job = Job(
            in_precision(algorithm, point.dtype), None, problem_class, stack, jnp.zeros(1, jnp.int32), key, criterion,
            (BestPoint(criterion),), horizon, None, 1,
        )  # fmt: skip
        slot_bytes, keeps_smoothness = check_job(self._job)
        warn_of_precision(self._job)
        self._job = dataclasses.replace(self._job, keeps_smoothness=keeps_smoothness)
        options = UNSPLIT_SUMS if slot_bytes <= SMALL_SLOT else None
        leaves, self._structure = jax.tree.flatten(jax.eval_shape(self._begun, problem.forms, point.forms, False))
        steps = jax.ShapeDtypeStruct((), jnp.int32)
        given = jax.ShapeDtypeStruct((), jnp.bool_)
        with waiting_for(f"the compilation of {type(algorithm).__name__} on {type(problem_class).__name__}"):
            self._solve = _compiled(self.whole, options, *problem.forms, *point.forms, given)
            self._begin = _compiled(self._first, options, *problem.forms, *point.forms, given)
            self._continue = _compiled(self._some_steps, options, *leaves, steps)
        self._no_start = [jnp.zeros(form.shape, form.dtype) for form in point.forms]
        self._yes, self._no = jnp.asarray(True), jnp.asarray(False)
        self._pace = self._measured()

    def __call__(self, problem: list[Any], start: list[Any] | None, deadline: float = math.inf) -> Solution:
        """Solve a problem; `deadline` is a time of `time.perf_counter`."""
        arguments = (*problem, *(start or self._no_start), self._no if start is None else self._yes)
        if deadline == math.inf:
            return self._solution(self._solve(*arguments))
        return self._until(deadline, arguments)

    def _until(self, deadline: float, arguments: tuple[Any, ...]) -> Solution:
        """Make the steps that fit into half of the remaining time, again and again, until it is over."""
        found, slot = jax.block_until_ready(self._begin(*arguments))
        pace, now = self._pace, time.perf_counter()
        while _is_late(found) and now < deadline:
            steps = max(1, min(self.horizon + 1, int(0.5 * (deadline - now) / pace)))
            found, slot = jax.block_until_ready(self._continue(*slot, np.int32(steps)))
            before, now = now, time.perf_counter()
            pace = max((now - before) / steps, 1e-9)
        return self._solution(found)

    def _measured(self) -> float:
        """The seconds that a step takes at most, measured by making the first one of the example a few times."""
        problem = [jnp.asarray(leaf) for leaf in jax.tree.leaves(self.problem.example)]
        durations = []
        for _ in range(3):
            _, slot = jax.block_until_ready(self._begin(*problem, *self._no_start, self._no))
            before = time.perf_counter()
            jax.block_until_ready(self._continue(*slot, np.int32(1)))
            durations.append(time.perf_counter() - before)
        return max(min(durations), 1e-9)

    def whole(self, *arrays: Any) -> list[Any]:
        """The solution of a problem as a list of arrays; this is what `solver.export` writes to a file."""
        return self._look(self._advanced(self._begun(*self._parted(arrays)), self.horizon + 1))

    def _first(self, *arrays: Any) -> tuple[list[Any], list[Any]]:
        slot = self._begun(*self._parted(arrays))
        return self._look(slot), jax.tree.leaves(slot)

    def _some_steps(self, *arrays: Any) -> tuple[list[Any], list[Any]]:
        slot = self._advanced(jax.tree.unflatten(self._structure, arrays[:-1]), arrays[-1])
        return self._look(slot), jax.tree.leaves(slot)

    def _parted(self, arrays: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
        count = len(self.problem.forms)
        return arrays[:count], arrays[count:-1], arrays[-1]

    def _begun(self, problem: Any, start: Any, given: Any) -> Slot:
        tree, key = self.problem.tree(problem), trajectory_key(self._job.key, 0)

        def usual() -> Any:
            return jax.tree.map(jnp.asarray, self._job.problem_class.start(tree, start_key(key)))

        x0 = jax.lax.cond(given, lambda: self.point.tree(start), usual)
        problems, starts = jax.tree.map(lambda leaf: leaf[None], (tree, x0))
        return dataclasses.replace(self._job, problems=problems, starts=starts).begin(jnp.zeros((), jnp.int32))

    def _advanced(self, slot: Slot, steps: Any) -> Slot:
        """The slot after at most this many steps."""
        last = slot.time + steps

        def unfinished(slot: Slot) -> Bool[Array, ""]:
            return slot.active & (slot.time < last)

        return jax.lax.while_loop(unfinished, lambda slot: self._job.advance(slot), slot)

    def _look(self, slot: Slot) -> list[Any]:
        """What is known of a problem now, as a list of arrays."""
        job, found = self._job, self._job.outcome(slot).values[0]
        answer: Answer = settled(found, job.problem_class, job.criterion, slot.problem)
        outcome = jnp.where(slot.active, LATE, answer.outcome)
        numbers = jnp.stack([answer.loss] if answer.gap is None else [answer.loss, answer.gap])
        return [*jax.tree.leaves(answer.x), numbers, jnp.stack([outcome, answer.steps, *answer.calls])]

    def _solution(self, found: list[Any]) -> Solution:
        *x, numbers, counts = found
        outcome, steps, *calls = np.asarray(counts).tolist()
        loss, *gap = np.asarray(numbers).tolist()
        point = self.point.tree([np.array(leaf) for leaf in x])
        return Solution(point, OUTCOMES[outcome], steps, loss, gap[0] if gap else None, Calls._make(calls))


def _is_late(found: list[Any]) -> bool:
    return np.asarray(found[-1])[0] == LATE


def _compiled(function: Callable[..., Any], options: Any, *forms: Any) -> Callable[..., Any]:
    return jax.jit(function).lower(*forms).compile(compiler_options=options)
