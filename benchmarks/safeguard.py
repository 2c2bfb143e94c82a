"""What a safeguard costs where nothing goes wrong, and what it saves where problems have changed.

For each experiment: the learned algorithm that ships with loa, alone and guarded by the best classical baseline, and
that baseline alone, on problems of the class and on changed ones. The deadlines of the guard were chosen by
`loa.learning.guard` on other problems of the class. Two small classes, ridge and logistic regression, have algorithms
that are good, mediocre and bad. A guarded run may take 10% more steps than the horizon, so that a delay is no failure.

    python benchmarks/safeguard.py [--problems 100] [EXPERIMENT …] > benchmarks/results/safeguard.json
"""

from __future__ import annotations

import argparse
import dataclasses
import sys

import jax
import jax.numpy as jnp
import numpy as np
from timing import show

import loa
from loa.learning import guard
from loa.statistics.timing import best_in_turn

FALLBACKS = {
    "quadratics": "CG",
    "images": "L-BFGS",
    "lasso": "FISTA with restart",
    "network": "L-BFGS",
    "stochastic-network": None,
}
ADAM = loa.Adam(3e-2, stochastic=True)


def with_fields(problem_class, **fields):
    """The same class with other values of some fields."""
    changed = object.__new__(type(problem_class))
    for field in dataclasses.fields(problem_class):
        object.__setattr__(changed, field.name, fields.get(field.name, getattr(problem_class, field.name)))
    return changed


class Far(loa.problems.Quadratics):
    """Quadratics that start at 100 in every coordinate instead of at 0."""

    def start(self, problem, key):
        return jnp.full_like(problem.target, 100.0)


def noisier(base):
    """Regressions with three times the noise."""

    class Noisier(base):
        def sample(self, key):
            noise = jax.random.normal(jax.random.fold_in(key, 7), (self.num_points,))
            problem = base.sample(self, key)
            return problem._replace(targets=problem.targets + jnp.sqrt(8.0) * noise)

    return Noisier


def changes(name: str, c) -> dict:
    """The class itself, and after each change."""
    if name == "quadratics":
        far = object.__new__(Far)
        for field in dataclasses.fields(c):
            object.__setattr__(far, field.name, getattr(c, field.name))
        low, high = c.smoothness_range
        steep = with_fields(c, smoothness_range=(10 * low, 10 * high))
        return {"condition × 10": steep, "noise × 3": with_fields(c, factor=3 * c.factor), "start at 100": far}
    if name == "lasso":
        u, s, v = np.linalg.svd(np.asarray(c.matrix, np.float64), full_matrices=False)
        matrix = jnp.asarray(u * (s * np.logspace(0, -0.5, len(s))) @ v, c.matrix.dtype)
        return {
            "condition × 10": with_fields(c, matrix=matrix),
            "noise × 3": with_fields(c, factor=3 * c.factor),
            "λ / 10": with_fields(c, regularization=(0.5, 1.0)),
            "λ × 4": with_fields(c, regularization=(20.0, 40.0)),
            "start × 100": with_fields(c, start_point=100 * c.start_point),
        }
    if name == "images":
        return {"noise × 3": with_fields(c, noise=3 * c.noise), "λ / 10": with_fields(c, regularization=(0.005, 0.05))}
    noisy = object.__new__(noisier(type(c)))
    for field in dataclasses.fields(c):
        object.__setattr__(noisy, field.name, getattr(c, field.name))
    return {"noise × 3": noisy, "start × 3": with_fields(c, start_point=3 * c.start_point)}


class Regression(loa.ProblemClass):
    """Ridge or logistic regression of labels that are linear but for noise."""

    logistic: bool = False
    noise: float = 1.0
    decay: float = 1.0
    penalty: float = 0.1
    far: float = 0.0

    def sample(self, key):
        features, noise = jax.random.split(key)
        a = jax.random.normal(features, (40, 10)) * jnp.logspace(0, -self.decay, 10)
        labels = a @ jnp.ones(10) + self.noise * jax.random.normal(noise, (40,))
        return a, jnp.sign(labels) if self.logistic else labels

    def loss(self, x, problem):
        a, labels = problem
        each = jnp.log1p(jnp.exp(-labels * (a @ x))) if self.logistic else (a @ x - labels) ** 2
        return jnp.mean(each) + self.penalty * jnp.sum(x**2)

    def start(self, problem, key):
        return jnp.full(10, self.far)


