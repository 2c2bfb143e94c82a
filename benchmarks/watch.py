"""How soon `loa.Watch` notices that problems have changed, how often it is wrong, and what it costs.

Streams are what a solver sees on LASSO problems: steps of the learned algorithm (600 where it fails), the norm of the
data and λ. The calibration sample has 500 problems; changes come after 500 more. Delays are numbers of observations.

    python benchmarks/watch.py [--streams 400] [--length 10000] > benchmarks/results/watch.json
"""

from __future__ import annotations

import argparse
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from timing import show

import loa

CALIBRATION, CALM, AFTERWARDS, REPETITIONS = 500, 500, 2000, 20


def observed(problem_class, count: int, key: int) -> dict[str, np.ndarray]:
    """Steps, and two features, of problems of this class."""
    experiment = loa.experiments.get("lasso")
    problems = problem_class.draw(jax.random.key(key), count)
    found = loa.evaluate(loa.load("lasso"), problem_class, problems, criterion=experiment.criterion, horizon=600,
                         key=jax.random.key(key + 1))  # fmt: skip
    data = np.linalg.norm(np.asarray(problems.target), axis=1)
    return {"steps": found["stopping_time"][:, 0], "norm of the data": data, "λ": np.asarray(problems.regularization)}


def changed(lasso) -> dict[str, loa.ProblemClass]:
    """The class after each change."""
    u, s, v = np.linalg.svd(np.asarray(lasso.matrix, np.float64), full_matrices=False)
    steeper = jnp.asarray(u * (s * np.logspace(0, -1, len(s))) @ v, lasso.matrix.dtype)
    return {
        "condition number × 10": eqx.tree_at(lambda c: c.matrix, lasso, steeper),
        "noise × 3": eqx.tree_at(lambda c: c.factor, lasso, 3 * lasso.factor),
        "noise × 1.2": eqx.tree_at(lambda c: c.factor, lasso, 1.2 * lasso.factor),
        "start × 100": eqx.tree_at(lambda c: c.start_point, lasso, 100 * lasso.start_point),
        "λ from [10, 20]": loa.problems.Lasso(regularization=(10.0, 20.0)),
    }


def watched(calibration, *parts) -> loa.Watch:
    """A watch after a stream; it ends with the first alarm."""
    watch = loa.Watch(calibration)
    for part in parts:
        for row in zip(*part.values(), strict=True):
            if watch.see(**dict(zip(part, row, strict=True))):
                return watch
    return watch


def some(pool: dict[str, np.ndarray], rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Different problems of a pool at random, which are exchangeable."""
    chosen = rng.choice(len(next(iter(pool.values()))), count, replace=False)
    return {name: values[chosen] for name, values in pool.items()}


def split(pool, at: int):
    return {k: v[:at] for k, v in pool.items()}, {k: v[at:] for k, v in pool.items()}


def delays(pool, after, rng) -> tuple[list[int], list[str], int]:
    """Delays, quantities and false alarms over repetitions."""
    found, names, false = [], [], 0
    for _ in range(REPETITIONS):
        calibration, calm = split(some(pool, rng, CALIBRATION + CALM), CALIBRATION)
        watch = watched(calibration, calm, some(after, rng, AFTERWARDS))
        first = watch.alarms[0] if watch.alarms else None
        if first and first.time <= CALM:
            false += 1
        else:
            found.append(first.time - CALM if first else AFTERWARDS)
            names.append(first.quantity if first else "none")
    return found, names, false


def drift(rng, pool) -> list[int]:
    """Delays if the data grow by a thousandth of their size with every problem, from the start on."""
    found = []
    for _ in range(REPETITIONS):
        calibration, stream = split(some(pool, rng, CALIBRATION + AFTERWARDS), CALIBRATION)
        growth = 1 + 1e-3 * np.arange(AFTERWARDS)
        watch = watched(calibration, stream | {"norm of the data": growth * stream["norm of the data"]})
        found.append(watch.alarms[0].time if watch.alarms else AFTERWARDS)
    return found


def without_change(streams: int, length: int) -> int:
    """Streams with an alarm among many without any change; half of them have many ties."""
    rng, alarms = np.random.default_rng(0), 0
    for number in range(streams):
        draw = (lambda n: rng.poisson(8, n)) if number % 2 else rng.standard_normal
        watch = loa.Watch({"steps": draw(100), "loss": rng.exponential(size=100)})
        for steps, loss in zip(draw(length).tolist(), rng.exponential(size=length).tolist(), strict=True):
            if watch.see(steps=steps, loss=loss):
                alarms += 1
                break
    return alarms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=400)
    parser.add_argument("--length", type=int, default=10000)
    options = parser.parse_args()
    lasso, rng = loa.experiments.get("lasso").problem_class, np.random.default_rng(1)
    pool = observed(lasso, 2 * AFTERWARDS, 0)
    rows = []
    for number, (name, problem_class) in enumerate(changed(lasso).items()):
        found, names, false = delays(pool, observed(problem_class, AFTERWARDS, 10 * number + 10), rng)
        names = sorted(set(names), key=names.count, reverse=True)
        rows.append({"change": name, "median": float(np.median(found)), "largest": max(found), "names": names,
                     "false": false})  # fmt: skip
    found = drift(rng, pool)
    started = time.process_time()
    alarms = without_change(options.streams, options.length)
    spent = time.process_time() - started
    show(
        "watch",
        {"calm": CALM, "repetitions": REPETITIONS, "changes": rows,
         "drift": {"median": float(np.median(found)), "largest": max(found)}, "alarms": alarms,
         "streams": options.streams, "length": options.length,
         "microseconds": 1e6 * spent / (options.streams * options.length)},
    )  # fmt: skip


if __name__ == "__main__":
    main()
