"""What is looked at before trajectories are run: clear refusals, and how much memory a trajectory takes."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Scalar

from .algorithms.algorithm import Algorithm, Stack
from .engine import Job
from .functionals import Functional
from .kernels import initial, transition
from .problems.criterion import Criterion
from .problems.problem_class import check_key, count_problems


def check_arguments(
    algorithm: Any,
    problems: Any,
    criterion: Any,
    horizon: Any,
    key: Any,
    functionals: tuple[Functional, ...],
    replicates: Any,
) -> int:
    """Refuse arguments that make no sense by themselves; return the number of problems."""
    check_key(key)
    for name, number in {"horizon": horizon, "replicates": replicates}.items():
        if number != int(number) or number < 1:
            raise ValueError(f"{name} must be a whole number and at least 1, got {number}.")
    if not isinstance(algorithm, Algorithm | Stack):
        raise TypeError(f"algorithm must be a loa.Algorithm or a loa.Stack, got {algorithm!r}.")
    if not isinstance(criterion, Criterion):
        raise TypeError(f"criterion must be a loa.Criterion such as loa.loss_below(1e-6), got {criterion!r}.")
    names = [functional.name for functional in functionals]
    if len(set(names)) < len(names):
        raise ValueError(f"functionals must have different names, got {', '.join(names)}; give them name=….")
    for functional in functionals:
        if functional.steps > horizon:
            raise ValueError(f"{functional.name} needs {functional.steps} steps, but the horizon is {horizon}.")
    return count_problems(problems)


@lru_cache(maxsize=64)
def check_job(job: Job) -> int:
    """Refuse a job whose parts do not fit together; return how many bytes a slot takes.

    The job holds shapes in the place of arrays, so each combination is looked at once.
    """
    eqx.filter_eval_shape(_check_problem_class, job)
    eqx.filter_eval_shape(_check_algorithm, job)
    slot = eqx.filter_eval_shape(lambda job: job.begin(jnp.zeros((), jnp.int32)), job)
    jaxpr = eqx.filter_make_jaxpr(lambda job, slot: job.advance(slot))(job, slot)[0].jaxpr
    return sum(_bytes(leaf) for leaf in jax.tree.leaves(slot)) + _largest_array(jaxpr)


def _check_problem_class(job: Job) -> None:
    name = type(job.problem_class).__name__
    problem = jax.tree.map(lambda leaf: leaf[0], job.problems)
    x0 = job.problem_class.start(problem, job.key)
    if not eqx.is_inexact_array(x0):
        raise TypeError(f"{name}.start must return one floating-point array, got {x0!r}.")
    try:
        loss = job.problem_class.loss(x0, problem)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}.loss fails at the point of shape {x0.shape} that {name}.start returns: {error}"
        ) from error
    if not (eqx.is_inexact_array(loss) and loss.shape == ()):
        raise ValueError(f"{name}.loss must return a floating-point scalar, but at the start it is {_show(loss)}.")
    gradient = job.problem_class.gradient(x0, problem)
    if gradient.shape != x0.shape:
        raise ValueError(
            f"{name}.start returns a point of shape {x0.shape}, but {name}.gradient there has shape {gradient.shape}."
        )


def _check_algorithm(job: Job) -> None:
    algorithm = job.algorithms
    if job.num_candidates is not None:
        algorithm = jax.tree.map(lambda leaf: leaf[0] if eqx.is_array(leaf) else leaf, algorithm)
    name = type(algorithm).__name__
    problem = jax.tree.map(lambda leaf: leaf[0], job.problems)
    x0 = job.problem_class.start(problem, job.key)
    state, _ = initial(algorithm, job.problem_class, problem, job.key)
    after = transition(algorithm, job.problem_class, problem, state, job.key)
    if jax.tree.map(_show, state) != jax.tree.map(_show, after):
        raise ValueError(
            f"{name}.step must return a state like the one it was given: {jax.tree.map(_show, state)}, "
            f"got {jax.tree.map(_show, after)}."
        )
    x = algorithm.iterate(state)
    if _show(x) != _show(x0):
        raise ValueError(f"{name}.iterate must return a point like the start, {_show(x0)}, got {_show(x)}.")


def _show(value: Any) -> str:
    """Type and shape in short, such as float64[200]."""
    return f"{value.dtype}{list(value.shape)}" if hasattr(value, "dtype") else repr(value)


def warn_of_precision(job: Job) -> None:
    """Warn of a criterion that floating-point numbers of the class cannot resolve."""
    for threshold, gap in zip(job.criterion.thresholds(), _gaps_at_start(job), strict=True):
        resolution = float(jnp.finfo(gap.dtype).eps) * max(1.0, abs(float(gap)))
        if threshold.tolerance < resolution:
            warnings.warn(
                f"the criterion {threshold!r} is below what {gap.dtype} resolves (about {resolution:.0e} here), so it "
                "may never be met: use float64 (jax.config.update('jax_enable_x64', True)) or a larger tolerance.",
                stacklevel=3,
            )


@eqx.filter_jit
def _gaps_at_start(job: Job) -> list[Scalar]:
    problem = jax.tree.map(lambda leaf: leaf[0], job.problems)
    x0 = job.problem_class.start(problem, job.key)
    return [threshold.gap(job.problem_class, x0, problem) for threshold in job.criterion.thresholds()]


def _largest_array(jaxpr: Any) -> int:
    """Bytes of the largest array computed anywhere in a jaxpr."""
    largest = 0
    for equation in jaxpr.eqns:
        largest = max([largest, *(_bytes(variable.aval) for variable in equation.outvars)])
        for parameter in jax.tree.leaves(equation.params, is_leaf=lambda leaf: hasattr(leaf, "jaxpr")):
            inner = getattr(parameter, "jaxpr", parameter)
            if hasattr(inner, "eqns"):
                largest = max(largest, _largest_array(inner))
    return largest


def _bytes(array: Any) -> int:
    return int(np.prod(array.shape)) * getattr(array.dtype, "itemsize", 8)
