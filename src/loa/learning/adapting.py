"""Learning which parameters suit which problem: a regression from features of problems (section 3.5 of the paper)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from ..algorithms.algorithm import Algorithm, stack
from ..architectures.problem_adaptive import UNUSUAL, ProblemAdaptive, problem_features
from ..problems.criterion import Criterion
from ..problems.oracle import Oracle
from ..problems.problem_class import ProblemClass, count_problems, whole_number
from ..problems.vector_points import VectorPoints, form_of_points
from ..storage.resuming import as_evaluations
from ..trajectory.checks import check_functionals, check_setting
from ..trajectory.evaluation import evaluate
from ..trajectory.functionals import Functional, StoppingTime
from .tuning import Interval, checked_space, first_position, made_by, positions_around, setting_at

SHARPNESS = 20.0
"""On a problem, a setting that costs 5% more than the best one there has 1/e of its weight."""

SAME = 1e-9
"""Features that differ by less than this do not tell problems apart."""

RIDGE = 1e-2
"""The weight of the squared slopes in the regression, relative to the number of problems."""


class Adapted(NamedTuple):
    """The best algorithm found, and its mean cost on the training problems; and the same without adapting."""

    algorithm: ProblemAdaptive
    value: float
    constant: Algorithm
    constant_value: float


def adapt(
    algorithm_factory: Callable[..., Algorithm],
    space: Mapping[str, Interval | tuple[float, float]],
    problem_class: ProblemClass,
    problems: Any,
    *,
    criterion: Criterion,
    horizon: int,
    key: Key[Array, ""],
    functional: Functional | None = None,
    start: Mapping[str, float] | None = None,
    candidates: int = 32,
    rounds: int = 4,
    checkpoints: Path | str | None = None,
) -> Adapted:
    """Learn parameters as a function of the problem: a regression from features of the problem at the start.

    Each round runs `candidates` settings on all problems. On each problem the settings are weighted by how good they
    are there, and a ridge regression from the features of the problems to these settings gives new slopes. The next
    round tries settings around this regression, in a box that is a third as wide. The algorithm with the smallest mean
    of all that were tried is returned. The first round has no slopes, so the result is at least as good as the best
    constant setting of that round.

    Arguments:
        algorithm_factory: makes an algorithm from parameters given by keyword, such as `loa.HeavyBall`. The parameters
            that it sets must be numbers in fields of the algorithm.
        space: the range of each parameter, as in `loa.tune`.
        problem_class, problems, criterion, horizon, key: as for `loa.evaluate`; the problems are those to learn from.
        functional: its mean is made small; the stopping time by default.
        start: the setting to begin with; the middle of each range that it does not name.
        candidates: the number of settings in a round, at least 2.
        rounds: the number of rounds, at least 2.
        checkpoints: a directory, as in `loa.evaluate`.

    Returns:
        `Adapted`: the adaptive algorithm, a `loa.architectures.ProblemAdaptive`, and the best constant setting.

    >>> import loa
    >>> example = loa.problems.RunningExample()
    >>> found = adapt(loa.GradientDescent, {"step_size": Interval(0.02, 2.0, logarithmic=True)}, example,
    ...               example.draw(jax.random.key(0), 50), criterion=loa.distance_below(1e-3), horizon=200,
    ...               key=jax.random.key(1))
    >>> chosen = found.algorithm.chosen_for(loa.Oracle(example, jnp.asarray(4.0)), jnp.asarray(0.0))
    >>> bool(0.24 < chosen.step_size < 0.26)  # that is 1/θ
    True
    """
    check_setting(problem_class, criterion, horizon, key)
    functional = StoppingTime() if functional is None else functional
    check_functionals([functional])
    count_problems(problems)
    candidates, rounds = whole_number("candidates", candidates, 2), whole_number("rounds", rounds, 2)
    intervals = checked_space(space)
    features = features_of(problem_class, problems)
    blank, center = _blank(algorithm_factory, intervals, features), first_position(intervals, start or {})
    unusual = np.clip(np.nan_to_num((features - blank.center) / blank.scale, nan=0.0), -UNUSUAL, UNUSUAL)
    slopes, best, constant = np.zeros(blank.slopes.shape), (math.inf, blank), (math.inf, blank.base)
    for number in range(rounds):
        positions = positions_around(center, 3.0**-number, candidates, number)
        made = [made_by(algorithm_factory, setting_at(intervals, each)) for each in positions]
        tried = [_adaptive(blank, each, slopes) for each in made]
        performance = evaluate(
            stack(tried), problem_class, problems, criterion=criterion, horizon=horizon, key=key,
            functionals=[functional], checkpoints=as_evaluations(checkpoints),
        )  # fmt: skip
        costs = np.nan_to_num(np.asarray(performance[functional.name], float).mean(axis=-1), nan=math.inf)
        solved = np.asarray(performance.outcome == "solved").any(axis=(0, 2))
        winner = int(np.argmin(costs.mean(axis=1)))
        found = float(costs[winner].mean())
        constant = (found, made[winner]) if number == 0 else constant
        best = (found, tried[winner]) if found < best[0] else best
        weights = _weights(costs)[:, solved]
        if solved.any():
            center = np.clip(weights.mean(axis=1) @ positions, 0.0, 1.0)
            slopes += _regressed(weights.T @ np.stack([each.intercepts for each in tried]), unusual[solved])
    return Adapted(best[1], best[0], constant[1], constant[0])


def features_of(problem_class: ProblemClass, problems: Any) -> Float[np.ndarray, "problem k"]:
    """The features of each problem, at the point where the class starts."""
    first = jax.tree.map(lambda leaf: leaf[0], problems)
    vectors = VectorPoints(problem_class, form_of_points(problem_class, first))
    return np.asarray(_features(vectors, problems), float)


@eqx.filter_jit
def _features(problem_class: ProblemClass, problems: Any) -> Float[Array, "problem k"]:
    def one(problem: Any) -> Float[Array, " k"]:
        return problem_features(Oracle(problem_class, problem), problem_class.start(problem, jax.random.key(0)))

    return jax.vmap(one)(problems)


def _blank(
    factory: Callable[..., Algorithm], intervals: Mapping[str, Interval], features: np.ndarray
) -> ProblemAdaptive:
    """An adaptive algorithm that is yet to learn, with the ranges of all parameters that the factory sets."""
    corners = [np.full(len(intervals), 0.5), *np.eye(len(intervals)), np.zeros(len(intervals)), np.ones(len(intervals))]
    made = [made_by(factory, setting_at(intervals, corner)) for corner in corners]
    names = [name for name in _numbers(made[0]) if len({float(getattr(each, name)) for each in made}) > 1]
    if not names:
        raise ValueError(
            f"none of {', '.join(intervals)} sets a number of {type(made[0]).__name__}: nothing can adapt."
        )
    logarithmic = tuple(name in intervals and intervals[name].logarithmic for name in names)
    values = np.array([_predicted(each, names, logarithmic) for each in made])
    finite = np.where(np.isfinite(features), features, np.nan)
    center, scale = _moments(finite)
    return ProblemAdaptive(
        made[0],
        values[0],
        np.zeros((len(names), features.shape[1])),
        names=tuple(names),
        logarithmic=logarithmic,
        lowest=tuple(values.min(axis=0).tolist()),
        highest=tuple(values.max(axis=0).tolist()),
        center=center,
        scale=scale,
    )


def _moments(features: np.ndarray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Averages and standard deviations of features, of those that can be computed."""
    columns = [column[np.isfinite(column)] for column in features.T]
    center = [float(column.mean()) if column.size else 0.0 for column in columns]
    scale = [float(column.std()) if column.size else 0.0 for column in columns]
    return tuple(center), tuple(each if each > SAME else 1.0 for each in scale)


