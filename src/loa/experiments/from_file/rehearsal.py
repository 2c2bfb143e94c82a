"""A rehearsal of an experiment, before anything is learned: on shapes, and on a few sample problems."""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...algorithms import ProximalGradient
from ...algorithms.algorithm import Algorithm
from ...problems import coincidences, gaps
from ...problems.criterion import Criterion, loss_below
from ...problems.problem_class import OPTIONAL, ProblemClass
from ...problems.vector_points import dtype_of
from ...trajectory.compatibility import check_compatible
from ...trajectory.optimal_losses import with_optimal_losses
from ..experiment import Experiment, Learn, LearningSetup
from .agreement import check_forms, check_numbers

SAMPLE = 64
"""The number of sample problems."""


def rehearse(experiment: Experiment) -> None:
    """Refuse an experiment that cannot work, or whose results would mean nothing.

    Without drawing a problem: class, criterion, functionals and every baseline fit together. On sample problems: they
    differ, their losses at the start are finite, and not all of them are solved there.

    Arguments:
        experiment: what is to be run.
    """
    task = experiment.task
    check_problem_class(task.problem_class)
    for name, algorithm in task.baselines.items():
        try:
            _check_fit(algorithm, experiment)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name!r} in `baselines` does not work on the problems: {error}") from error
    if not task.baselines:
        _check_fit(_simplest(task.problem_class), experiment)
    _check_problems(task.problem_class, task.criterion)


def check_problem_class(problem_class: ProblemClass) -> None:
    """Refuse a class whose methods have other arguments than they should, or do not fit together."""
    for method in ("sample", "loss", "start", *filter(problem_class.has, OPTIONAL)):
        _check_signature(problem_class, method)
    check_compatible(_Standing(), problem_class, criterion=loss_below(1.0), horizon=1)
    _check_precision(problem_class)
    check_forms(problem_class)
    if problem_class.has("prox"):
        check_compatible(_simplest(problem_class), problem_class, criterion=loss_below(1.0), horizon=1)
    _check_purity(problem_class)


def check_learn(learn: Any) -> None:
    """Refuse anything but a function of one argument."""
    if not callable(learn):
        raise ValueError(f"`learn` must be a function of the learning setup, got {learn!r}.")
    if not _takes(learn, 1):
        raise ValueError("`learn` must take one argument, the learning setup: write `def learn(setup):`.")


def returns_an_algorithm(learn: Learn) -> Learn:
    """The same way of learning, which immediately refuses what is no algorithm or does not work on the problems."""

    @functools.wraps(learn)
    def checked(setup: LearningSetup) -> Algorithm:
        learned = learn(setup)
        if not isinstance(learned, Algorithm):
            raise ValueError(f"`learn` must return an instance of loa.Algorithm, got {learned!r}.")
        try:
            _check_fit(learned, setup.experiment)
        except (TypeError, ValueError) as error:
            raise ValueError(f"what `learn` returns does not work on the problems: {error}") from error
        return learned

    return checked


def _check_fit(algorithm: Algorithm, experiment: Experiment) -> None:
    task = experiment.task
    criterion, horizon, functionals = task.criterion, task.horizon, tuple(task.functionals)
    check_compatible(algorithm, task.problem_class, criterion=criterion, horizon=horizon, functionals=functionals)


def _simplest(problem_class: ProblemClass) -> Algorithm:
    """An algorithm that works on every class of this kind."""
    return ProximalGradient(1.0) if problem_class.has("prox") else _Standing()


class _Standing(Algorithm):
    """The algorithm that stays at the start and asks for nothing."""

    def init(self, oracle: Any, x0: Any) -> Any:
        return x0

    def step(self, oracle: Any, state: Any, key: Any) -> Any:
        return state

    def iterate(self, state: Any) -> Any:
        return state


def _check_signature(problem_class: ProblemClass, method: str) -> None:
    wanted = list(inspect.signature(getattr(ProblemClass, method)).parameters)
    name, found = f"{type(problem_class).__name__}.{method}", getattr(problem_class, method)
    write = f"write `def {method}({', '.join(wanted)}):`"
    if method == "constraint" and not callable(found):
        return
    if not callable(found):
        raise ValueError(f"{name} must be a method, got {found!r}: {write}.")
    if not _takes(found, len(wanted) - 1):
        raise ValueError(f"{name} must take {', '.join(wanted)}: {write}.")
    swapped = [each for each, own in zip(wanted[1:], _names(found), strict=False) if own in wanted and own != each]
    if swapped:
        raise ValueError(f"{name} has its arguments in another order than loa gives them: {write}.")


