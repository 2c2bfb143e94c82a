"""Solve many problems: their solutions, with what each of them took."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm, Stack
from ..algorithms.randomized import randomized
from ..messages.arguments import outline
from ..parallel.tasks import check_executor
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass, count_problems
from ..problems.vector_points import Form
from ..storage.resuming import Evaluations, as_evaluations
from ..trajectory.best_point import Answer, BestPoint, settled
from ..trajectory.checks import check_arguments, warn_of_bad_numbers
from ..trajectory.devices import Device, run_job
from ..trajectory.job import OUTCOMES, Job
from ..trajectory.kernels import in_precision_of_problems
from .solution import Solutions


def solve(
    algorithm: Algorithm | Stack,
    problem_class: ProblemClass,
    problems: Any,
    *,
    criterion: Criterion,
    horizon: int,
    key: Key[Array, ""],
    start: Any = None,
    width: int | None = None,
    devices: Sequence[Device] | None = None,
    executor: Any = None,
    checkpoints: Evaluations | Path | str | None = None,
    progress: bool = False,
) -> Solutions:
    """Solve many problems with one algorithm, and return their solutions.

    The trajectories are those of `loa.evaluate` with the same key: they end when the criterion is met, at the horizon,
    or when the loss is no longer finite. For each problem the best point is kept. For one problem at a time, with a
    latency of microseconds, there is `loa.Solver`.

    Arguments:
        algorithm: one algorithm; or a stack with weights, from which one is drawn for each problem (`loa.randomized`).
        problem_class: the class of the problems.
        problems: a stack of problems, from `problem_class.draw` or your own.
        criterion: when a problem counts as solved.
        horizon: the largest number of steps, at least 1.
        key: a PRNG key, for random starts and algorithms.
        start: points to start from, stacked along the axis of the problems; by default those of the class.
        width: the number of problems that are solved in parallel, at least 1. Chosen automatically by default.
        devices: the devices among which problems are divided; by default all devices of the default backend.
        executor: workers that solve chunks of problems, as in `loa.evaluate`.
        checkpoints: a directory. Progress is saved there; the same call resumes, with the same result.
        progress: whether to show a progress bar on a terminal, or elsewhere a line every few minutes.

    Returns:
        The solutions, in the order of the problems: `x`, `outcome`, `steps`, `loss`, `gap` and `calls`.

    >>> import loa
    >>> parabolas, problems = loa.problems.RunningExample(), jnp.array([1.0, 2.0])
    >>> loa.solve(loa.GradientDescent(0.5), parabolas, problems, criterion=loa.gap_below(1e-6), horizon=100,
    ...           key=jax.random.key(0))
    Solutions(2: 2 solved)
    >>> _.steps.tolist()
    [10, 1]
    """
    functionals, chosen = check_arguments(
        algorithm, problem_class, problems, criterion, horizon, key, [BestPoint(criterion)], 1, width, devices
    )
    check_executor(executor)
    count = count_problems(problems)
    one = randomized(algorithm) if isinstance(algorithm, Stack) else algorithm
    job = Job(
        in_precision_of_problems(one, problem_class, problems),
        None,
        problem_class,
        jax.tree.map(jnp.asarray, problems),
        jnp.arange(count, dtype=jnp.int32),
        key,
        criterion,
        functionals,
        int(horizon),
        None,
        1,
        starts=None if start is None else starts_for(problem_class, problems, start),
    )
    _, ended, seconds = run_job(job, width, chosen, as_evaluations(checkpoints), progress, executor)
    warn_of_bad_numbers(job, ended.diverged)
    answer: Any = jax.tree.map(lambda leaf: leaf[0, :, 0], ended.values[0])
    if np.isposinf(answer.loss).any():
        answer = jax.tree.map(np.asarray, _settled(answer, problem_class, criterion, job.problems))
    words = np.asarray(OUTCOMES)[answer.outcome]
    by = np.full(count, "algorithm")
    return Solutions(answer.x, words, answer.steps, answer.loss, answer.gap, answer.calls, by, seconds)


@eqx.filter_jit
def _settled(answers: Answer, problem_class: ProblemClass, criterion: Criterion, problems: Any) -> Answer:
    """The answers with their points moved into the sets of a prox; a batch of them together, to bound memory."""
    pairs = jax.tree.map(jnp.asarray, (answers, problems))
    return jax.lax.map(lambda pair: settled(pair[0], problem_class, criterion, pair[1]), pairs, batch_size=256)


def starts_for(problem_class: ProblemClass, problems: Any, start: Any) -> Any:
    """Points to start from as arrays of the right type; refused unless there is one of the right form per problem."""
    count = count_problems(problems)
    first = jax.tree.map(lambda leaf: leaf[0], problems)
    form = eqx.filter_eval_shape(problem_class.start, first, jax.random.key(0))
    shapes = Form(jax.tree.structure(form), tuple((count, *leaf.shape) for leaf in jax.tree.leaves(form)))
    if Form.of(start) != shapes:
        raise ValueError(f"start must be a stack of {count} points of shape {outline(form)}, got {outline(start)}.")
    return jax.tree.map(lambda leaf, like: jnp.asarray(leaf, like.dtype), start, form)