def _numbers(algorithm: Algorithm) -> list[str]:
    """The fields of an algorithm that hold a number which can be learned."""
    names = [field.name for field in dataclasses.fields(algorithm)]
    return [
        name for name in names if eqx.is_inexact_array(getattr(algorithm, name)) and getattr(algorithm, name).ndim == 0
    ]


def _predicted(algorithm: Algorithm, names: Sequence[str], logarithmic: Sequence[bool]) -> np.ndarray:
    """The parameters of an algorithm in the form in which they are predicted."""
    values = [float(getattr(algorithm, name)) for name in names]
    return np.array([math.log(each) if log else each for each, log in zip(values, logarithmic, strict=True)])


def _adaptive(blank: ProblemAdaptive, algorithm: Algorithm, slopes: np.ndarray) -> ProblemAdaptive:
    """The parameters of an algorithm for the average problem, with slopes for the others."""
    intercepts = _predicted(algorithm, blank.names, blank.logarithmic)
    changed = (jnp.asarray(intercepts), jnp.asarray(slopes))
    return eqx.tree_at(lambda each: (each.intercepts, each.slopes), blank, changed)


def _weights(costs: Float[np.ndarray, "candidate problem"]) -> Float[np.ndarray, "candidate problem"]:
    """How much each setting counts on each problem; their sum is 1 there."""
    least = np.maximum(costs.min(axis=0), 1.0)
    weights = np.exp(-SHARPNESS * (costs - costs.min(axis=0)) / least)
    return weights / weights.sum(axis=0)


def _regressed(targets: Float[np.ndarray, "problem p"], unusual: Float[np.ndarray, "problem k"]) -> np.ndarray:
    """The slopes of a ridge regression with an intercept."""
    centered, features = targets - targets.mean(axis=0), unusual - unusual.mean(axis=0)
    ridge = RIDGE * len(features) * np.eye(features.shape[1])
    return np.linalg.solve(features.T @ features + ridge, features.T @ centered).T
