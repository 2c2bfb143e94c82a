"""Builds the results of a run from what was measured and certified."""

from __future__ import annotations

import dataclasses
import datetime
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from ..algorithms.algorithm import Algorithm
from ..architectures.in_words import family_of, in_words
from ..certificates import Certificate
from ..problems.vector_points import form_of_points
from ..results.algorithm_summary import AlgorithmSummary, FunctionalSummary
from ..results.certificate_summary import CertificateSummary
from ..results.choice import Choice
from ..results.run_results import Results
from ..results.summary import RunSummary
from ..statistics import measures
from ..storage.provenance import commit, versions
from .certification import CONFIDENCE, STOPPING, TRUNCATED
from .examination import STATISTICS, Examined
from .identity import of_file
from .over_log import log_summary
from .record import UNKNOWN, Looks

if TYPE_CHECKING:
    import xarray

    from .script import Order

STAGES = {"learn": "train", "guard": "train", "prior": "prior", "posterior": "posterior", "certify": "certify"}
"""Under which name the seconds of a stage are reported; all others belong to the evaluation."""


class Certified(NamedTuple):
    """The certificates that hold together, the references, and the number of candidates."""

    together: Mapping[str, Certificate]
    references: tuple[Certificate, ...]
    candidates: int


def summarize(
    order: Order,
    deployed: Algorithm,
    certified: Certified,
    examined: Examined,
    seconds: Mapping[str, float],
    choice: Choice,
    *,
    plan: str = "",
    looks: Looks = UNKNOWN,
    notes: tuple[str, ...] = (),
) -> Results:
    """The results of a run, from what was certified and examined.

    Arguments:
        seconds: how long each stage took.
        choice: what was chosen to be deployed, and against what.
        plan: the fingerprint of the plan that was fixed before posterior and held-out problems were drawn.
        looks: which look at the problem class this is, by the ledger.
        notes: what a reader of the certificates must know, besides what the experiment says.
    """
    experiment, log = order.experiment, order.experiment.recipe.log
    functionals = tuple(FunctionalSummary.of(each, experiment.horizon) for each in experiment.functionals)
    caps = {each.name: each.cap for each in functionals}
    described = {
        name: _described(values, caps, examined.families.get(name, ""))
        for name, values in examined.by_algorithm.items()
    }
    learned = described.pop("learned")
    family = learned.family or family_of(deployed)
    summary = RunSummary(
        experiment=experiment.name,
        title=experiment.presentation.title,
        preset=order.preset,
        pretrained=order.pretrained,
        seed=order.seed,
        t_max=experiment.horizon,
        criterion=str(experiment.criterion),
        dimension=_dimension(order),
        algorithm=in_words(deployed),
        sizes=dict(experiment.sizes),
        confidence=CONFIDENCE,
        functionals=functionals,
        learned=dataclasses.replace(learned, family=family),
        baselines=described,
        certificates=_certificates(certified, examined.by_algorithm["learned"]),
        candidates=certified.candidates,
        choice=choice,
        published={name: dict(numbers) for name, numbers in experiment.presentation.published.items()},
        more_tests={name: _described(values, caps, family) for name, values in examined.more_tests.items()},
        notes=(*experiment.presentation.notes, *notes),
        log={} if log is None or examined.over_log is None else log_summary(log, examined.over_log),
        plan=plan,
        look=looks.number,
        earlier_seeds=looks.earlier_seeds,
        seconds=seconds_by_stage(seconds),
        provenance=provenance(order.command, order.file),
    )
    return Results(summary, certified.together, certified.references, _data(examined, list(caps), certified, order),
                   examined.pictures)  # fmt: skip


def _described(values: Mapping[str, np.ndarray], caps: Mapping[str, float | None], family: str) -> AlgorithmSummary:
    by_name = {name: values[name] for name in caps}
    return AlgorithmSummary.of(by_name, values["outcome"], float(values["milliseconds"]), family=family, caps=caps)


def _certificates(certified: Certified, learned: Mapping[str, np.ndarray]) -> tuple[CertificateSummary, ...]:
    """Those that hold together under their names, then the references, by their places."""
    references = {str(place): each for place, each in enumerate(certified.references)}
    return tuple(
        CertificateSummary.of(name, each, test=on_test(each, learned), together=together)
        for group, together in ((certified.together, True), (references, False))
        for name, each in group.items()
    )


