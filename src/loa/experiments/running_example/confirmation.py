"""What `loa run running-example` does beyond other runs: every claim of the paper is set beside theory."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import jax
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ...algorithms.gradient_descent import GradientDescent
from ...problems.criterion import distance_below
from ...problems.examples.running_example import RunningExample
from ...problems.role import Role, own_key
from ...results.run_results import Results
from ...storage.files import write_whole
from ...storage.saved_algorithms import SUFFIX, load
from ...trajectory.evaluation import evaluate
from ..experiment import Experiment
from .claims import Claim, measured_claims

VISIBLE_TOLERANCE = 0.05
"""Wide enough for the solution regions to be seen in the figure."""


def check_claims(setting: Experiment, results: Results, directory: Path, console: Console) -> None:
    """Measure every claim, draw trajectories with their stopping times, and add the claims to the summary."""
    seed = results.summary.seed
    checked = measured_claims(setting, own_key(seed, 0xC1A1))
    console.print(_table(checked))
    deployed = load(directory / f"algorithm{SUFFIX}")
    assert isinstance(deployed, GradientDescent)
    _draw(setting, deployed, seed, directory)
    described = tuple(
        {**claim._asdict(), "measured": float(claim.measured), "holds": bool(claim.holds)} for claim in checked
    )
    dataclasses.replace(results, summary=dataclasses.replace(results.summary, claims=described)).save(directory)
    failed = [claim.statement for claim in checked if not claim.holds]
    if failed:
        raise SystemExit(f"These claims were not confirmed: {'; '.join(failed)}.")


def _draw(setting: Experiment, algorithm: GradientDescent, seed: int, directory: Path) -> None:
    from . import figure  # which needs matplotlib, and experiments are used without it

    assert isinstance(setting.problem_class, RunningExample)
    times = evaluate(
        algorithm,
        setting.problem_class,
        setting.draw(Role.test, seed),
        criterion=distance_below(VISIBLE_TOLERANCE),
        horizon=setting.horizon,
        key=jax.random.key(seed),
    )["stopping_time"][:, 0]
    drawing = figure.draw(setting.problem_class, float(algorithm.step_size), VISIBLE_TOLERANCE, times)
    for suffix in ("png", "pdf"):
        write_whole(directory / f"trajectories.{suffix}", lambda path: drawing.savefig(path, dpi=200))


def _table(checked: list[Claim]) -> Table:
    table = Table(title="The paper's claims against theory", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("claim", "theory", "measured", "±", ""):
        table.add_column(column, justify="left" if column in ("claim", "") else "right")
    for claim in checked:
        verdict = "holds" if claim.holds else "FAILS"
        numbers = (claim.theory, float(claim.measured), claim.tolerance)
        table.add_row(claim.statement, *(f"{number:.4g}" for number in numbers), verdict)
    return table
