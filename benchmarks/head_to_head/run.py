"""LASSO, sparse recovery and sparse logistic regression as others have published them, solved by loa.

    python benchmarks/head_to_head/run.py > benchmarks/results/head_to_head.json
    python benchmarks/head_to_head/page.py

Every problem class is written from the description of a paper (generators.py). Classical methods and loa's own
(contestants.py) run on test problems that nothing was learned or tuned on, for a fixed number of steps.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
sys.path.append(str(Path(__file__).parent.parent))

from contestants import CLASSICAL, KEY, of_own_curvature, of_shared_curvature  # noqa: E402
from generators import FixedMatrix, NewMatrix, SparseLogistic, unit_columns  # noqa: E402
from timing import show  # noqa: E402

import loa  # noqa: E402


class Table(NamedTuple):
    """One table of others: a problem class, after how many steps it is measured, and from how much loa learns."""

    problem_class: Any
    steps: tuple[int, ...]
    contestants: Callable[..., dict[str, Any]]
    training: int
    tuning: int
    test: int
    accuracy: float = 1e-6


def fixed(rows: int, columns: int, penalty: float) -> FixedMatrix:
    return FixedMatrix(unit_columns(jax.random.key(0), rows, columns), penalty)


TABLES = {
    "Open-L2O, LASSO": Table(fixed(25, 50, 0.005), (16, 100, 1000), of_shared_curvature, 1000, 64, 1000),
    "ALISTA, sparse recovery": Table(fixed(256, 512, 1e-5), (16, 100, 1000), of_shared_curvature, 32, 16, 64),
    "Math-L2O, LASSO": Table(NewMatrix(), (10, 100, 300), of_own_curvature, 16, 16, 32),
    "Math-L2O, logistic": Table(SparseLogistic(), (10, 100, 300), of_own_curvature, 32, 32, 64),
    "LAH, LASSO": Table(fixed(64, 128, 0.1), (10, 20, 100), of_shared_curvature, 10, 10, 500),
}

REFERENCE = loa.FISTA()
"""Its best loss in 10,000 steps, or a smaller one that another method found, counts as the smallest loss."""


def missed(problem_class: Any, x: Any, problem: Any) -> Any:
    """The squared distance to the coefficients that made the problem."""
    return jnp.sum((x - problem[1]) ** 2)


def after(algorithm: Any, table: Table, problems: Any, steps: tuple[int, ...]) -> Any:
    """Losses, and squared distances where coefficients are known, after these numbers of steps."""
    looks = [loa.Gap(step, gap=loa.gaps.loss, name=f"loss_{step}") for step in steps]
    if isinstance(table.problem_class, FixedMatrix):
        looks += [loa.Gap(step, gap=missed, name=f"missed_{step}") for step in steps]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a method that solves nothing is a result here
        return loa.evaluate(
            algorithm, table.problem_class, problems, criterion=loa.prox_residual_below(table.accuracy),
            horizon=max(steps), key=KEY, functionals=[loa.StoppingTime(), *looks],
        )  # fmt: skip


def measured(table: Table) -> dict[str, Any]:
    """Everything that the page says about one table."""
    training = table.problem_class.draw(jax.random.key(1), table.training)
    problems = table.problem_class.draw(jax.random.key(2), table.test)
    ours = table.contestants(table.problem_class, training, table.tuning, table.accuracy, 300)
    runs = {name: after(each, table, problems, table.steps) for name, each in {**CLASSICAL, **ours}.items()}
    best = after(REFERENCE, table, problems, (1000, 3000, 10_000))
    seen = [np.asarray(best[f"loss_{step}"]) for step in (1000, 3000, 10_000)]
    seen += [np.asarray(run[f"loss_{step}"]) for run in runs.values() for step in table.steps]
    smallest = np.min(seen, axis=0)
    return {
        "test": table.test,
        "training": table.training,
        "tuning": table.tuning,
        "steps": table.steps,
        "smallest_loss": float(smallest.mean()),
        "algorithms": {name: row(run, table, smallest, problems) for name, run in runs.items()},
    }


def row(run: Any, table: Table, smallest: np.ndarray, problems: Any) -> dict[str, Any]:
    """Relative losses, errors in dB, microseconds of a step, and how many steps the criterion takes."""
    relative = {step: float(np.mean(run[f"loss_{step}"] - smallest) / smallest.mean()) for step in table.steps}
    numbers = {
        "relative_loss": relative,
        "solved": float((run.outcome == "solved").mean()),
        "microseconds_of_a_step": 1e6 * run.seconds / (table.test * max(table.steps)),
    }
    if isinstance(table.problem_class, FixedMatrix):
        size = float(np.mean(np.sum(np.asarray(problems[1]) ** 2, axis=1)))
        decibels = {step: float(10 * np.log10(np.mean(run[f"missed_{step}"]) / size)) for step in table.steps}
        numbers["decibels"] = decibels
    return numbers


def main() -> None:
    chosen = sys.argv[1:] or list(TABLES)
    show("head_to_head", {"tables": {name: measured(TABLES[name]) for name in chosen}})


if __name__ == "__main__":
    main()
