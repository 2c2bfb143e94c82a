"""A solver of any kind as an experiment: what a file says about it, and what it leaves out.

A file that `loa run` takes gives `solve`, a function `solve(instance, **parameters)` or a command; `instances`; and
`space`, what may be tuned. It may also give `timeout` (seconds), `memory` (bytes), `baselines` (other settings, by
name), `sizes` (instances by role), `trials` (settings to try), `quantile` (the level to certify), `repeats`, `title`.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...deployment.any_solver.external import External
from ...deployment.any_solver.space import check_names, distributions
from ...messages.arguments import positive_number, shown
from ...problems.problem_class import whole_number
from ..checks import check_name
from .errors import blamed_on
from .problem_class import imported
from .solver_instances import Pool, pool_in

NEEDED = {"solve", "instances"}
OF_OTHERS = {"experiment", "problem_class", "loss"}
"""A file that defines one of these speaks of problems whose loss is known, not of a solver."""

MAY_GIVE = ("space", "timeout", "memory", "baselines", "sizes", "trials", "quantile", "repeats", "title", "parameters")

LONGEST = 60.0
"""Seconds after which a run is killed while no time limit is known."""

TRIALS = {"quick": 60, "paper": 200}
"""The number of settings to try, by preset."""


@dataclasses.dataclass(frozen=True, eq=False)
class SolverExperiment:
    """A solver, its instances, and what may be tuned.

    Fields:
        name: of the experiment, and of its directory.
        solver: with its space and its parameters.
        pool: the instances, each with one role.
        timeout: seconds after which a run is killed; None if it is to be derived from training instances.
        memory: bytes that a run may use.
        baselines: other settings to compare with, by name.
        trials: the number of settings to try, by preset if None.
        quantile: the level of the quantile that is certified; the highest that the instances allow if None.
        title: the heading of the report.
    """

    name: str
    solver: External
    pool: Pool
    timeout: float | None = None
    memory: int | None = None
    baselines: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    trials: int | None = None
    quantile: float | None = None
    title: str = ""

    def __post_init__(self):
        for field, least in (("timeout", None), ("memory", 1), ("trials", 1)):
            value = getattr(self, field)
            if value is not None and least is None:
                positive_number(f"`{field}`", value)
            elif value is not None:
                whole_number(f"`{field}`", value, most=2**62)
        if self.quantile is not None and not 0 < self.quantile < 1:
            raise ValueError(f"`quantile` must lie strictly between 0 and 1, got {shown(self.quantile)}.")
        if not isinstance(self.baselines, Mapping):
            raise TypeError(f"`baselines` must be a dict of settings by name, got {shown(self.baselines)}.")
        for name, setting in self.baselines.items():
            check_name(name)
            if not isinstance(setting, Mapping):
                raise TypeError(f"`baselines`: {name!r} must be a dict of parameters, got {shown(setting)}.")
            check_names(setting, self.solver.solve)

    @property
    def settings(self) -> dict[str, Mapping[str, Any]]:
        """What is compared with: the solver with its defaults, and the baselines."""
        return {"defaults": {}, **self.baselines}


def is_solver_file(path: Path) -> bool:
    """Whether a file gives `solve` and `instances` and no problem class; it is read, not run."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return False
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {each.asname or each.name for each in node.names}
    bases = [ast.unparse(base) for node in tree.body if isinstance(node, ast.ClassDef) for base in node.bases]
    problem_class = any(base.endswith("ProblemClass") for base in bases)
    return "solve" in names and not names & OF_OTHERS and not problem_class


def solver_from_file(path: Path, seed: int) -> SolverExperiment:
    """The experiment that a file with a solver defines; everything that it says is checked before anything runs."""
    with blamed_on(path, wholly=True):
        module = imported(path)
        missing = sorted(name for name in NEEDED if not hasattr(module, name))
        if missing:
            raise ValueError(f"`{missing[0]}` is missing: a file with a solver gives `solve` and `instances`.")
        given = {name: getattr(module, name) for name in MAY_GIVE if hasattr(module, name)}
        solver = External(module.solve, given.pop("space", None), given.pop("parameters", {}))
        if solver.space:
            distributions(solver.space)
            check_names(solver.space, solver.solve)
        pool = pool_in(
            module.instances, path.resolve().parent, seed, given.pop("sizes", None), given.pop("repeats", False)
        )
        return SolverExperiment(path.stem, solver, pool, **given)
