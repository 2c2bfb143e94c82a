"""What a safeguard costs where nothing goes wrong, and what it saves where problems have changed.

For each experiment: the learned algorithm that ships with loa, alone and guarded by the best classical baseline, and
that baseline alone, on problems of the class and on changed ones. A guarded run may take 10% more steps than the
horizon, so that a delay is not a failure.

    python benchmarks/safeguard.py [--problems 100] [EXPERIMENT …]
"""

from __future__ import annotations

import argparse
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

import loa
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


def examined(name: str, count: int) -> None:
    experiment, learned = loa.experiments.get(name), loa.load(name)
    baseline = FALLBACKS[name]
    fallback = ADAM if baseline is None else experiment.baselines[baseline]
    guarded = loa.safeguard(learned, fallback)

    def run(algorithm, problem_class, horizon):
        problems = problem_class.draw(jax.random.key(5), count)
        return loa.evaluate(algorithm, problem_class, problems, criterion=experiment.criterion, horizon=horizon,
                            key=jax.random.key(6), functionals=[loa.StoppingTime(), loa.OracleCalls()])  # fmt: skip

    classes = {"none": experiment.problem_class} | changes(name, experiment.problem_class)
    for change, problem_class in classes.items():
        longer = int(1.1 * experiment.horizon) + 1
        a, f = (run(each, problem_class, experiment.horizon) for each in (learned, fallback))
        g = run(guarded, problem_class, longer)
        alone, with_guard, other = (each["stopping_time"][:, 0] for each in (a, g, f))
        solved = {key: (each.outcome == "solved")[:, 0] for key, each in zip("agf", (a, g, f), strict=True)}
        lost = int((solved["f"] & ~solved["g"]).sum())
        within = with_guard[solved["f"]] <= 1.1 * other[solved["f"]] + 1
        share = f"{within.mean():.1%}" if within.size else "–"
        mean = with_guard[solved["f"]].mean() / other[solved["f"]].mean() if within.size else float("nan")
        numbers = [
            name, change, *(f"{steps.mean():.4g}, {solved[key].mean():.0%}"
                            for key, steps in zip("agf", (alone, with_guard, other), strict=True)),
            str(lost), f"{mean:.3f}", share, f"{g['oracle_calls'].mean() / a['oracle_calls'].mean():.3f}",
        ]  # fmt: skip
        print(f"| {' | '.join(numbers)} |", flush=True)
    calm = loa.safeguard(learned, fallback, patience=10**6)  # nothing goes wrong, on problems of all kinds
    timed = {
        key: lambda each=each: run(each, experiment.problem_class, experiment.horizon).seconds
        for key, each in {"alone": learned, "guarded": calm}.items()
    }
    seconds = best_in_turn(timed, 10.0)
    same = bool((run(calm, experiment.problem_class, experiment.horizon)["stopping_time"]
                 == run(learned, experiment.problem_class, experiment.horizon)["stopping_time"]).all())  # fmt: skip
    print(f"{name}: time per step × {seconds['guarded'] / seconds['alone']:.3f}; the same steps: {same}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", default=list(FALLBACKS))
    parser.add_argument("--problems", type=int, default=100)
    options = parser.parse_args()
    titles = ["experiment", "change", "learned: steps, solved", "guarded", "fallback", "lost", "guarded / fallback"]
    print(f"| {' | '.join(titles)} | within 110% | calls |\n|---|---|{'---:|' * 7}")
    for name in options.experiments or list(FALLBACKS):
        examined(name, options.problems)


if __name__ == "__main__":
    main()
