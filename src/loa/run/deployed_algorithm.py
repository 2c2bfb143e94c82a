"""What a run has deployed, ready to solve new problems."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..algorithms.algorithm import Algorithm
from ..deployment.files.instances import read_instances
from ..deployment.files.solutions import check_path, write
from ..deployment.solution import OUTCOMES, Solutions
from ..deployment.solve import solve
from ..deployment.solver import Solver
from ..experiments import DESCRIPTIONS, get
from ..experiments.experiment import Experiment
from ..experiments.from_file.problem_class import from_file
from ..messages.arguments import as_path
from ..problems.problem_class import ProblemClass, count_problems
from ..results.run_results import Results
from ..storage.saved_algorithms import SUFFIX, load
from .identity import of_file

PART = 2**16
"""The number of problems that are solved before their solutions are written."""


@dataclass(frozen=True)
class Deployed:
    """The algorithm that a run has deployed, with the experiment that it was certified for and the results."""

    algorithm: Algorithm
    experiment: Experiment
    results: Results

    @property
    def problem_class(self) -> ProblemClass:
        return self.experiment.problem_class

    def solver(self, *, fallback: Algorithm | None = None, example: Any = None) -> Solver:
        """A solver for one problem at a time, with the criterion and the horizon of the run.

        Arguments:
            fallback: an algorithm for what the deployed one does not solve.
            example: a problem of the shapes to come; by default one is drawn.

        Returns:
            The solver, compiled.
        """
        task = self.experiment.task
        return Solver(
            self.algorithm, task.problem_class, criterion=task.criterion, horizon=task.horizon, fallback=fallback,
            example=example,
        )  # fmt: skip

    def solve(self, problems: Any, *, seed: int = 0, progress: bool = False) -> Solutions:
        """Solve a stack of problems by `loa.solve`, with the criterion and the horizon of the run.

        Arguments:
            problems: a stack of problems.
            seed: for random starts and algorithms.
            progress: whether to show a progress bar.

        Returns:
            The solutions.
        """
        task = self.experiment.task
        return solve(
            self.algorithm, task.problem_class, problems, criterion=task.criterion, horizon=task.horizon,
            key=jax.random.key(seed), progress=progress,
        )  # fmt: skip

    def solve_file(self, instances: Path | str, out: Path | str, *, seed: int = 0) -> dict[str, int]:
        """Solve the problems in a file and write their solutions to another one.

        Arguments:
            instances: a file or folder, as `loa.deployment.files.instances` describes it.
            out: an `.npz`, `.parquet` or `.jsonl` file; rows of the latter two are written part by part.
            seed: for random starts and algorithms.

        Returns:
            The number of problems for each outcome.
        """
        check_path(out)
        example = jax.eval_shape(self.problem_class.sample, jax.random.key(0))
        problems = read_instances(instances, example)
        counts: dict[str, int] = dict.fromkeys(OUTCOMES, 0)

        def parts() -> Iterator[Solutions]:
            for start in range(0, count_problems(problems), PART):
                part = jax.tree.map(lambda leaf, first=start: leaf[first : first + PART], problems)
                found = self.solve(part, seed=seed + start // PART, progress=True)
                for outcome in counts:
                    counts[outcome] += int(np.sum(found.outcome == outcome))
                yield found

        write(out, parts())
        return counts


def deployed(directory: Path | str, file: Path | str | None = None) -> Deployed:
    """Load what a run has deployed, with the experiment that it was for.

    For a run of a user's own file, that file is imported again, as `loa run` does it.

    Arguments:
        directory: of a finished run.
        file: where the user's file is now, if it was moved.

    Returns:
        The algorithm, the experiment and the results.
    """
    directory = as_path("directory", directory)
    results = Results.load(directory)
    experiment = _experiment(results, None if file is None else as_path("file", file))
    algorithm = load(directory / f"algorithm{SUFFIX}", classes=experiment.recipe.classes)
    return Deployed(algorithm, experiment, results)


def _experiment(results: Results, file: Path | None) -> Experiment:
    name, recorded = results.summary.experiment, results.summary.provenance.get("file")
    if file is None and recorded is None and name in DESCRIPTIONS:
        return get(name)
    path = Path(recorded["is"]) if file is None and recorded else file
    if path is None or not path.is_file():
        where = "its file" if path is None else f"the file {path}"
        raise ValueError(
            f"the run of {name} needs {where}, which is not there: say where it is (--file my_problem.py)."
        )
    if recorded and of_file(path)["fingerprint"] != recorded["fingerprint"]:
        print(f"loa: {path} has changed since the run, so its certificates may not hold.", file=sys.stderr)
    return from_file(path)
