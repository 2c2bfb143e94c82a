"""What was measured and certified, put together as the results of a run."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from ..algorithms.algorithm import Algorithm
from ..certificates import Certificate
from ..results.run_results import Results
from ..statistics import measures
from ..storage.provenance import commit, versions
from .certification import CONFIDENCE
from .examination import STATISTICS, Examined

if TYPE_CHECKING:
    import xarray

    from .script import Order

STAGES = {"learn": "train", "prior": "prior", "posterior": "posterior", "certify": "certify"}
"""Under which name the seconds of a stage are reported; all others belong to the evaluation."""


class Certified(NamedTuple):
    """The certificates that hold together, the references, and the number of candidates."""

    together: Mapping[str, Certificate]
    references: tuple[Certificate, ...]
    candidates: int


def summarize(
    order: Order, deployed: Algorithm, certified: Certified, examined: Examined, seconds: Mapping[str, float]
) -> Results:
    """The results of a run."""
    experiment = order.experiment
    names = [functional.name for functional in experiment.functionals]
    described = {name: describe(values, names) for name, values in examined.by_algorithm.items()}
    learned = described.pop("learned")
    summary = {
        "experiment": experiment.name,
        "title": experiment.presentation.title,
        "preset": order.preset,
        "pretrained": order.pretrained,
        "seed": order.seed,
        "t_max": experiment.horizon,
        "criterion": str(experiment.criterion),
        "dimension": _dimension(order),
        "algorithm": type(deployed).__name__,
        "sizes": dict(experiment.sizes),
        "confidence": CONFIDENCE,
        "learned": learned,
        "baselines": described,
        "certificates": [
            *(_entry(each, learned, True) for each in certified.together.values()),
            *(_entry(each, learned, False) for each in certified.references),
        ],
        "published": {name: dict(numbers) for name, numbers in experiment.presentation.published.items()},
        "candidates": certified.candidates,
        "more_tests": {name: describe(values, names) for name, values in examined.more_tests.items()},
        "notes": list(experiment.presentation.notes),
        "seconds": _seconds(seconds),
        "provenance": provenance(order),
    }
    data = _data(examined, names, certified.together["distribution"], order)
    return Results(summary, certified.together, certified.references, data, examined.pictures)


def describe(values: Mapping[str, np.ndarray], functionals: list[str]) -> dict[str, Any]:
    """Measures of every functional with their intervals, the share of problems solved, and the time for each."""
    numbers: dict[str, Any] = {}
    for name in functionals:
        found = measures.summary(values[name])._asdict()
        numbers[name] = {key: float(number) for key, number in found.items()}
        numbers[name]["intervals"] = {key: [_finite(number.low), _finite(number.high)] for key, number in found.items()}
    solved = measures.probability(values["outcome"] == "solved")
    return {
        **numbers,
        "solved": float(solved),
        "solved_interval": [solved.low, solved.high],
        "milliseconds": float(values["milliseconds"]),
    }


def provenance(order: Order) -> dict[str, Any]:
    """Where the numbers come from."""
    return {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": order.command,
        "commit": commit(),
        "versions": versions(),
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "devices": [str(device) for device in jax.devices()],
        },
    }


def _entry(certificate: Certificate, learned: Mapping[str, Any], together: bool) -> dict[str, Any]:
    """A certificate beside what was seen on the test problems."""
    wanted = ("functional", "kind", "target", "measure", "bound", "empirical", "confidence", "n", "cap")
    content = certificate.to_dict()
    on_test = {"quantile": "q95", "distribution": "median"}.get(certificate.measure, certificate.measure)
    test = learned["solved"] if on_test == "probability" else learned[certificate.functional][on_test]
    return {name: content[name] for name in wanted} | {
        "test": test,
        "together": together,
        "vacuous": bool(certificate.vacuous),
        "sentence": certificate.sentence(),
    }


def _data(examined: Examined, names: list[str], distribution: Certificate, order: Order) -> xarray.Dataset:
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
    if distribution.band:
        data["band_value"], data["band_share"] = (
            ("band", np.asarray(part)) for part in zip(*distribution.band, strict=True)
        )
    coordinates = {
        "algorithm": list(examined.by_algorithm),
        "time": examined.times.astype(np.int32),
        "statistic": list(STATISTICS),
    }
    attributes = {
        "horizon": order.experiment.horizon,
        "gap_problems": min(order.experiment.presentation.shown, order.experiment.sizes["test"]),
        "band_confidence": distribution.confidence,
    }
    return xarray.Dataset(data, coordinates, attributes)


def _dimension(order: Order) -> int:
    experiment = order.experiment
    problem = jax.tree.map(lambda leaf: leaf[0], experiment.draw("test", order.seed, 1))
    start = jax.eval_shape(lambda: experiment.problem_class.start(problem, jax.random.key(0)))
    return int(np.prod(start.shape))


def _seconds(stages: Mapping[str, float]) -> dict[str, float]:
    seconds: dict[str, float] = dict.fromkeys(("train", "prior", "posterior", "certify", "evaluate"), 0.0)
    for stage, spent in stages.items():
        seconds[STAGES.get(stage, "evaluate")] += spent
    return {name: round(spent, 2) for name, spent in seconds.items()} | {"total": round(sum(seconds.values()), 2)}


def _finite(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None
