"""`loa run running-example`: measure, compare with theory, draw, and write it all down."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from .. import measures
from ..algorithms.algorithm import Algorithm
from ..algorithms.gradient_descent import GradientDescent
from ..evaluation import Performance, evaluate
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

    def performance(algorithm: Algorithm) -> Performance:
        return evaluate(
            algorithm,
            setting.problem_class,
            problems,
            criterion=setting.criterion,
            horizon=setting.horizon,
            key=run_key,
            functionals=setting.functionals,
        )

    results = {f"learned step {float(learned.step_size):.4f}": performance(learned)}
    results |= {name: performance(algorithm) for name, algorithm in setting.baselines.items()}
    console.print(_comparison(results, setting))
    checked = claims(setting, claims_key)
    console.print(_claims_table(checked))

    write_whole(out / "performance.nc", lambda path: _dataset(results).to_netcdf(path, engine="scipy"))
    _draw(setting, learned, run_key, problems, out)
    seconds = {"train": learning_seconds, "total": time.perf_counter() - started}
    write_json(out / "summary.json", _summary(setting, seed, results, checked, seconds))
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


def _comparison(results: dict[str, Performance], setting: Experiment) -> Table:
    table = Table(title=f"Stopping time on {setting.sizes['test']:,} unseen problems (95 % intervals)")
    for column in ("algorithm", "mean", "median", "q95", "CVaR95", "solved"):
        table.add_column(column, justify="left" if column == "algorithm" else "right")
    for name, result in results.items():
        numbers = measures.summary(result["stopping_time"])
        solved = (result.outcome == "solved").mean()
        table.add_row(name, *(_with_margin(number) for number in numbers), f"{solved:.1%}")
    return table


def _with_margin(estimate: measures.Estimate) -> str:
    return f"{float(estimate):.3g} ± {(estimate.high - estimate.low) / 2:.1g}"


def _claims_table(checked: list[Claim]) -> Table:
    table = Table(title="The paper's claims against theory")
    for column in ("claim", "theory", "measured", "±", ""):
        table.add_column(column, justify="left" if column in ("claim", "") else "right")
    for claim in checked:
        verdict = "holds" if claim.holds else "FAILS"
        numbers = (claim.theory, float(claim.measured), claim.tolerance)
        table.add_row(claim.statement, *(f"{number:.4g}" for number in numbers), verdict)
    return table


def _dataset(results: dict[str, Performance]) -> Any:
    import xarray

    parts = [result.to_xarray() for result in results.values()]
    return xarray.concat(parts, dim=xarray.Variable("algorithm", np.array(list(results), dtype=str)))


def _summary(
    setting: Experiment, seed: int, results: dict[str, Performance], checked: list[Claim], seconds: dict[str, float]
) -> dict[str, Any]:
    described = {name: _described(result) for name, result in results.items()}
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


def _described(result: Performance) -> dict[str, Any]:
    names = ("stopping_time", "contraction_factor", "oracle_calls")
    numbers = {
        name: {key: float(value) for key, value in measures.summary(result[name])._asdict().items()} for name in names
    }
    return {**numbers, "solved": float((result.outcome == "solved").mean())}
