"""The deployed algorithm and the baselines on problems that nothing else has seen."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..algorithms.algorithm import Algorithm
from ..architectures.in_words import family_of
from ..experiments.experiment import Experiment
from ..problems.problem_class import ProblemClass
from ..problems.role import Role, own_key
from ..statistics.quantiles import rank
from ..statistics.timing import best_in_turn
from ..trajectory.evaluation import evaluate
from ..trajectory.kernels import evolution
from ..trajectory.optimal_losses import with_optimal_losses
from .directory import RunDirectory
from .over_log import OverLog, over_log

if TYPE_CHECKING:
    import xarray

DENSE = 100
"""The evolution of the gap is kept at each of this many first steps, and at as many later times."""

TIMING = 60.0
"""About how many seconds are spent on timing the algorithms again."""

LARGE = 2**14
"""Numbers in a problem from which on problems are not faster together, and each takes seconds."""

STATISTICS = ("mean", "median", "low", "high")


class Examined(NamedTuple):
    """Values by algorithm on the test problems, those of the deployed one on others, and examples to look at.

    Fields:
        by_algorithm: for each algorithm, the values of all functionals and the outcome, (problem, replicate), the
            evolution of the gap, (time, statistic), and the milliseconds per problem.
        times: at which steps the gap was kept.
        features: the numbers that describe the problems, by name.
        more_tests: values of the deployed algorithm on problems of other classes.
        pictures: examples to look at.
        families: the class of each algorithm.
        over_log: stopping times on all instances of a log, if problems come from one.
    """

    by_algorithm: Mapping[str, Mapping[str, np.ndarray]]
    times: np.ndarray
    features: Mapping[str, np.ndarray]
    more_tests: Mapping[str, Mapping[str, np.ndarray]]
    pictures: xarray.Dataset | None = None
    families: Mapping[str, str] = {}
    over_log: OverLog | None = None


def examine(experiment: Experiment, algorithms: Mapping[str, Algorithm], seed: int, place: RunDirectory) -> Examined:
    """Everything the figures and tables of a run show."""
    problems = experiment.draw(Role.test, seed, optimal_losses=True)
    shown = jax.tree.map(lambda leaf: leaf[: experiment.presentation.shown], problems)
    times = _times(experiment.horizon)

    def on_test_problems(algorithm: Algorithm) -> dict[str, Any]:
        values = _values(experiment, experiment.problem_class, algorithm, problems, place.evaluations, place.executor)
        return values | {"gap": _gap(experiment, algorithm, shown, times, place)}

    by_algorithm = {
        name: place.arrays(f"test of {name}", lambda algorithm=algorithm: on_test_problems(algorithm))
        for name, algorithm in algorithms.items()
    }
    by_algorithm = _timed_again(experiment, algorithms, problems, by_algorithm, place)
    more = {
        name: place.arrays(name, lambda make=make: _on_others(experiment, make(), algorithms["learned"], seed, place))
        for name, make in experiment.presentation.more_tests.items()
    }
    draw_pictures = experiment.presentation.pictures
    pictures = None
    if draw_pictures is not None:
        pictures = place.data("pictures", lambda: draw_pictures(experiment, algorithms, shown, place.evaluations))
    families = {name: family_of(algorithm) for name, algorithm in algorithms.items()}
    along = over_log(experiment, algorithms, seed, place)
    return Examined(by_algorithm, times, _features(problems), more, pictures, families, along)


def _timed_again(
    experiment: Experiment, algorithms: Mapping[str, Algorithm], problems: Any, values: Mapping[str, Any],
    place: RunDirectory,
) -> dict[str, Any]:  # fmt: skip
    """The same values, with all algorithms timed again in turn, on fewer problems if all would take too long."""
    enough = int(1e3 * TIMING / sum(float(each["milliseconds"]) for each in values.values()))
    count = max(1, min(enough, experiment.sizes["test"]))
    some = jax.tree.map(lambda leaf: leaf[:count], problems)

    def milliseconds(name: str, rounds: Iterator[int]) -> float:
        attempt = place.file(f"timing of {name}, {next(rounds)}", "")  # for checkpoints that no other attempt finds

        def measure() -> float:
            return _values(experiment, experiment.problem_class, algorithms[name], some, attempt)["milliseconds"]

        return place.number(attempt, measure)

    def timed() -> dict[str, Any]:
        runs = {name: partial(milliseconds, name, itertools.count(1)) for name in algorithms}
        return {"milliseconds": list(best_in_turn(runs, 1e3 * TIMING / count).values())}

    found = place.arrays("timing", timed)["milliseconds"]
    return {name: values[name] | {"milliseconds": each} for name, each in zip(algorithms, found, strict=True)}


def _values(
    experiment: Experiment, problem_class: ProblemClass, algorithm: Algorithm, problems: Any, checkpoints: Path,
    executor: Any = None,
) -> dict[str, Any]:  # fmt: skip
    performance = evaluate(
        algorithm,
        problem_class,
        problems,
        criterion=experiment.criterion,
        horizon=experiment.horizon,
        key=jax.random.key(0x7E57),
        functionals=experiment.functionals,
        executor=executor,
        checkpoints=checkpoints,
        progress=True,
    )
    milliseconds = 1e3 * performance.seconds / performance.outcome.size
    return {**performance.values, "outcome": performance.outcome, "milliseconds": milliseconds}


def _on_others(
    experiment: Experiment, problem_class: ProblemClass, algorithm: Algorithm, seed: int, place: RunDirectory
) -> dict[str, Any]:
    """The deployed algorithm on problems of another class, as many as there are test problems shown."""
    problems = problem_class.draw(own_key(seed, 0x0DD), experiment.presentation.shown)
    problems = with_optimal_losses(problem_class, problems)
    return _values(experiment, problem_class, algorithm, problems, place.evaluations)


def _gap(
    experiment: Experiment, algorithm: Algorithm, problems: Any, times: np.ndarray, place: RunDirectory
) -> np.ndarray:
    """Mean, median and the band that holds 95% of the problems, by (time, statistic)."""
    numbers = sum(leaf[0].size for leaf in jax.tree.leaves(problems))
    gap = evolution(
        algorithm, experiment.problem_class, problems, gap=experiment.task.gap, horizon=experiment.horizon,
        key=jax.random.key(0x7E57), batch=32 if numbers <= LARGE else 1, checkpoints=place.evaluations,
    )[:, times]  # fmt: skip
    gap = np.where(np.isfinite(gap), gap, np.inf)
    ordered = np.sort(gap, axis=0)
    low, median, high = (ordered[rank(len(ordered), level) - 1] for level in (0.025, 0.5, 0.975))
    return np.stack([gap.mean(axis=0), median, low, high], axis=-1)


def _times(horizon: int) -> np.ndarray:
    """Every step at first, then steps at equal ratios: fast algorithms are done where slow ones have hardly begun."""
    early, late = np.arange(min(horizon, DENSE) + 1), np.geomspace(min(horizon, DENSE), horizon, DENSE)
    return np.unique(np.concatenate([early, np.round(late).astype(int)]))


def _features(problems: Any) -> dict[str, np.ndarray]:
    """The numbers that a problem is described by: its leaves that are scalars."""
    leaves = jax.tree_util.tree_leaves_with_path(problems)
    scalars = {path: np.asarray(leaf) for path, leaf in leaves if leaf.ndim == 1 and jnp.issubdtype(leaf, jnp.number)}
    return {jax.tree_util.keystr(path, simple=True, separator=" ") or "θ": leaf for path, leaf in scalars.items()}
