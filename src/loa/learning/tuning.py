"""Tuning: the best parameters of a classical method for a problem class, from sample problems."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Scalar

from ..algorithms.algorithm import Algorithm, stack
from ..problems.arguments import any_number, check_callable, check_type, is_number, shown
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass, check_key, count_problems, whole_number
from ..problems.waiting import waiting_for
from ..problems.warning import warn
from ..statistics import measures
from ..storage.resuming import as_evaluations
from ..trajectory.checks import check_algorithm, check_functionals, check_setting
from ..trajectory.evaluation import evaluate
from ..trajectory.functionals import End, Functional, StoppingTime
from ..trajectory.kernels import in_precision_of_problems
from ..trajectory.progress import printed
from ..trajectory.walk import Walk, trajectory_key

Objective = Callable[[np.ndarray], float]


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
        functional, measure: what is optimized, such as `measure=lambda values: loa.measures.quantile(values, 0.95)`.
        maximize: for measures of which more is better, such as the probability of success.
        start: a setting to try first, such as the usual one; the middle of each range that it does not name.
        candidates: the number of settings in a round, at least 1.
        rounds: the number of rounds, at least 1.
        replicates: trajectories per problem, for random algorithms and starts.
        checkpoints: a directory, as in `loa.evaluate`; the same call resumes a search that was killed.
        progress: whether to print a line per round.

    Returns:
        `Tuned`: the best algorithm, its parameters, and all settings that were tried.

    >>> from loa import GradientDescent, distance_below
    >>> from loa.problems import RunningExample
    >>> example = RunningExample()
    >>> tuned = tune(GradientDescent, {"step_size": (0.01, 0.2)}, example, example.draw(jax.random.key(0), 100),
    ...              criterion=distance_below(1e-3), horizon=500, key=jax.random.key(1))
    >>> 0.15 < tuned.parameters["step_size"] < 0.18
    True
    """
    intervals = _checked(space)
    check_setting(problem_class, criterion, horizon, key)
    count_problems(problems)
    check_callable("measure", measure, "a function of values such as loa.measures.mean")
    whole_number("replicates", replicates)
    candidates, rounds = whole_number("candidates", candidates), whole_number("rounds", rounds)
    functional = StoppingTime() if functional is None else functional
    check_functionals([functional])
    options = dict(criterion=criterion, horizon=horizon, key=key, functionals=[functional], replicates=replicates)
    options |= dict(checkpoints=as_evaluations(checkpoints))

    def objective(algorithms: list[Algorithm]) -> list[float]:
        values = _evaluate_each(algorithms, problem_class, problems, options)
        return [float(measure(value[functional.name])) for value in values]

    sign, started = -1.0 if maximize else 1.0, time.perf_counter()
    best, best_value, tried = _first_position(intervals, {} if start is None else start), math.inf, []
    with printed(progress, "tuning", rounds) as report:
        for number in range(rounds):
            positions = _positions(best, 3.0**-number, candidates, number)
            settings = [_setting(intervals, position) for position in positions]
            found = objective([_made(algorithm_factory, setting) for setting in settings])
            tried += zip(settings, found, strict=True)
            signed = [math.inf if math.isnan(value) else sign * value for value in found]
            winner = int(np.argmin(signed))
            if signed[winner] < best_value:
                best, best_value = positions[winner], signed[winner]
            report(Round(number + 1, len(tried), functional.name, sign * best_value, time.perf_counter() - started))
    if not math.isfinite(best_value):
        raise ValueError(f"no setting in this space gives a finite {functional.name}: choose another space or a cap.")
    parameters = _setting(intervals, best)
    _warn_at_the_edge(intervals, best)
    return Tuned(algorithm_factory(**parameters), parameters, sign * best_value, tried)


