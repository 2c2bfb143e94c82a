"""Learn an algorithm for an experiment, measure it on unseen problems, and save it with its provenance."""

from __future__ import annotations

import platform
import tempfile
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
from rich.console import Console

from ..algorithms.algorithm import Algorithm
from ..experiments.experiment import Experiment, LearningSetup
from ..messages.percent import percent_seen
from ..messages.waiting import waiting_for
from ..problems.role import Role
from ..statistics.measures import cvar, mean, quantile
from ..statistics.timing import best_in_turn
from ..storage.claim import claimed
from ..storage.provenance import commit, versions
from ..storage.resuming import Evaluations, as_evaluations
from ..storage.saved_algorithms import save
from ..trajectory.evaluation import Performance, evaluate
from ..trajectory.functionals import OracleCalls, StoppingTime
from .durations import Durations

TIMING = 8.0
"""The largest number of seconds for timing the algorithms in turn; a training that is killed repeats no more."""

FIRST = 5
"""The stopping times on this many test problems are noted, so that anyone can check them."""


def train_experiment(setup: LearningSetup, how: str, path: Path, console: Console) -> None:
    """Learn an algorithm, measure it and the baselines on test problems, and save it with its provenance.

    The test problems are drawn only after learning has ended.

    Arguments:
        setup: the experiment, with seed, effort and checkpoints.
        how: which of the experiment's recipes for learning to follow.
        path: the file for the algorithm.
        console: for progress and results.
    """
    with claimed(path.with_name(f".{path.name}.lock"), path):
        _train(setup, how, path, console)


def _train(setup: LearningSetup, how: str, path: Path, console: Console) -> None:
    experiment = setup.experiment
    algorithm, seconds = _learned(setup, how)
    console.print(f"learned {type(algorithm).__name__} in {seconds:.0f} s")
    provenance = _provenance(setup, how, seconds)
    save(path, algorithm, provenance)
    algorithms = {"learned": algorithm, **experiment.baselines}
    measured = measure(experiment, algorithms, setup.seed, setup.evaluations)
    for name, numbers in measured.items():
        console.print(
            f"{name}: mean stopping time {numbers['mean']:.1f}, median {numbers['median']:g}, "
            f"{percent_seen(numbers['solved'])} solved, {numbers['oracle_calls']:.0f} oracle calls, "
            f"{1e3 * numbers['seconds_per_problem']:.2f} ms per problem"
        )
    save(path, algorithm, provenance | {"test": measured})
    setup.forget()
    console.print(f"saved to {path}")


def _learned(setup: LearningSetup, how: str) -> tuple[Algorithm, float]:
    """The learned algorithm, and the seconds that it took in all the processes that worked on it."""
    learn = setup.experiment.recipe.learned[how]
    with tempfile.TemporaryDirectory() as folder:
        durations = Durations(setup.seconds or Path(folder) / "seconds", lambda: setup.interrupted)
        if setup.interrupted:
            durations.read()
        with durations.measured("learn"), waiting_for(f"the recipe {how!r} of {setup.experiment.name}"):
            algorithm = _rounded(learn(setup))
    return algorithm, durations.finished["learn"]


def _provenance(setup: LearningSetup, how: str, seconds: float) -> dict[str, Any]:
    return {
        "experiment": setup.experiment.name,
        "how": how,
        "seed": setup.seed,
        "effort": setup.effort,
        "seconds": round(seconds, 1),
        "learning": dict(setup.facts),
        "sizes": {"test": setup.experiment.sizes["test"]},
        "commit": commit(),
        "versions": versions(),
        "machine": platform.machine(),
    }


def measure(
    experiment: Experiment, algorithms: dict[str, Algorithm], seed: int, checkpoints: Path | None = None
) -> dict[str, dict[str, Any]]:
    """Stopping times, oracle calls and wall-clock of algorithms on the test problems."""
    problems, kept = experiment.draw(Role.test, seed), as_evaluations(checkpoints)
    performances = {name: _performance(experiment, algorithm, problems, kept) for name, algorithm in algorithms.items()}
    again = {
        name: lambda algorithm=algorithm: _performance(experiment, algorithm, problems, None).seconds
        for name, algorithm in algorithms.items()
    }
    seconds = best_in_turn(again, TIMING, {name: each.seconds for name, each in performances.items()})
    return {name: _numbers(performances[name], seconds[name]) for name in algorithms}


def _performance(
    experiment: Experiment, algorithm: Algorithm, problems: Any, checkpoints: Evaluations | None
) -> Performance:
    return evaluate(
        algorithm,
        experiment.problem_class,
        problems,
        criterion=experiment.criterion,
        horizon=experiment.horizon,
        key=jax.random.key(0),
        functionals=[StoppingTime(), OracleCalls()],
        checkpoints=checkpoints,
    )


def _numbers(performance: Performance, seconds: float) -> dict[str, Any]:
    times = performance["stopping_time"]
    return {
        "mean": float(mean(times)),
        "median": float(quantile(times, 0.5)),
        "q95": float(quantile(times, 0.95)),
        "cvar95": float(cvar(times, 0.95)),
        "solved": float((performance.outcome == "solved").mean()),
        "oracle_calls": float(mean(performance["oracle_calls"])),
        "seconds_per_problem": seconds / len(times),
        "first": times[:FIRST, 0].tolist(),
    }


def _rounded(algorithm: Algorithm) -> Algorithm:
    """The algorithm in single precision, which is as good and half as large."""
    return jax.tree.map(lambda leaf: leaf.astype("float32") if eqx.is_inexact_array(leaf) else leaf, algorithm)
