"""The results of a run with a solver of any kind, from what was measured and certified."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...certificates import Certificate, Plan
from ...certificates.bounds.rounding import number_exact
from ...deployment.any_solver.space import words
from ...results.algorithm_summary import AlgorithmSummary, FunctionalSummary
from ...results.certificate_summary import CertificateSummary
from ...results.choice import Choice
from ...results.run_results import Results
from ...results.summary import RESERVED, RunSummary
from ...trajectory.units import unit_of
from ..certification import CONFIDENCE
from ..record import Looks
from ..summary import on_test, provenance, seconds_by_stage

if TYPE_CHECKING:
    import xarray

    from .script import SolverOrder

TITLES = {"seconds": "Running time", "cpu_seconds": "CPU time"}


class Measured(NamedTuple):
    """What the stages of a run found.

    Fields:
        timeout: the time limit.
        deployed: the setting that was chosen.
        choice: against what.
        plan: what was to be certified.
        certificates: that hold together, by name.
        tested: values on the test instances by algorithm and name, (problem, replicate); what is deployed comes first.
        seconds: how long each stage took.
        looks: which look at these instances this is.
    """

    timeout: float
    deployed: Mapping[str, Any]
    choice: Choice
    plan: Plan
    certificates: Mapping[str, Certificate]
    tested: Mapping[str, Mapping[str, np.ndarray]]
    seconds: Mapping[str, float]
    looks: Looks


def summarize_solver(order: SolverOrder, found: Measured, notes: tuple[str, ...]) -> Results:
    """The results of a run, for tables, figures and report."""
    experiment, pool = order.experiment, order.experiment.pool
    functionals = _functionals(found)
    described = {name: _described(values, functionals) for name, values in found.tested.items()}
    deployed, *_ = described
    learned = described.pop(deployed)
    summary = RunSummary(
        experiment=experiment.name,
        title=experiment.title or f"{experiment.solver.name}, from {order.file.name}",
        preset=order.preset,
        pretrained=False,
        seed=order.seed,
        t_max=found.timeout,
        criterion=f"{experiment.solver.name} returns within the time limit, without an error",
        dimension=0,
        algorithm=experiment.solver.at(**found.deployed).words,
        sizes=dict(pool.sizes),
        confidence=CONFIDENCE,
        functionals=functionals,
        learned=learned,
        baselines=described,
        certificates=_certificates(found, found.tested[deployed]),
        candidates=0,
        choice=found.choice,
        notes=(*_notes(order, found), *notes),
        plan=found.plan.fingerprint,
        look=found.looks.number,
        earlier_seeds=found.looks.earlier_seeds,
        seconds=_seconds(found.seconds),
        provenance=provenance(order.command, order.file),
    )
    return Results(summary, found.certificates, (), _data(found, functionals))


def _functionals(found: Measured) -> tuple[FunctionalSummary, ...]:
    """Seconds, and whatever all settings report; only seconds have a largest value."""
    names = [name for name in next(iter(found.tested.values())) if name != "outcome" and name not in TAKEN]
    common = [name for name in names if all(name in values for values in found.tested.values())]
    titles = {name: TITLES.get(name, name.replace("_", " ").capitalize()) for name in common}
    caps = {"seconds": found.timeout}
    return tuple(FunctionalSummary(name, titles[name], unit_of(name), "", caps.get(name)) for name in common)


TAKEN = set(RESERVED) - {"seconds"}


def _described(values: Mapping[str, np.ndarray], functionals: tuple[FunctionalSummary, ...]) -> AlgorithmSummary:
    caps = {each.name: each.cap for each in functionals}
    by_name = {name: values[name] for name in caps}
    return AlgorithmSummary.of(by_name, values["outcome"], math.nan, family="", caps=caps)


def _certificates(found: Measured, tested: Mapping[str, np.ndarray]) -> tuple[CertificateSummary, ...]:
    return tuple(
        CertificateSummary.of(name, each, test=on_test(each, tested), together=True)
        for name, each in found.certificates.items()
    )


def _notes(order: SolverOrder, found: Measured) -> tuple[str, ...]:
    """What a reader of the certificates must know."""
    experiment = order.experiment
    setting = words({**experiment.solver.parameters, **found.deployed}) or "the solver's own defaults"
    limit = f"A run is killed after {number_exact(found.timeout)} seconds"
    origin = "." if experiment.timeout is not None else ", a limit that was derived from training instances."
    return (
        f"The setting that is deployed: {setting}.",
        f"{limit}{origin} Runs that fail or are killed count as the limit.",
        f"There are {experiment.pool.words}, each used once.",
        "Running times are those of the machine below: the certificates are about instances that are solved on it, "
        f"under a load like that of this run.{_load()}",
    )


def _load() -> str:
    """How busy the machine is at the end of the run, where the operating system tells it."""
    if not hasattr(os, "getloadavg"):
        return ""
    busy = f"{os.getloadavg()[2]:.1f} processes were running or waiting on average for its {os.cpu_count()} cores"
    return f" In the quarter of an hour before the end, {busy}."


def _seconds(stages: Mapping[str, float]) -> dict[str, float]:
    """Tuning is what other runs call training."""
    names = {"tuning": "learn", "defaults": "learn"}
    known: dict[str, float] = {}
    for stage, spent in stages.items():
        name = names.get(stage, stage)
        known[name] = known.get(name, 0.0) + spent
    return {stage: spent for stage, spent in seconds_by_stage(known).items() if stage not in ("prior", "posterior")}


def _data(found: Measured, functionals: tuple[FunctionalSummary, ...]) -> xarray.Dataset:
    """Everything that figures are drawn from."""
    import xarray

    columns, dims = list(found.tested.values()), ("algorithm", "problem", "replicate")
    names = [each.name for each in functionals]
    data: dict[str, Any] = {name: (dims, np.stack([each[name] for each in columns]).astype(float)) for name in names}
    data["outcome"] = (dims, np.stack([each["outcome"].astype("<U10") for each in columns]))
    attributes: dict[str, Any] = {"horizon": found.timeout}
    certified = found.certificates["distribution"]
    if certified.band:
        data["band_value"], data["band_share"] = (
            ("band", np.asarray(part)) for part in zip(*certified.band, strict=True)
        )
        attributes["band_confidence"] = certified.confidence
    return xarray.Dataset(data, {"algorithm": list(found.tested)}, attributes)