def on_test(certificate: Certificate, learned: Mapping[str, np.ndarray]) -> float | None:
    """What a certificate bounds, as it was on the test problems; None if it was not measured there."""
    if certificate.functional == "solved":
        values = learned["outcome"] == "solved"
    elif certificate.functional == TRUNCATED:
        values = np.minimum(np.asarray(learned[STOPPING], float), certificate.cap or np.inf)
    elif certificate.functional in learned:
        values = np.asarray(learned[certificate.functional], float)
    else:
        return None
    if np.isnan(values).any():
        return None
    if certificate.measure in ("mean", "probability"):
        return float(values.mean())
    if certificate.measure == "tail":
        assert certificate.threshold is not None
        return float((values > certificate.threshold).mean())
    if certificate.measure == "distribution":
        return float(measures.quantile(values, 0.5))
    assert certificate.level is not None
    measure = measures.quantile if certificate.measure == "quantile" else measures.cvar
    return float(measure(values, certificate.level))


def provenance(command: str, file: Path | None) -> dict[str, Any]:
    """Where the numbers come from."""
    return {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": command,
        "file": None if file is None else of_file(file.resolve()),
        "commit": commit(),
        "versions": versions(),
        "machine": {
            **machine(),
            "python": platform.python_version(),
            "devices": [str(device) for device in jax.devices()],
        },
    }


def machine() -> dict[str, Any]:
    """What running times depend on, besides the load."""
    return {"processor": _model() or platform.processor() or platform.machine(), "cores": os.cpu_count()}


def _model() -> str:
    """The name of the processor, where the operating system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _data(examined: Examined, names: list[str], certified: Certified, order: Order) -> xarray.Dataset:
    """Everything by algorithm, problem and time that figures are drawn from."""
    import xarray

    columns = list(examined.by_algorithm.values())
    dims = ("algorithm", "problem", "replicate")
    data: dict[str, Any] = {
        name: (dims, np.stack([column[name] for column in columns]).astype(float)) for name in names
    }
    data["outcome"] = (dims, np.stack([column["outcome"] for column in columns]))
    data["gap"] = (("algorithm", "time", "statistic"), np.stack([column["gap"] for column in columns]))
    if examined.features:
        data["feature"] = list(examined.features)
        data["features"] = (("problem", "feature"), np.stack(list(examined.features.values()), axis=1).astype(float))
    attributes: dict[str, Any] = {
        "horizon": order.experiment.horizon,
        "gap_problems": min(order.experiment.presentation.shown, order.experiment.sizes["test"]),
    }
    if examined.over_log is not None and order.experiment.recipe.log is not None:
        along = examined.over_log
        data["log_stopping_time"] = (("algorithm", "instance"), np.stack(list(along.times.values())))
        data |= {"log_place": ("instance", along.places), "log_role": ("instance", along.roles)}
        attributes["log_order"] = order.experiment.recipe.log.order
    times = [each for each in certified.together.values() if each.functional == "stopping_time" and each.band]
    for distribution in times[:1]:
        band = zip(*(distribution.band or ()), strict=True)
        data["band_value"], data["band_share"] = (("band", np.asarray(part)) for part in band)
        attributes["band_confidence"] = distribution.confidence
    coordinates = {
        "algorithm": list(examined.by_algorithm),
        "time": examined.times.astype(np.int32),
        "statistic": list(STATISTICS),
    }
    return xarray.Dataset(data, coordinates, attributes)


def _dimension(order: Order) -> int:
    experiment = order.experiment
    problem = jax.tree.map(lambda leaf: leaf[0], experiment.draw("test", order.seed, 1))
    return form_of_points(experiment.problem_class, problem).dimension


def seconds_by_stage(stages: Mapping[str, float]) -> dict[str, float]:
    seconds: dict[str, float] = dict.fromkeys(("train", "prior", "posterior", "certify", "evaluate"), 0.0)
    for stage, spent in stages.items():
        seconds[STAGES.get(stage, "evaluate")] += spent
    return {name: round(spent, 2) for name, spent in seconds.items()} | {"total": round(sum(seconds.values()), 2)}
