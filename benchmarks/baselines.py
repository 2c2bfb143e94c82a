"""Classical methods on the paper's problem classes, untuned and tuned, on the same unseen problems.

    python baselines.py quadratics lasso network stochastic-network images

Tuning sees up to 100 problems (images: 8), the table 250 others (images: 24). Prints a table
for each experiment, and writes all numbers to results/baselines-EXPERIMENT.json.
"""

import json
import sys
import time
from functools import partial
from pathlib import Path

import jax
from rich.console import Console

import loa
from loa.tuning import Interval

LOGARITHMIC = partial(Interval, logarithmic=True)

SEARCHES = {
    "quadratics": {
        "heavy ball": (loa.HeavyBall, {"step_size": LOGARITHMIC(1e-3, 2e-2), "momentum": Interval(0.9, 0.9999)}),
        "NAG": (
            loa.NesterovAcceleratedGradient,
            {"step_size": LOGARITHMIC(5e-4, 1e-2), "momentum": Interval(0.9, 0.9999)},
        ),
    },
    "lasso": {"FISTA with restart": (loa.FISTA, {"step_size": LOGARITHMIC(2e-2, 1.0)})},
    "network": {"Adam": (loa.Adam, {"learning_rate": LOGARITHMIC(1e-3, 1.0), "beta1": Interval(0.5, 0.99)})},
    "stochastic-network": {
        "Adam": (
            partial(loa.Adam, stochastic=True),
            {"learning_rate": LOGARITHMIC(1e-3, 0.3), "beta1": Interval(0.5, 0.99)},
        )
    },
    "images": {"NAG": (loa.NesterovAcceleratedGradient, {"step_size": LOGARITHMIC(1e-3, 1e-1)})},
}
SIZES = {"images": (8, 24), "quadratics": (50, 250)}
ROUNDS = {"images": (8, 2), "stochastic-network": (32, 3), "quadratics": (32, 3)}
HORIZONS = {"quadratics": 10_000}
"""Heavy ball and NAG solve no quadratic within the experiment's 500 steps, tuned or not: here they get more."""


def main(name: str) -> None:
    setting = loa.experiments.get(name)
    num_training, num_test = SIZES.get(name, (100, setting.sizes["test"]))
    candidates, rounds = ROUNDS.get(name, (64, 4))
    training_key, test_key, run_key = jax.random.split(jax.random.key(0), 3)
    training = setting.problem_class.draw(training_key, num_training)
    horizon = HORIZONS.get(name, setting.horizon)
    options = dict(criterion=setting.criterion, horizon=horizon, key=run_key)
    algorithms, tuning = dict(setting.baselines), {}
    for method, (factory, space) in SEARCHES[name].items():
        started = time.perf_counter()
        searched = dict(candidates=candidates, rounds=rounds, progress=True)
        tuned = loa.tune(factory, space, setting.problem_class, training, **searched, **options)
        algorithms[f"{method}, tuned"] = tuned.algorithm
        tuning[method] = {"parameters": tuned.parameters, "seconds": time.perf_counter() - started}
    comparison = loa.compare(
        algorithms, setting.problem_class, setting.problem_class.draw(test_key, num_test), **options
    )
    Console(width=100).print(comparison.table(f"{name}: {num_test} unseen problems, at most {horizon} steps"))
    numbers = {
        "experiment": name,
        "problems": num_test,
        "horizon": horizon,
        "tuned": tuning,
        "algorithms": comparison.summary(),
    }
    path = Path(__file__).parent / "results" / f"baselines-{name}.json"
    path.write_text(json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    for experiment in sys.argv[1:]:
        main(experiment)
