"""`loa run running-example`: measure, compare with theory, draw, and write it all down."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import jax
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ..algorithms.gradient_descent import GradientDescent
from ..comparison import Comparison, compare
from ..evaluation import evaluate
from ..files import write_json, write_whole
from ..problems.criterion import distance_below
from ..problems.running_example import RunningExample
from . import running_example_figure as figure
from .experiment import Experiment
from .running_example import Claim, claims, learn_step

VISIBLE_TOLERANCE = 0.05
"""Wide enough for the solution regions to be seen in the figure."""


def run(setting: Experiment, seed: int, out: Path, console: Console) -> None:
    """Learn a step size, compare it with the classical ones on unseen problems, check the paper's claims."""
    started = time.perf_counter()
    learn_key, draw_key, run_key, claims_key = jax.random.split(jax.random.key(seed), 4)
    learned = learn_step(setting, learn_key)
    learning_seconds = time.perf_counter() - started

    problems = setting.problem_class.draw(draw_key, setting.sizes["test"])
    comparison = compare(
        {"learned": learned, **setting.baselines},
        setting.problem_class,
        problems,
        criterion=setting.criterion,
        horizon=setting.horizon,
        key=run_key,
        functionals=setting.functionals,
    )
    console.print(comparison.table(f"Stopping time on {setting.sizes['test']:,} unseen problems"))
    checked = claims(setting, claims_key)
    console.print(_claims_table(checked))

    write_whole(out / "performance.nc", lambda path: comparison.to_xarray().to_netcdf(path, engine="scipy"))
    _draw(setting, learned, run_key, problems, out)
    seconds = {"train": learning_seconds, "total": time.perf_counter() - started}
    write_json(out / "summary.json", _summary(setting, seed, comparison, checked, seconds))
    failed = [claim.statement for claim in checked if not claim.holds]
    console.print(f"Wrote figure.png, figure.pdf, performance.nc and summary.json to {out}.")
    if failed:
        raise SystemExit(f"These claims were not confirmed: {'; '.join(failed)}.")


def _draw(setting: Experiment, algorithm: GradientDescent, key: Any, problems: Any, out: Path) -> None:
    assert isinstance(setting.problem_class, RunningExample)
    times = evaluate(
        algorithm,
        setting.problem_class,
        problems,
        criterion=distance_below(VISIBLE_TOLERANCE),
        horizon=setting.horizon,
        key=key,
    )["stopping_time"][:, 0]
    drawing = figure.draw(setting.problem_class, float(algorithm.step_size), VISIBLE_TOLERANCE, times)
    for suffix in ("png", "pdf"):
        write_whole(out / f"figure.{suffix}", lambda path: drawing.savefig(path, dpi=200))


def _claims_table(checked: list[Claim]) -> Table:
    table = Table(title="The paper's claims against theory", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("claim", "theory", "measured", "±", ""):
        table.add_column(column, justify="left" if column in ("claim", "") else "right")
    for claim in checked:
        verdict = "holds" if claim.holds else "FAILS"
        numbers = (claim.theory, float(claim.measured), claim.tolerance)
        table.add_row(claim.statement, *(f"{number:.4g}" for number in numbers), verdict)
    return table


def _summary(
    setting: Experiment, seed: int, comparison: Comparison, checked: list[Claim], seconds: dict[str, float]
) -> dict[str, Any]:
    described = comparison.summary()
    learned, *baselines = described
    return {
        "experiment": setting.name,
        "preset": "paper",
        "seed": seed,
        "t_max": setting.horizon,
        "sizes": dict(setting.sizes),
        "learned": described[learned],
        "baselines": {name: described[name] for name in baselines},
        "claims": [
            {**claim._asdict(), "measured": float(claim.measured), "holds": bool(claim.holds)} for claim in checked
        ],
        "seconds": seconds,
    }