def tune_by_gradient(
    algorithm_factory: Callable[..., Algorithm],
    space: Mapping[str, Interval | tuple[float, float]],
    problem_class: ProblemClass,
    problems: Any,
    *,
    functional: Functional,
    horizon: int,
    key: Key[Array, ""],
    start: Mapping[str, float] | None = None,
    iterations: int = 100,
) -> Tuned:
    """Find the parameters that minimize the mean of a differentiable functional, by gradients through the trajectory.

    L-BFGS minimizes it over exactly `horizon` steps. This suits functionals such as `Gap(step=k)` or
    `ContractionFactor`; a stopping time has no useful derivative.

    Arguments:
        algorithm_factory, space: as in `loa.tune`.
        functional: what is minimized.
        horizon: the number of steps.
        start: where the search begins; the middle of each range that it does not name.
        iterations: the largest number of iterations of L-BFGS.

    Returns:
        `Tuned`: the best algorithm, its parameters, and all settings that were tried.
    """
    from scipy import optimize

    check_key(key)
    check_functionals([functional])
    check_type("problem_class", problem_class, ProblemClass, "an instance of a loa.ProblemClass")
    count_problems(problems)
    whole_number("iterations", iterations)
    if functional.steps > whole_number("horizon", horizon):
        raise ValueError(f"{functional.name} needs {functional.steps} steps, but the horizon is {horizon}.")
    intervals = _checked(space)
    tried: list[tuple[dict[str, float], float]] = []

    @jax.jit
    def objective(position: Float[Array, " parameter"]) -> Scalar:
        setting = {name: i.at(p) for (name, i), p in zip(intervals.items(), position, strict=True)}
        algorithm = _made(algorithm_factory, setting)
        return _mean_after(algorithm, problem_class, problems, functional, horizon, key)

    slope = jax.jit(jax.value_and_grad(objective))

    def value_and_slope(position: np.ndarray) -> tuple[float, np.ndarray]:
        with waiting_for(f"the gradient of {functional.name} through {horizon} steps"):
            value, gradient = jax.block_until_ready(slope(jnp.asarray(position)))
        tried.append((_setting(intervals, position), float(value)))
        return float(value), np.asarray(gradient, float)

    first = _first_position(intervals, {} if start is None else start)
    value, gradient = value_and_slope(first)
    if not (math.isfinite(value) and np.isfinite(gradient).all()):
        raise ValueError(f"{functional.name} is {value} at {_setting(intervals, first)}: start elsewhere with start=….")
    if not np.any(gradient):
        raise ValueError(f"{functional.name} has no derivative by {', '.join(intervals)}: use loa.tune instead.")
    options = {"maxiter": iterations, "ftol": 1e-15, "gtol": 1e-10}
    found = optimize.minimize(
        value_and_slope, first, jac=True, bounds=[(0.0, 1.0)] * len(first), method="L-BFGS-B", options=options
    )
    if not math.isfinite(found.fun):
        raise ValueError(f"{functional.name} became {found.fun} on the way: choose a smaller space or another start.")
    parameters = _setting(intervals, found.x)
    _warn_at_the_edge(intervals, found.x)
    return Tuned(algorithm_factory(**parameters), parameters, float(found.fun), tried)


def _mean_after(algorithm, problem_class, problems, functional: Functional, horizon: int, key) -> Scalar:
    """Mean of a functional over trajectories of a fixed length, differentiable by the algorithm."""
    algorithm = in_precision_of_problems(algorithm, problem_class, problems)

    def one(index: Any, problem: Any) -> Scalar:
        walk, own_key = Walk(algorithm, problem_class, problem), trajectory_key(key, index)

        def body(carry: Any, _: None) -> tuple[Any, None]:
            moment, fold = carry
            moment = walk.step(moment, own_key)
            return (moment, functional.update(fold, walk.record(moment))), None

        first = walk.begin(own_key)
        (_, fold), _ = jax.lax.scan(body, (first, functional.init(walk.record(first))), length=horizon)
        time = jnp.asarray(horizon)
        return functional.result(fold, End(time, jnp.asarray(False), jnp.asarray(True), time, horizon))

    return jnp.mean(jax.vmap(one)(jnp.arange(count_problems(problems)), problems))


def _evaluate_each(algorithms: list[Algorithm], problem_class: ProblemClass, problems: Any, options: Any) -> list[Any]:
    """Values of each algorithm, from one evaluation, or from one after the other if they cannot be stacked."""
    try:
        together = stack(algorithms)
    except ValueError:
        return [evaluate(algorithm, problem_class, problems, **options).values for algorithm in algorithms]
    values = evaluate(together, problem_class, problems, **options).values
    return [{name: value[index] for name, value in values.items()} for index in range(len(algorithms))]


def _checked(space: Mapping[str, Interval | tuple[float, float]]) -> dict[str, Interval]:
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


def _made(algorithm_factory: Callable[..., Algorithm], setting: Mapping[str, Any]) -> Algorithm:
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


def _positions(center: np.ndarray, width: float, count: int, seed: int) -> np.ndarray:
    """Low-discrepancy points of the unit cube in a box of this width around the center, which comes first."""
    from scipy.stats import qmc

    power = max(0, math.ceil(math.log2(count)))
    points = qmc.Sobol(len(center), rng=seed).random_base2(power)[:count]
    corner = np.clip(center - width / 2, 0.0, 1.0 - width)
    points = corner + width * points
    points[0] = center
    return points


def _setting(intervals: Mapping[str, Interval], position: np.ndarray) -> dict[str, float]:
    return {name: float(interval.at(p)) for (name, interval), p in zip(intervals.items(), position, strict=True)}


def _first_position(intervals: Mapping[str, Interval], start: Mapping[str, float]) -> np.ndarray:
    """Where to begin in the unit cube: in the middle of each range that no start is given for."""
    check_type("start", start, Mapping, "a dict of values by parameter")
    unknown = set(start) - set(intervals)
    if unknown:
        raise ValueError(f"start names {', '.join(sorted(unknown))}, but the parameters are {', '.join(intervals)}.")
    positions = []
    for name, (low, high, logarithmic) in intervals.items():
        value = start.get(name)
        if value is not None and not low <= any_number(f"the start of {name}", value) <= high:
            raise ValueError(f"the start of {name}, {value}, lies outside of its range from {low} to {high}.")
        if value is None:
            positions.append(0.5)
        else:
            positions.append(
                math.log(value / low) / math.log(high / low) if logarithmic else (value - low) / (high - low)
            )
    return np.array(positions)


def _warn_at_the_edge(intervals: Mapping[str, Interval], position: np.ndarray) -> None:
    for (name, interval), p in zip(intervals.items(), position, strict=True):
        if p < 1e-3 or p > 1 - 1e-3:
            value = interval.at(p)
            warn(f"the best {name}, {value:.4g}, lies at the edge of its range: widen it.")
