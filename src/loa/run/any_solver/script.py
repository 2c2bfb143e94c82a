"""A run with a solver of any kind, from top to bottom: tune, choose, plan, certify, test, write."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ...certificates import Certificate, Distribution, Mean, Plan, Probability, Quantile
from ...deployment.any_solver.bench import Bench, Task
from ...deployment.any_solver.killable import Run
from ...deployment.any_solver.measure import failures_in, performance_of
from ...deployment.any_solver.space import words
from ...deployment.any_solver.tuning import tune_solver
from ...experiments.from_file.solver import LONGEST, TRIALS, SolverExperiment
from ...presentation.figures import draw_all, figure_files
from ...presentation.report import REPORT, write_report
from ...problems.role import Role
from ...results.choice import Choice
from ...results.run_results import CERTIFICATES, PERFORMANCE, SUMMARY, Results
from ...storage.files import write_json
from ...storage.provenance import versions
from ...trajectory.progress import counted
from ..certification import CONFIDENCE
from ..directory import RunDirectory
from ..identity import files_used
from ..small_samples import out_of_reach
from ..summary import machine
from .summary import Measured, summarize_solver

SETTING = "parameters.json"
"""The file with the setting that is deployed."""

TUNED = "tuned"

TIMES_LONGEST = 10.0
"""Where the file gives no time limit: this many times the longest run that solves a training instance by default."""

SHORTEST = 0.05
"""Seconds that such a limit has at least."""

PARTS = {"seconds": 3.0, "success": 1.0, "quantile": 2.0, "distribution": 1.0}
"""Proportions in which the certificates share the failure probability."""

LEVELS = (0.99, 0.95, 0.9, 0.75, 0.5)
"""Of these, the highest level that the held-out instances allow is certified."""


@dataclass(frozen=True)
class SolverOrder:
    """What is to be run: a solver with its instances, and a seed.

    Fields:
        experiment: the solver, its instances and what may be tuned.
        file: that defines it.
        preset: "quick" or "paper"; the latter tries more settings.
        seed: of the roles of instances and of the settings that are tried.
        command: what was typed, for the provenance.
    """

    experiment: SolverExperiment
    file: Path
    preset: str = "quick"
    seed: int = 0
    command: str = ""

    @property
    def trials(self) -> int:
        return self.experiment.trials or TRIALS.get(self.preset, TRIALS["quick"])

    def identity(self) -> dict[str, Any]:
        """What determines the results: the machine as well, because running times are certified."""
        own, pool = self.experiment, self.experiment.pool
        return {
            "experiment": own.name,
            "preset": self.preset,
            "seed": self.seed,
            "files": files_used(self.file),
            "problem class": {"is": pool.words, "fingerprint": pool.fingerprint},
            "solver": {"is": own.solver.words, "fingerprint": own.solver.fingerprint},
            "space": repr(own.solver.space),
            "baselines": repr(dict(own.baselines)),
            "horizon": "derived from training instances" if own.timeout is None else f"{own.timeout:g} s",
            "criterion": "returns in time",
            "memory": str(own.memory),
            "trials": self.trials,
            "quantile": str(own.quantile),
            "sizes": dict(pool.sizes),
            "versions": versions(),
            "machine": ", ".join(map(str, machine().values())),
        }


def carry_out_solver(
    order: SolverOrder, directory: Path, console: Console, *, resume: bool = False, overwrite: bool = False,
    executor: Any = None,
) -> Results:  # fmt: skip
    """Tune a solver, compare it with its defaults, certify its running time, and leave all that in a directory.

    The instances of different roles are disjoint. The setting, the time limit and what will be certified are fixed on
    training and validation instances and written to `plan.json`; only then is a held-out instance measured.

    Arguments:
        order: what to run.
        directory: where the results go. Every run of the solver is kept there until all is done.
        console: for progress.
        resume: continue an interrupted run of the same order.
        overwrite: replace a run that is in the directory.
        executor: whose workers run the solver; one run after the other by default.

    Returns:
        The results, as saved in the directory.
    """
    place = RunDirectory(directory, console, executor=executor)
    files = {SUMMARY, CERTIFICATES, PERFORMANCE, SETTING, REPORT, *figure_files(False)}
    with place.opened(order.identity(), files, resume=resume, overwrite=overwrite):
        return _all_stages(order, place)


def _all_stages(order: SolverOrder, place: RunDirectory) -> Results:
    """The run itself, in a directory that is open."""
    experiment, pool, seed = order.experiment, order.experiment.pool, order.seed

    # Tune, on training instances; the time limit is fixed there if the file does not give one.
    timeout = _limit(order, place)
    tuned = _tuned(order, timeout, place)
    settings = {**({TUNED: tuned} if tuned else {}), **experiment.settings}

    # Choose, on validation instances: the tuned setting, or one of the others if that is better.
    seen = _measured(order, "choice", settings, Role.validation, timeout, place)
    costs = {name: float(each["seconds"].mean()) for name, each in seen.items()}
    choice = Choice("seconds", min(costs, key=costs.__getitem__), costs, pool.sizes[Role.validation.text])
    deployed = dict(settings[choice.chosen])

    # Plan: what will be certified. It is on disk before a held-out instance is measured.
    plan = plan_for_solver(order, timeout)
    place.fix(plan)

    # Certify, on held-out instances.
    draw = pool.draw(Role.held_out, seed)
    place.record.draw(Role.held_out.text, len(draw), draw)
    held_out = _measured(order, "certify", {TUNED: deployed}, Role.held_out, timeout, place)[TUNED]
    values = {"seconds": held_out["seconds"], "solved": held_out["outcome"] == "solved"}
    certified = plan.certify(values, draw)
    about = {**place.record.about, "algorithm": experiment.solver.at(**deployed).words, "time limit": f"{timeout:g} s"}
    certificates: dict[str, Certificate] = {
        name: each.naming(about) for name, each in zip(plan.goals, certified, strict=True)
    }
    place.record.bounds(certificates)

    # Test: what is deployed and all that it is compared with, side by side on instances that nothing else has seen.
    place.record.draw(Role.test.text, pool.sizes[Role.test.text])
    others = {name: each for name, each in settings.items() if name != TUNED}
    compared = {TUNED: deployed, **others}
    tested = _measured(order, "test", compared, Role.test, timeout, place)

    # Write: the summary comes last, so that a directory with a summary is complete.
    measured = Measured(timeout, deployed, choice, plan, certificates, tested, place.seconds, place.record.looks())
    results = summarize_solver(order, measured, out_of_reach(plan))
    write_json(place.path / SETTING, {**experiment.solver.parameters, **deployed})
    draw_all(results, place.path)
    write_report(results, place.path)
    results.save(place.path)
    place.finish()
    return results


def plan_for_solver(order: SolverOrder, timeout: float) -> Plan:
    """What will be certified: the mean, a quantile and the distribution of the running time, and how often it solves.

    The level of the quantile is the one that the file asks for, or the highest that the number of instances allows.
    """
    pool, level = order.experiment.pool, order.experiment.quantile
    size = pool.sizes[Role.held_out.text]
    if level is None:
        delta = (1 - CONFIDENCE) * PARTS["quantile"] / sum(PARTS.values())
        level = next((each for each in LEVELS if size >= math.log(delta) / math.log(each)), LEVELS[-1])
    goals = {
        "seconds": Mean("seconds", timeout, "seconds"),
        "success": Probability("solved"),
        "quantile": Quantile("seconds", level, cap=timeout),
        "distribution": Distribution("seconds", timeout),
    }
    draws = tuple(pool.draw(role, order.seed) for role in (Role.training, Role.validation))
    return Plan(goals, confidence=CONFIDENCE, parts=PARTS, sizes={Role.held_out.text: size}, draws=draws)


def _limit(order: SolverOrder, place: RunDirectory) -> float:
    """The time limit: that of the file, or some multiple of the longest run of the defaults on training instances."""
    given = order.experiment.timeout
    if given is not None:
        return given
    runs = _measured(order, "defaults", {"defaults": {}}, Role.training, LONGEST, place)["defaults"]
    solved = runs["seconds"][runs["outcome"] == "solved"]
    if not solved.size:
        raise ValueError(
            f"`solve` has solved none of the {len(runs['seconds'])} training instances in {LONGEST:g} s each, so no "
            "time limit can be derived: give `timeout`, in seconds."
        )
    return float(f"{min(max(TIMES_LONGEST * solved.max(), SHORTEST), LONGEST):.2g}")


def _tuned(order: SolverOrder, timeout: float, place: RunDirectory) -> dict[str, Any]:
    """The best setting on the training instances; empty if nothing beats the defaults, or nothing may be tuned."""
    experiment = order.experiment
    if not experiment.solver.space:
        return {}

    def search() -> dict[str, Any]:
        found = tune_solver(
            experiment.solver, experiment.pool.of_role(Role.training, order.seed), timeout=timeout,
            trials=order.trials, seed=order.seed, memory=experiment.memory, executor=place.executor,
            record=place.evaluations / "tuning.jsonl", progress=True,
        )  # fmt: skip
        return found.parameters

    def read(path: Path) -> dict[str, Any]:
        return json.loads(path.read_text())

    return place.kept("tuning", ".json", search, lambda found, path: write_json(path, found), read)


def _measured(
    order: SolverOrder, stage: str, settings: Mapping[str, Mapping[str, Any]], role: Role, timeout: float,
    place: RunDirectory,
) -> dict[str, dict[str, np.ndarray]]:  # fmt: skip
    """Values by setting and name, (problem, replicate): all settings run on an instance before the next one comes.

    So what else the machine does affects all of them alike.
    """
    experiment = order.experiment
    instances = experiment.pool.of_role(role, order.seed)
    different = {json.dumps(dict(each), sort_keys=True, default=str): dict(each) for each in settings.values()}

    def measure() -> dict[str, Any]:
        tasks = [Task(number, each) for number in range(len(instances)) for each in different.values()]
        record = place.evaluations / f"{stage}.jsonl"
        limits = {"timeout": timeout, "memory": experiment.memory}
        bench = Bench(experiment.solver, instances, **limits, executor=place.executor, record=record)
        with counted(True, stage, [len(tasks)]) as count, bench:
            runs = bench.run(tasks, lambda done: count(0, done))
        found = {}
        for number, name in enumerate(different):
            own = runs[number :: len(different)]
            if failures := failures_in(own, 1):
                place.console.print(f"{words(different[name]) or 'defaults'}: {failures}", markup=False)
            found |= {f"{name}|{key}": each for key, each in _values(own, timeout).items()}
        return found

    arrays = place.arrays(stage, measure)
    by_setting: dict[str, dict[str, np.ndarray]] = {name: {} for name in different}
    for key, each in arrays.items():
        setting, name = key.rsplit("|", 1)
        by_setting[setting][name] = each
    names = {name: json.dumps(dict(each), sort_keys=True, default=str) for name, each in settings.items()}
    return {name: by_setting[key] for name, key in names.items()}


def _values(runs: list[Run], timeout: float) -> dict[str, np.ndarray]:
    performance = performance_of(runs, (len(runs), 1), timeout)
    return {**performance.values, "outcome": performance.outcome}
