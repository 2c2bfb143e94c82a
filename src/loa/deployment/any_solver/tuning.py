"""Tuning a solver of any kind, by Optuna: hopeless settings are stopped before they have seen all instances."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...messages.arguments import as_path, check_type, positive_number
from ...parallel.tasks import check_executor
from ...problems.problem_class import whole_number
from ...trajectory.progress import printed
from .bench import Bench, Task, cost_of
from .external import External
from .measure import listed
from .space import check_names, distributions, inside, words

DOUBTFUL = 0.1
"""A setting is stopped if it is worse than the best by a signed-rank test at this level, on the instances so far."""

REPORTED = 20
"""A line is printed whenever a better setting is found, and after this many."""


class Tried(NamedTuple):
    """A setting that was tried.

    Fields:
        parameters: its values; empty for the solver as it was given.
        cost: its mean over all instances; an estimate if it was stopped.
        instances: how many it has seen.
    """

    parameters: dict[str, Any]
    cost: float
    instances: int


class TunedSolver(NamedTuple):
    """The solver at the best setting that was found.

    Fields:
        solver: the solver at that setting.
        parameters: of the setting; empty if nothing beats the solver as it was given.
        value, default: the mean cost over all instances, at that setting and at the setting that was given.
        tried: all settings in the order in which they were tried, the given one first.
        runs: how many runs it took.
        seconds: how long these took together.
    """

    solver: External
    parameters: dict[str, Any]
    value: float
    default: float
    tried: list[Tried]
    runs: int
    seconds: float

    def __repr__(self) -> str:
        return (
            f"TunedSolver({words(self.parameters) or 'as it was given'}: {self.value:.4g} instead of "
            f"{self.default:.4g}; {len(self.tried)} settings, {self.runs} runs, {self.seconds:.3g} s)"
        )


def tune_solver(
    solver: External,
    instances: Any,
    *,
    timeout: float,
    trials: int = 60,
    most_runs: int | None = None,
    minimize: str = "seconds",
    cap: float | None = None,
    seed: int = 0,
    memory: int | None = None,
    executor: Any = None,
    record: Path | str | None = None,
    progress: bool = False,
) -> TunedSolver:
    """Search the parameters of a solver with the least mean cost over instances.

    The setting that the solver has is tried first, on all instances. Optuna's tree-structured Parzen estimator proposes
    the others. Each sees the same instances, in an order of its own, and is stopped

    - as soon as it cannot be better than the best one: its sum of costs so far exceeds the best sum over all instances.
      Runs are therefore killed as soon as they take longer than what is left of that sum;
    - or when it is worse by a paired test (Wilcoxon's, at level 0.1) on the instances that it has seen.

    Runs that fail or time out count as the time limit. The same seed proposes the same settings only if the same costs
    are measured again, which is true of numbers of iterations, but not of seconds.

    Arguments:
        solver: with a `space`.
        instances: as for `loa.measure`.
        timeout: the largest number of seconds of a run, positive.
        trials: the number of settings, at least 1, the given one among them.
        most_runs: the largest number of runs, after which no further setting is tried; unlimited by default.
        minimize: "seconds", "cpu_seconds", or a number that the solver reports.
        cap: what runs that fail count as, if that is such a number; the timeout for seconds.
        seed: of the proposals.
        memory, executor: as for `loa.measure`.
        record: a file to which each run is written when it ends; the same call resumes to the same result.
        progress: whether to print a line for every better setting, with a bar on a terminal.

    Returns:
        The solver at the best setting, and what was tried.

    >>> solver = External("sort --buffer-size={size} {instance}", {"size": ["1M", "2M"]}, {"size": "1M"})
    >>> len(tune_solver(solver, ["/dev/null"], timeout=20.0, trials=1).tried)
    1
    """
    check_executor(executor)
    check_type("solver", solver, External, "a loa.External with a space")
    check_type("minimize", minimize or None, str, '"seconds", "cpu_seconds" or what the solver reports')
    if most_runs is not None:
        whole_number("most_runs", most_runs)
    space = distributions(solver.space)
    check_names(space, solver.solve)
    clock = minimize in ("seconds", "cpu_seconds")
    if cap is None and not clock:
        raise ValueError(f"runs that fail must count as something: give a cap, the largest number of {minimize}.")
    every = listed(instances)
    largest = positive_number("timeout", timeout) if cap is None else positive_number("cap", cap)
    kept = None if record is None else as_path("record", record)
    with Bench(solver, every, timeout=timeout, memory=memory, executor=executor, record=kept) as bench:
        race = _Race(bench, len(every), minimize, largest, whole_number("seed", seed, least=0))
        return race.through(space, whole_number("trials", trials), most_runs or np.inf, progress)


class _Standing(NamedTuple):
    """Progress of tuning: settings tried, and the best one."""

    step: int
    best: Tried
    minimize: str
    seconds: float

    def __str__(self) -> str:
        setting = words(self.best.parameters) or "as it was given"
        return f"{self.step} settings  best {self.minimize} {self.best.cost:.4g} ({setting})"


class _Race:
    """Settings that are tried one after the other, each against the best so far."""

    def __init__(self, bench: Bench, count: int, minimize: str, cap: float, seed: int):
        self.bench, self.count, self.minimize, self.cap, self.seed = bench, count, minimize, cap, seed
        self.best = np.full(count, np.inf)
        self.runs, self.seconds = 0, 0.0

    def through(self, space: Mapping[str, Any], trials: int, most_runs: float, progress: bool) -> TunedSolver:
        """All trials; the first is the setting that the solver has."""
        import optuna

        solver, begun = self.bench.solver, time.monotonic()
        with _quiet(optuna), printed(progress, "tuning", trials) as report:
            study = optuna.create_study(
                sampler=optuna.samplers.TPESampler(seed=self.seed, n_startup_trials=min(10, max(2, trials // 4))),
                pruner=optuna.pruners.WilcoxonPruner(p_threshold=DOUBTFUL),
            )
            first = self._costs({}, np.arange(self.count))
            known = inside(solver.defaults(), space)
            given = optuna.trial.create_trial(
                params=known, distributions={name: space[name] for name in known}, value=float(first.mean()),
                intermediate_values=dict(enumerate(first.tolist())),
            )  # fmt: skip
            study.add_trial(given)
            leader = Tried({}, float(first.mean()), self.count)
            self.best, tried = first, [leader]
            while len(tried) < trials and self.runs < most_runs:
                trial = study.ask(dict(space))
                found = self._raced(trial, len(tried))
                study.tell(trial, found.cost)
                tried.append(found)
                better = found.instances == self.count and found.cost < leader.cost
                leader = found if better else leader
                if better or len(tried) % REPORTED == 0:
                    report(_Standing(len(tried), leader, self.minimize, time.monotonic() - begun))
        chosen, value = leader.parameters, leader.cost
        return TunedSolver(solver.at(**chosen), chosen, value, float(first.mean()), tried, self.runs, self.seconds)

    def _raced(self, trial: Any, number: int) -> Tried:
        """One setting, on more and more instances until it is hopeless or has seen them all."""
        order = np.random.default_rng([self.seed, number]).permutation(self.count)
        costs = np.full(self.count, np.nan)
        for places in _blocks(order):
            left = float(self.best.sum() - np.nansum(costs))
            costs[places] = self._costs(trial.params, places, left)
            for place in places:
                trial.report(float(costs[place]), int(place))
            seen = ~np.isnan(costs)
            if not seen.all() and (costs[seen].sum() > self.best.sum() or trial.should_prune()):
                return Tried(trial.params, self._estimate(costs, seen), int(seen.sum()))
        if costs.sum() < self.best.sum():
            self.best = costs
        return Tried(trial.params, float(costs.mean()), self.count)

    def _estimate(self, costs: np.ndarray, seen: np.ndarray) -> float:
        """The mean cost of a setting that was stopped: as much above the best as it was on what it has seen."""
        ratio = costs[seen].sum() / max(float(self.best[seen].sum()), 1e-300)
        return float(self.best.mean() * max(ratio, 1.0 + 1e-9)) if np.isfinite(ratio) else self.cap

    def _costs(self, parameters: Mapping[str, Any], places: np.ndarray, left: float = np.inf) -> np.ndarray:
        """Costs on some instances; runs that take longer than what is left count as somewhat more than that."""
        by_clock = self.minimize == "seconds" and left < self.bench.timeout
        limit = max(left, 1e-3) if by_clock else None
        runs = self.bench.run([Task(int(place), parameters, timeout=limit) for place in places])
        self.runs += len(runs)
        self.seconds += sum(run.seconds for run in runs)
        return np.array([cost_of(run, self.minimize, self.cap if limit is None else 1.01 * limit) for run in runs])


def _blocks(order: np.ndarray) -> Iterator[np.ndarray]:
    """Parts of 1, 1, 2, 4, 8, … instances."""
    ends = [0, 1]
    while ends[-1] < len(order):
        ends.append(min(2 * ends[-1], len(order)))
    for begin, end in itertools.pairwise(ends):
        yield order[begin:end]


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Optuna says neither what it tries nor which of its parts are experimental."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)
