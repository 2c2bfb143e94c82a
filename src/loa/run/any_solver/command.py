"""`loa run my_solver.py`: what is done, and what is told."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from ...experiments.from_file.solver import solver_from_file
from ...results.run_results import Results
from ...results.table import tell
from ..batch import Execution
from .script import SolverOrder, carry_out_solver


def run_solver_file(
    file: Path, out: Path | None, console: Console, *, preset: str, seed: int, command: str, execution: Execution
) -> Results | None:
    """Run a file that gives a solver, and tell the results in a few lines.

    Arguments:
        file: with `solve`, `instances` and `space`.
        out: the directory for the results; `runs/` and the name of the file by default.
        console: where results are told.
        preset, seed, command: as in `SolverOrder`.
        execution: alone or with other calls.

    Returns:
        The results, as saved in the directory; None if another call has finished the run.
    """
    order = SolverOrder(solver_from_file(file, seed), file, preset, seed, command)
    directory = out or Path("runs") / order.experiment.name
    results = execution.carried_out(carry_out_solver, order, directory, console)
    if results is None:
        return None
    tell(results, console)
    console.print(f"Wrote report.html, figure.png, parameters.json and the numbers behind them to {directory}.")
    return results
