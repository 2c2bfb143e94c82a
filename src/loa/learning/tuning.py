"""Tuning: the best parameters of a classical method for a problem class, from sample problems."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm, stack
from ..messages.arguments import any_number, check_callable, check_type, is_number, shown
from ..messages.warning import warn
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass, count_problems, whole_number
from ..statistics import measures
from ..storage.resuming import as_evaluations
from ..trajectory.checks import check_algorithm, check_functionals, check_setting
from ..trajectory.evaluation import evaluate
from ..trajectory.functionals import Functional, StoppingTime
from ..trajectory.progress import printed

Objective = Callable[[np.ndarray], float]

Space = Mapping[str, "Interval | tuple[float, float]"]
"""The range of each parameter."""


class Interval(NamedTuple):
    """The range of a parameter, searched evenly, or evenly in its logarithm."""

    low: float
    high: float
    logarithmic: bool = False

    def at(self, position: Any) -> Any:
        """The value at a position between 0 and 1."""
        if self.logarithmic:
            return self.low * (self.high / self.low) ** position
        return self.low + (self.high - self.low) * position

    def position(self, value: float) -> float:
        """The position of a value; those outside of the range are at its ends."""
        if self.logarithmic:
            position = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            position = (value - self.low) / (self.high - self.low)
        return min(max(position, 0.0), 1.0)


class Tuned(NamedTuple):
    """The best algorithm found, its parameters, the objective on the training problems, and all that was tried."""

    algorithm: Algorithm
    parameters: dict[str, float]
    value: float
    tried: list[tuple[dict[str, float], float]]


class Round(NamedTuple):
    """Progress of tuning: rounds made, settings tried, and the best objective found."""

    step: int
    tried: int
    functional: str
    value: float
    seconds: float

    def __str__(self) -> str:
        return f"round {self.step}, {self.tried} settings  best {self.functional.replace('_', ' ')} {self.value:.4g}"


def tune(
    algorithm_factory: Callable[..., Algorithm],
    space: Mapping[str, Interval | tuple[float, float]],
    problem_class: ProblemClass,
    problems: Any,
    *,
    criterion: Criterion,
    horizon: int,
    key: Key[Array, ""],
    functional: Functional | None = None,
    measure: Objective = measures.mean,
    maximize: bool = False,
    start: Mapping[str, float] | None = None,
    candidates: int = 64,
    rounds: int = 5,
    replicates: int = 1,
    executor: Any = None,
    checkpoints: Path | str | None = None,
    progress: bool = False,
) -> Tuned:
    """Search the parameters with the best measure of a functional; by default the mean stopping time.

    The search uses no derivatives. Each round evaluates `candidates` points of a low-discrepancy sequence, in a box
    around the best point so far that is a third as wide as the last one. Every candidate sees the same problems and the
    same randomness.

    Arguments:
        algorithm_factory: makes an algorithm from parameters given by keyword, such as `loa.HeavyBall`.
        space: the range of each parameter: `(low, high)` or `loa.learning.Interval(low, high, logarithmic=True)`.
        problem_class, problems, criterion, horizon, key: as for `loa.evaluate`; the problems are those to learn from.
        functional, measure: what is optimized, such as `measure=lambda values: loa.measures.quantile(values, 0.95)`.
        maximize: for measures of which more is better, such as the probability of success.
        start: a setting to try first, such as the usual one; the middle of each range that it does not name.
        candidates: the number of settings in a round, at least 1.
        rounds: the number of rounds, at least 1.
        replicates: trajectories per problem, for random algorithms and starts.
        executor: workers that run chunks of problems, as in `loa.evaluate`.
        checkpoints: a directory, as in `loa.evaluate`; the same call resumes a search that was killed.
        progress: whether to print a line per round.

    Returns:
        `Tuned`: the best algorithm, its parameters, and all settings that were tried.

    >>> import jax
    >>> from loa import GradientDescent, distance_below
    >>> from loa.problems import RunningExample
    >>> example = RunningExample()
    >>> tuned = tune(GradientDescent, {"step_size": (0.01, 0.2)}, example, example.draw(jax.random.key(0), 100),
    ...              criterion=distance_below(1e-3), horizon=500, key=jax.random.key(1))
    >>> 0.15 < tuned.parameters["step_size"] < 0.18
    True
    """
    intervals = checked_space(space)
    check_setting(problem_class, criterion, horizon, key)
    count_problems(problems)
    check_callable("measure", measure, "a function of values such as loa.measures.mean")
    whole_number("replicates", replicates)
    candidates, rounds = whole_number("candidates", candidates), whole_number("rounds", rounds)
    functional = StoppingTime() if functional is None else functional
    check_functionals([functional])
    options = dict(criterion=criterion, horizon=horizon, key=key, functionals=[functional], replicates=replicates)
    options |= dict(executor=executor, checkpoints=as_evaluations(checkpoints))

    def objective(algorithms: list[Algorithm]) -> list[float]:
        values = _evaluate_each(algorithms, problem_class, problems, options)
        return [float(measure(value[functional.name])) for value in values]

    sign, started = -1.0 if maximize else 1.0, time.perf_counter()

    def signed(algorithms: list[Algorithm]) -> list[float]:
        return [sign * value for value in objective(algorithms)]

    with printed(progress, "tuning", rounds) as report:

        def after_round(number: int, tried: int, value: float) -> None:
            report(Round(number, tried, functional.name, sign * value, time.perf_counter() - started))

        found = search(algorithm_factory, intervals, signed, start or {}, candidates, rounds, after_round)
    if not math.isfinite(found.value):
        raise ValueError(f"no setting in this space gives a finite {functional.name}: choose another space or a cap.")
    warn_at_the_edge(intervals, found.parameters)
    return found._replace(value=sign * found.value, tried=[(setting, sign * value) for setting, value in found.tried])


def search(
    algorithm_factory: Callable[..., Algorithm],
    space: Space,
    objective: Callable[[list[Algorithm]], list[float]],
    start: Mapping[str, float],
    candidates: int,
    rounds: int,
    after_round: Callable[[int, int, float], None] = lambda number, tried, value: None,
) -> Tuned:
    """The search of `tune`, for any objective of a list of algorithms; the smallest value is the best."""
    intervals = checked_space(space)
    best, best_value, tried = first_position(intervals, start), math.inf, []
    for number in range(rounds):
        positions = positions_around(best, 3.0**-number, candidates, number)
        settings = [setting_at(intervals, position) for position in positions]
        found = objective([made_by(algorithm_factory, setting) for setting in settings])
        tried += zip(settings, found, strict=True)
        numbers = [math.inf if math.isnan(value) else value for value in found]
        winner = int(np.argmin(numbers))
        if numbers[winner] < best_value:
            best, best_value = positions[winner], numbers[winner]
        after_round(number + 1, len(tried), best_value)
    parameters = setting_at(intervals, best)
    return Tuned(algorithm_factory(**parameters), parameters, best_value, tried)


def _evaluate_each(algorithms: list[Algorithm], problem_class: ProblemClass, problems: Any, options: Any) -> list[Any]:
    """Values of each algorithm, from one evaluation, or from one after the other if they cannot be stacked."""
    try:
        together = stack(algorithms)
    except ValueError:
        return [evaluate(algorithm, problem_class, problems, **options).values for algorithm in algorithms]
    values = evaluate(together, problem_class, problems, **options).values
    return [{name: value[index] for name, value in values.items()} for index in range(len(algorithms))]


def checked_space(space: Mapping[str, Interval | tuple[float, float]]) -> dict[str, Interval]:
    check_type("space", space, Mapping, "a dict of ranges, such as {'step_size': (0.01, 0.1)}")
    if not space:
        raise ValueError("the space to search has no parameters.")
    intervals = {name: _interval(name, ends) for name, ends in space.items()}
    for name, (low, high, logarithmic) in intervals.items():
        finite = all(is_number(end) and math.isfinite(end) for end in (low, high))
        if not (finite and low < high and (low > 0 or not logarithmic)):
            kind = "0 < low < high" if logarithmic else "low < high"
            raise ValueError(f"the range of {name} must have {kind}, got {shown(low)} to {shown(high)}.")
    return intervals


def _interval(name: str, ends: Any) -> Interval:
    """Refuse what is not the range of a parameter."""
    if not (isinstance(name, str) and isinstance(ends, tuple | list) and 2 <= len(ends) <= 3):
        raise TypeError(f"the range of {shown(name)} must be a pair (low, high) or an Interval, got {shown(ends)}.")
    return Interval(*ends)


def made_by(algorithm_factory: Callable[..., Algorithm], setting: Mapping[str, Any]) -> Algorithm:
    """The algorithm with these parameters."""
    check_callable("algorithm_factory", algorithm_factory, "a function or class such as loa.GradientDescent")
    try:
        inspect.signature(algorithm_factory).bind(**setting)
    except TypeError as error:
        raise TypeError(f"algorithm_factory does not accept the parameters of the space: {error}.") from error
    except ValueError:
        pass  # a callable without a signature
    algorithm = algorithm_factory(**setting)
    check_algorithm("what algorithm_factory makes", algorithm)
    return algorithm


def positions_around(center: np.ndarray, width: float, count: int, seed: int) -> np.ndarray:
    """Low-discrepancy points of the unit cube in a box of this width around the center, which comes first."""
    from scipy.stats import qmc

    power = max(0, math.ceil(math.log2(count)))
    points = qmc.Sobol(len(center), rng=seed).random_base2(power)[:count]
    corner = np.clip(center - width / 2, 0.0, 1.0 - width)
    points = corner + width * points
    points[0] = center
    return points


def setting_at(intervals: Mapping[str, Interval], position: np.ndarray) -> dict[str, float]:
    return {name: float(interval.at(p)) for (name, interval), p in zip(intervals.items(), position, strict=True)}


def first_position(intervals: Mapping[str, Interval], start: Mapping[str, float]) -> np.ndarray:
    """Where to begin in the unit cube: in the middle of each range that no start is given for."""
    check_type("start", start, Mapping, "a dict of values by parameter")
    unknown = set(start) - set(intervals)
    if unknown:
        raise ValueError(f"start names {', '.join(sorted(unknown))}, but the parameters are {', '.join(intervals)}.")
    positions = []
    for name, interval in intervals.items():
        value = start.get(name)
        if value is None:
            positions.append(0.5)
            continue
        rounding = 1e-12 * max(abs(interval.low), abs(interval.high))
        if not interval.low - rounding <= any_number(f"the start of {name}", value) <= interval.high + rounding:
            raise ValueError(
                f"the start of {name}, {value}, lies outside of its range from {interval.low} to {interval.high}."
            )
        positions.append(interval.position(value))
    return np.array(positions)


def warn_at_the_edge(intervals: Mapping[str, Interval], parameters: Mapping[str, float]) -> None:
    """Warn of each parameter that lies at the edge of its range."""
    for name, interval in intervals.items():
        position = interval.position(parameters[name])
        if position < 1e-3 or position > 1 - 1e-3:
            warn(f"the best {name}, {parameters[name]:.4g}, lies at the edge of its range: widen it.")