def _names(function: Any) -> list[str]:
    """What a function calls its arguments, as far as it tells."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _takes(function: Any, count: int) -> bool:
    """Whether a function can be called with this many arguments; functions that do not tell are believed."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def _check_precision(problem_class: ProblemClass) -> None:
    """Refuse a loss of another precision than its points, which algorithms cannot carry from step to step."""

    def at_start(problem: Any) -> Any:
        x = jax.tree.map(jnp.asarray, problem_class.start(problem, jax.random.key(0)))
        return x, problem_class.loss(x, problem)

    point, loss = jax.eval_shape(at_start, _problem(problem_class))
    if dtype_of(point) != loss.dtype:
        name = type(problem_class).__name__
        raise ValueError(
            f"{name}.start returns {dtype_of(point)}, but {name}.loss there is {loss.dtype}: let points and problems "
            f"have one type, for example by `.astype(jnp.{loss.dtype})` in `start`."
        )


def _check_purity(problem_class: ProblemClass) -> None:
    """Refuse a class that draws different problems from one key, as np.random or a counter would make it do."""
    for method, arguments in (("sample", ()), ("start", (_problem(problem_class),))):
        first, second = (_program(problem_class, method, arguments) for _ in range(2))
        if first != second:
            raise ValueError(
                f"{type(problem_class).__name__}.{method} gives different results for one and the same key: use "
                "jax.random with the key, and not np.random, whose numbers stay fixed once JAX has traced the function."
            )


def _problem(problem_class: ProblemClass) -> Any:
    return jax.eval_shape(lambda key: jax.tree.map(jnp.asarray, problem_class.sample(key)), jax.random.key(0))


def _program(problem_class: ProblemClass, method: str, arguments: tuple[Any, ...]) -> tuple[str, list[bytes]]:
    """What a method computes, as text without addresses, and the constants in it."""
    traced = jax.make_jaxpr(lambda *given: getattr(problem_class, method)(*given))(*arguments, jax.random.key(0))
    constants = [np.asarray(each).tobytes() for each in traced.consts if not _is_key(each)]
    return re.sub(r"0x[0-9a-f]+", "", str(traced.jaxpr)), constants


def _is_key(value: Any) -> bool:
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def _check_problems(problem_class: ProblemClass, criterion: Criterion) -> None:
    name, key = type(problem_class).__name__, jax.random.key(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what draws warn of is an error here
        problems = problem_class.draw(key, problem_class.at_most(SAMPLE))
    copies = None if problem_class.finite else coincidences.explained(name, problems)
    if copies is not None:
        raise ValueError(copies)
    for number in range(SAMPLE):
        problem_class.check_numbers(jax.tree.map(lambda leaf, number=number: leaf[number], problems))
    check_numbers(problem_class, problems)
    if any(threshold.gap is gaps.loss_gap for threshold in criterion.thresholds()):
        problems = with_optimal_losses(problem_class, problems)
    losses, solved = (np.asarray(each) for each in _at_start(problem_class, criterion, problems))
    if not np.isfinite(losses).any() and not (problem_class.has("constraint") and np.isposinf(losses).any()):
        raise ValueError(
            f"{name}.loss is {losses[0]} at the start of all of {len(losses)} sample problems: start where it is "
            "finite."
        )
    if solved.all():
        raise ValueError(
            f"{name}.start is already a solution of all of {len(losses)} sample problems, as `criterion` "
            f"({criterion!r}) is met there: choose a smaller tolerance, or start elsewhere."
        )


@eqx.filter_jit
def _at_start(problem_class: ProblemClass, criterion: Criterion, problems: Any) -> Any:
    def one(problem: Any) -> Any:
        x = jax.tree.map(jnp.asarray, problem_class.start(problem, jax.random.key(0)))
        return problem_class.loss(x, problem), criterion(problem_class, x, problem)

    return jax.vmap(one)(problems)
