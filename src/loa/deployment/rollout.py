"""Sequences of problems that follow each other, as in a closed loop: each is warm-started by the one before."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from ..algorithms.algorithm import Algorithm
from ..certificates.names import SEQUENCE
from ..messages.arguments import outline
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass, count_problems, whole_number
from ..trajectory.best_point import BestPoint
from ..trajectory.checks import check_algorithm, check_arguments
from ..trajectory.devices import Device, run_job
from ..trajectory.evaluation import Performance, counted_up, described
from ..trajectory.functionals import Functional, StoppingTime
from ..trajectory.job import Job
from ..trajectory.kernels import in_precision_of_problems
from ..trajectory.walk import start_key, trajectory_key
from .solve import starts_for

NEXT = 0x2E87
"""The number that keeps the keys of following problems apart from those of trajectories."""


def rollout(
    algorithm: Algorithm,
    problem_class: ProblemClass,
    problems: Any,
    *,
    criterion: Criterion,
    horizon: int,
    length: int,
    key: Key[Array, ""],
    functionals: Sequence[Functional] = (StoppingTime(),),
    warm: bool | Callable[[Any], Any] = True,
    width: int | None = None,
    devices: Sequence[Device] | None = None,
) -> Performance:
    """Measure an algorithm along sequences of problems, in which each solution leads to the next problem.

    The class says by `next(problem, x, key)` which problem follows when the solution x is put to use. Each problem is
    solved as by `loa.solve`, from the solution of the one before. Functionals are measured on every problem as usual.
    Problems of the same sequence depend on each other, sequences do not: a certificate is about the mean along a
    sequence, and counts as many samples as there are sequences.

    Arguments:
        algorithm: one algorithm.
        problem_class: a class of problems that defines `next`.
        problems: a stack of problems, with which the sequences begin.
        criterion, horizon, functionals, width, devices: as for `loa.evaluate`.
        length: the number of problems in each sequence, at least 1.
        key: a PRNG key.
        warm: whether problems are started at the solution before; if not, each one is started as the class says. A
            function of that solution gives the start instead, such as one that shifts a plan by a step.

    Returns:
        The values of all functionals, with the axes (sequence, place in the sequence), as `loa.certify` takes them for
        a mean. For a quantile, certify one number of each sequence, such as the largest.

    >>> import loa
    >>> class Drift(loa.problems.RunningExample):
    ...     def next(self, problem, x, key):
    ...         return 0.9 * problem + 0.1
    >>> setting = dict(criterion=loa.gap_below(1e-6), horizon=100, length=4, key=jax.random.key(1))
    >>> loa.rollout(loa.GradientDescent(0.5), Drift(), jnp.array([1.0, 1.5]), **setting)["stopping_time"].shape
    (2, 4)
    """
    check_algorithm("algorithm", algorithm)
    measured, chosen = check_arguments(
        algorithm, problem_class, problems, criterion, horizon, key, functionals, 1, width, devices
    )
    problems, count = jax.tree.map(jnp.asarray, problems), count_problems(problems)
    _check_next(problem_class, problems)
    job = Job(
        in_precision_of_problems(algorithm, problem_class, problems), None, problem_class, problems,
        jnp.arange(count, dtype=jnp.int32), key, criterion, (*measured, BestPoint(criterion)), int(horizon), None, 1,
    )  # fmt: skip
    parts, outcomes, seconds, x, first = [], [], 0.0, None, problems
    for place in range(whole_number("length", length)):
        own_key = jax.random.fold_in(key, place)
        start = _starts(problem_class, problems, x, warm, job.indices, own_key)
        job = dataclasses.replace(
            job, problems=problems, key=own_key, starts=starts_for(problem_class, problems, start)
        )
        _, ended, spent = run_job(job, width, chosen, None, False)
        *values, answer = jax.tree.map(lambda leaf: leaf[0, :, 0], ended.values)
        parts, outcomes, seconds, x = [*parts, values], [*outcomes, ended.words[0, :, 0]], seconds + spent, answer.x
        problems = _following(problem_class, problems, x, job.indices, own_key)
    columns = (np.stack(each, axis=1) for each in zip(*parts, strict=True))
    values = {functional.name: column for functional, column in zip(measured, columns, strict=True)}
    caps = {functional.name: functional.largest(int(horizon)) for functional in measured}
    units = {functional.name: functional.unit for functional in measured}
    about = described(algorithm, problem_class, first, criterion, int(horizon))
    about |= {SEQUENCE: str(length)} if length > 1 else {}
    outcome, counted = np.stack(outcomes, axis=1), counted_up(measured)
    return Performance(values, outcome, int(horizon), None, seconds, caps, units, about, counted)


def _starts(problem_class: ProblemClass, problems: Any, x: Any, warm: Any, indices: Any, key: Any) -> Any:
    """Where the problems are started: at the solutions before, at what is made of them, or as the class says."""
    if x is None or warm is False:
        return _usual_starts(problem_class, problems, indices, key)
    return x if warm is True else jax.vmap(warm)(x)


@eqx.filter_jit
def _usual_starts(problem_class: ProblemClass, problems: Any, indices: Int[Array, " n"], key: Key[Array, ""]) -> Any:
    def one(problem: Any, index: Int[Array, ""]) -> Any:
        return problem_class.start(problem, start_key(trajectory_key(key, index)))

    return jax.vmap(one)(problems, indices)


@eqx.filter_jit
def _following(
    problem_class: ProblemClass, problems: Any, x: Any, indices: Int[Array, " n"], key: Key[Array, ""]
) -> Any:
    def one(problem: Any, x: Any, index: Int[Array, ""]) -> Any:
        own_key = jax.random.fold_in(jax.random.fold_in(key, NEXT), index)
        after = problem_class.next(problem, x, own_key)
        return jax.tree.map(lambda leaf, like: jnp.asarray(leaf, like.dtype), after, problem)

    return jax.vmap(one)(problems, x, indices)


def _check_next(problem_class: ProblemClass, problems: Any) -> None:
    """Refuse a class without `next`, or whose next problem looks different."""
    first = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), problems)
    x = eqx.filter_eval_shape(problem_class.start, first, jax.random.key(0))
    after = eqx.filter_eval_shape(partial(_after, problem_class), first, x, jax.random.key(0))
    forms = [(jax.tree.structure(each), [leaf.shape for leaf in jax.tree.leaves(each)]) for each in (first, after)]
    if forms[0] != forms[1]:
        raise ValueError(
            f"{type(problem_class).__name__}.next must return a problem like the one before, {outline(first)}, got "
            f"{outline(after)}."
        )


def _after(problem_class: ProblemClass, problem: Any, x: Any, key: Any) -> Any:
    return jax.tree.map(jnp.asarray, problem_class.next(problem, x, key))