SHIFTS = {
    "condition × 10": {"decay": 1.5},
    "noise × 3": {"noise": 3.0},
    "λ / 10": {"penalty": 0.01},
    "start": {"far": 5.0},
}
OWN = {
    "ridge": (Regression(), [loa.HeavyBall(0.3, 0.5), loa.GradientDescent(0.05), loa.GradientDescent(0.9)]),
    "logistic": (Regression(logistic=True), [loa.HeavyBall(2.0, 0.7), loa.GradientDescent(0.5), loa.Newton()]),
}
NAMES = {
    "ridge": ("heavy ball", "small steps", "steps that are too long"),
    "logistic": ("heavy ball", "small steps", "Newton"),
}


def settings(name: str):
    """What is examined: words, the class and changed ones, criterion, horizon, what is guarded, and the fallback."""
    if name in OWN:
        problem_class, algorithms = OWN[name]
        changed = {change: dataclasses.replace(problem_class, **fields) for change, fields in SHIFTS.items()}
        for words, learned in zip(NAMES[name], algorithms, strict=True):
            criterion = loa.gradient_norm_below(1e-5)
            yield f"{name}, {words}", problem_class, changed, criterion, 500, learned, loa.LBFGS()
        return
    experiment, baseline = loa.experiments.get(name), FALLBACKS[name]
    fallback = ADAM if baseline is None else experiment.baselines[baseline]
    problem_class = experiment.problem_class
    yield (name, problem_class, changes(name, problem_class), experiment.criterion, experiment.horizon, loa.load(name),
           fallback)  # fmt: skip


def examined(name: str, count: int):
    """A row for each algorithm and each change of its class."""
    for words, problem_class, changed, criterion, horizon, learned, fallback in settings(name):
        samples = problem_class.draw(jax.random.key(9), count)
        setting = dict(criterion=criterion, key=jax.random.key(6))
        guarded = guard(learned, fallback, problem_class, samples, horizon=horizon, **setting)

        def run(algorithm, problem_class, horizon, setting=setting):
            problems = problem_class.draw(jax.random.key(5), count)
            functionals = [loa.StoppingTime(), loa.OracleCalls()]
            return loa.evaluate(algorithm, problem_class, problems, horizon=horizon, functionals=functionals, **setting)

        rows = []
        for change, other in ({"none": problem_class} | changed).items():
            alone, theirs = (run(each, other, horizon) for each in (learned, fallback))
            ours = run(guarded, other, int(1.1 * horizon) + 1)
            rows.append({"change": change, **row(alone, ours, theirs)})
            print(words, rows[-1], file=sys.stderr, flush=True)
        seconds = pace(learned, guarded, run, problem_class, horizon)
        yield {"name": words, "patience": guarded.patience, "deadlines": guarded.deadlines, "rows": rows, **seconds}


def row(alone, guarded, fallback) -> dict:
    """Steps, shares solved, and how the guarded algorithm compares with the fallback where that solves the problem."""
    times = [each["stopping_time"][:, 0].astype(float) for each in (alone, guarded, fallback)]
    ended = [(each.outcome == "solved")[:, 0] for each in (alone, guarded, fallback)]
    own, there = times[1][ended[2]], times[2][ended[2]]
    return {
        "steps": [float(each.mean()) for each in times],
        "solved": [float(each.mean()) for each in ended],
        "lost": int((ended[2] & ~ended[1]).sum()),
        "ratio": float(own.mean() / there.mean()) if own.size else None,
        "within": float((own <= 1.1 * there + 1).mean()) if own.size else None,
        "untouched": float((times[0] == times[1])[ended[0]].mean()) if ended[0].any() else None,
        "calls": float(guarded["oracle_calls"].mean() / alone["oracle_calls"].mean()),
    }


def pace(learned, guarded, run, problem_class, horizon) -> dict:
    """The time of a step under a guard that never steps in, relative to one without a guard."""
    calm = dataclasses.replace(guarded, patience=10**6, deadlines=())
    timed = {
        key: lambda each=each: run(each, problem_class, horizon).seconds
        for key, each in {"alone": learned, "guarded": calm}.items()
    }
    seconds = best_in_turn(timed, 10.0)
    same = run(calm, problem_class, horizon)["stopping_time"] == run(learned, problem_class, horizon)["stopping_time"]
    return {"time_per_step": seconds["guarded"] / seconds["alone"], "same_steps": bool(same.all())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*OWN, *FALLBACKS]
    parser.add_argument("experiments", nargs="*", default=names)
    parser.add_argument("--problems", type=int, default=100)
    options = parser.parse_args()
    found = [each for name in options.experiments or names for each in examined(name, options.problems)]
    show("safeguard", {"problems": options.problems, "algorithms": found})


if __name__ == "__main__":
    main()
