"""Classical methods on the paper's problem classes, untuned and tuned, on the same unseen problems.

    python baselines.py quadratics lasso network stochastic-network images

Goes method by method. What is found is written immediately to results/baselines-EXPERIMENT.json, and what is there
already is not done again: delete the file to start over. `report.py` makes the tables.
"""

import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
from rich.console import Console

import loa
from loa.learning import Interval
from loa.storage.files import write_json

LOGARITHMIC = partial(Interval, logarithmic=True)
STEP_AND_MOMENTUM = {"step_size": LOGARITHMIC(5e-4, 2e-2), "one_minus_momentum": LOGARITHMIC(1e-4, 1e-1)}


def heavy_ball(step_size: float, one_minus_momentum: float) -> loa.HeavyBall:
    return loa.HeavyBall(step_size, 1.0 - one_minus_momentum)


def nag(step_size: float, one_minus_momentum: float) -> loa.NesterovAcceleratedGradient:
    return loa.NesterovAcceleratedGradient(step_size, 1.0 - one_minus_momentum)


class Search(NamedTuple):
    """How methods of one experiment are tuned: each with its factory, its space and the setting tried first."""

    methods: dict[str, Any]
    problems: int = 100
    candidates: int = 64
    rounds: int = 4


SEARCHES = {
    "quadratics": Search(
        {
            "heavy ball": (heavy_ball, STEP_AND_MOMENTUM, {"step_size": 0.008, "one_minus_momentum": 0.0057}),
            "NAG": (nag, STEP_AND_MOMENTUM, {"step_size": 0.002, "one_minus_momentum": 0.0028}),
        },
        problems=50,
        candidates=32,
        rounds=4,
    ),
    "lasso": Search({"FISTA with restart": (loa.FISTA, {"step_size": LOGARITHMIC(2e-2, 1.0)}, {})}),
    "network": Search(
        {
            "Adam": (
                loa.Adam,
                {"learning_rate": LOGARITHMIC(1e-3, 1.0), "beta1": Interval(0.5, 0.99), "beta2": Interval(0.9, 0.9999)},
                {"learning_rate": 0.1, "beta1": 0.9, "beta2": 0.999},
            )
        },
    ),
    "stochastic-network": Search(
        {
            "Adam": (
                partial(loa.Adam, stochastic=True),
                {
                    "learning_rate": LOGARITHMIC(5e-3, 0.2),
                    "beta1": Interval(0.5, 0.99),
                    "beta2": Interval(0.9, 0.9999),
                },
                {"learning_rate": 0.02, "beta1": 0.9, "beta2": 0.999},
            )
        },
        problems=200,
        candidates=16,
        rounds=3,
    ),
    "images": Search(
        {
            "NAG": (
                nag,
                {"step_size": LOGARITHMIC(2e-3, 0.2), "one_minus_momentum": LOGARITHMIC(1e-3, 1e-1)},
                {"step_size": 0.02, "one_minus_momentum": 0.02},
            )
        },
        problems=6,
        candidates=12,
        rounds=3,
    ),
}
DEFAULTS = {
    "network": {"Adam, default rate": loa.Adam(0.001)},
    "stochastic-network": {"Adam, default rate": loa.Adam(0.001, stochastic=True)},
}
"""What one would use without any tuning. The rates of the experiments' own Adam are the best of a few tried before."""

NUM_TEST = {"images": 40}
HORIZONS = {"quadratics": 10_000}
"""Heavy ball and NAG solve no quadratic within the experiment's 500 steps, tuned or not: here they get more."""


def main(name: str) -> None:
    setting, search = loa.experiments.get(name), SEARCHES[name]
    horizon, num_test = HORIZONS.get(name, setting.horizon), NUM_TEST.get(name, setting.sizes["test"])
    training_key, test_key, run_key = jax.random.split(jax.random.key(0), 3)
    test = setting.problem_class.draw(test_key, num_test)
    training = setting.problem_class.draw(training_key, search.problems)
    options = dict(criterion=setting.criterion, horizon=horizon, key=run_key)
    path = Path(__file__).parent / "results" / f"baselines-{name}.json"
    numbers = dict(experiment=name, problems=num_test, horizon=horizon, tuned={}, algorithms={})
    numbers = json.loads(path.read_text()) if path.exists() else numbers
    untuned = {**setting.baselines, **DEFAULTS.get(name, {})}
    for method, family in families(untuned, search).items():
        if method in numbers["algorithms"]:
            continue
        if method in search.methods:
            if method not in numbers["tuned"]:
                numbers["tuned"][method] = tuned(search, method, setting.problem_class, training, options)
                write_json(path, numbers)
            family[f"{method}, tuned"] = search.methods[method][0](**numbers["tuned"][method]["parameters"])
        comparison = loa.compare(family, setting.problem_class, test, **options)
        if method in search.methods:
            gains = {other: comparison.advantage(f"{method}, tuned", over=other) for other in family}
            numbers["tuned"][method]["advantage"] = {
                other: [float(gain), gain.low, gain.high] for other, gain in gains.items() if other in untuned
            }
        numbers["algorithms"] |= comparison.summary()
        write_json(path, numbers)
        Console(width=100).print(comparison.table(f"{name}: {num_test} unseen problems, at most {horizon} steps"))


def families(algorithms: dict[str, Any], search: Search) -> dict[str, dict[str, Any]]:
    """Algorithms that are compared with each other: a method that is tuned and its variants, or one alone."""
    heads = [name for name in algorithms if not any(name.startswith(f"{method},") for method in search.methods)]
    return {
        head: {name: each for name, each in algorithms.items() if name == head or name.startswith(f"{head},")}
        for head in heads
    }


def tuned(search: Search, method: str, problem_class: Any, problems: Any, options: Any) -> dict[str, Any]:
    """The parameters with the smallest mean stopping time on these problems, and how they were found."""
    factory, space, start = search.methods[method]
    started = time.perf_counter()
    effort = dict(start=start, candidates=search.candidates, rounds=search.rounds, progress=True)
    best = loa.tune(factory, space, problem_class, problems, **effort, **options)
    seconds = time.perf_counter() - started
    size = {"problems": search.problems, "settings": len(best.tried)}
    return {"parameters": best.parameters, "seconds": seconds, "mean_in_tuning": best.value, **size}


if __name__ == "__main__":
    for experiment in sys.argv[1:]:
        main(experiment)
