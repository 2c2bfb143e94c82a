"""What a run found, in typed numbers: the content of `summary.json`.

A `RunSummary` is built once, by the run. Tables, figures, the report and the documentation read from it and compute
nothing.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..statistics import measures
from ..trajectory.functionals import Functional

MEASURES = ("mean", "median", "q95", "cvar95")

RESERVED = (
    "family", "solved", "solved_interval", "milliseconds", "seconds",  # numbers of an algorithm
    "outcome", "gap", "features", "band_value", "band_share",  # variables of performance.nc
    "algorithm", "problem", "replicate", "time", "statistic", "feature", "band",  # its axes
    "success", "distribution",  # certificates of every run
)  # fmt: skip
"""Names of something else in the results, which no functional may have."""

Ends = tuple[float | None, float | None]
"""The ends of an interval; None where it is unbounded."""


@dataclass(frozen=True)
class FunctionalSummary:
    """How a functional is called in tables, figures and sentences, and the largest value it can have, if any."""

    name: str
    title: str
    unit: str
    symbol: str
    cap: float | None

    @classmethod
    def of(cls, functional: Functional, horizon: int) -> FunctionalSummary:
        largest = functional.largest(horizon)
        cap = largest if math.isfinite(largest) else None
        return cls(functional.name, functional.title, functional.unit, functional.symbol, cap)


@dataclass(frozen=True)
class Measured:
    """Measures of one functional on the test problems, with descriptive intervals by measure."""

    mean: float
    median: float
    q95: float
    cvar95: float
    intervals: Mapping[str, Ends]

    @classmethod
    def of(cls, values: Any) -> Measured:
        found = measures.summary(values)._asdict()
        intervals = {name: (_bounded(number.low), _bounded(number.high)) for name, number in found.items()}
        return cls(**{name: float(number) for name, number in found.items()}, intervals=intervals)


@dataclass(frozen=True)
class AlgorithmSummary:
    """One algorithm on the test problems.

    Fields:
        family: the class of the algorithm.
        functionals: measures of every functional, by its name.
        solved, solved_interval: the share of problems solved, with its interval.
        milliseconds: wall-clock time per problem.
    """

    family: str
    functionals: Mapping[str, Measured]
    solved: float
    solved_interval: Ends
    milliseconds: float

    @classmethod
    def of(
        cls, values: Mapping[str, Any], outcome: np.ndarray, milliseconds: float, *, family: str = ""
    ) -> AlgorithmSummary:
        """From values by functional, (problem, replicate), and how each trajectory ended."""
        solved = measures.probability(outcome == "solved")
        numbers = {name: Measured.of(each) for name, each in values.items()}
        return cls(family, numbers, float(solved), (solved.low, solved.high), float(milliseconds))

    def to_json(self) -> dict[str, Any]:
        """Functionals stand beside the other numbers, under their names."""
        others = {name: getattr(self, name) for name in ("family", "solved", "solved_interval", "milliseconds")}
        return {name: dataclasses.asdict(each) for name, each in self.functionals.items()} | others

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> AlgorithmSummary:
        functionals = {
            name: Measured(**{**each, "intervals": {key: tuple(ends) for key, ends in each["intervals"].items()}})
            for name, each in content.items()
            if name not in RESERVED
        }
        ends = tuple(content["solved_interval"])
        return cls(content.get("family", ""), functionals, content["solved"], ends, content["milliseconds"])


@dataclass(frozen=True)
class CertificateSummary:
    """A certificate beside what was seen on the test problems.

    Fields:
        name: under which the certificate stands in `certificates.json`, or for a reference its place there.
        test: the same measure on the test problems; None if it was not measured there.
        together: whether it holds together with the others; a reference has the whole confidence to itself.
    """

    name: str
    functional: str
    kind: str
    target: str
    measure: str
    bound: float
    empirical: float
    confidence: float
    n: int
    cap: float | None
    test: float | None
    together: bool
    vacuous: bool
    sentence: str


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """All numbers of a run, as in `summary.json`."""

    experiment: str
    title: str
    preset: str
    pretrained: bool
    seed: int
    t_max: int
    criterion: str
    dimension: int
    algorithm: str
    sizes: Mapping[str, int]
    confidence: float
    functionals: tuple[FunctionalSummary, ...]
    learned: AlgorithmSummary
    baselines: Mapping[str, AlgorithmSummary]
    certificates: tuple[CertificateSummary, ...]
    candidates: int
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    more_tests: Mapping[str, AlgorithmSummary] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    claims: tuple[Mapping[str, Any], ...] = ()
    plan: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def algorithms(self) -> dict[str, AlgorithmSummary]:
        """The learned algorithm, under that name, and the baselines."""
        return {"learned": self.learned, **self.baselines}

    def functional(self, name: str) -> FunctionalSummary:
        return next(each for each in self.functionals if each.name == name)

    def to_json(self) -> dict[str, Any]:
        """Plain values for `summary.json`; what is not finite becomes text."""
        content = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        content |= {
            "functionals": [dataclasses.asdict(each) for each in self.functionals],
            "learned": self.learned.to_json(),
            "baselines": {name: each.to_json() for name, each in self.baselines.items()},
            "certificates": [dataclasses.asdict(each) for each in self.certificates],
            "more_tests": {name: each.to_json() for name, each in self.more_tests.items()},
        }
        return _encoded(content)

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> RunSummary:
        """The inverse of `to_json`."""
        content: dict[str, Any] = _decoded(saved)
        content |= {
            "functionals": tuple(FunctionalSummary(**each) for each in content["functionals"]),
            "learned": AlgorithmSummary.from_json(content["learned"]),
            "baselines": {name: AlgorithmSummary.from_json(each) for name, each in content["baselines"].items()},
            "certificates": tuple(CertificateSummary(**each) for each in content["certificates"]),
            "more_tests": {name: AlgorithmSummary.from_json(each) for name, each in content["more_tests"].items()},
            "notes": tuple(content["notes"]),
            "claims": tuple(content["claims"]),
        }
        return cls(**content)


def _bounded(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _encoded(value: Any) -> Any:
    """JSON has no infinity and no NaN: they are the texts "Infinity", "-Infinity" and "NaN"."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {name: _encoded(each) for name, each in value.items()}
    return [_encoded(each) for each in value] if isinstance(value, Sequence) and not isinstance(value, str) else value


def _decoded(value: Any) -> Any:
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    if isinstance(value, Mapping):
        return {name: _decoded(each) for name, each in value.items()}
    return [_decoded(each) for each in value] if isinstance(value, list) else value
