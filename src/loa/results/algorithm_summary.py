"""Algorithms in numbers: measures of their functionals on the test problems, and what functionals are called."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..statistics import measures
from ..storage.plain_json import decoded, encoded
from ..trajectory.functionals import Functional
from .intervals import Ends, bounded, mean_interval
from .names import MEASURES

OWN = ("family", "solved", "solved_interval", "milliseconds")
"""Numbers of an algorithm that are no functionals."""


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
        cap = float(largest) if math.isfinite(largest) else None
        return cls(functional.name, functional.title, functional.unit, functional.symbol, cap)

    @property
    def noun(self) -> str:
        """The title inside a sentence: "stopping time", but "CPU energy"."""
        return self.title if self.title[1:2].isupper() else self.title[:1].lower() + self.title[1:]

    @property
    def with_unit(self) -> str:
        """The title inside a sentence or beside an axis, with the unit where the title does not say it."""
        return f"{self.noun} ({self.unit})" if self.unit and self.unit != self.noun else self.noun


@dataclass(frozen=True)
class Measured:
    """Measures of one functional on the test problems, with intervals by measure.

    Those of `cvar95`, and of the mean where there is no cap, are approximate: they miss rare failures.
    """

    mean: float
    median: float
    q95: float
    cvar95: float
    intervals: Mapping[str, Ends]

    @classmethod
    def of(cls, values: Any, cap: float | None = None) -> Measured:
        """From values on the test problems, (problem, replicate); NaN in all measures if any value is NaN.

        With a cap, the interval of the mean covers for any number of problems; without one it is Student's.
        """
        if np.isnan(np.asarray(values, float)).any():
            return cls(*[math.nan] * len(MEASURES), intervals=dict.fromkeys(MEASURES, (None, None)))
        found = measures.summary(values)._asdict()
        intervals = {name: (bounded(number.low), bounded(number.high)) for name, number in found.items()}
        if cap is not None:
            intervals["mean"] = mean_interval(values, cap)
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
        cls,
        values: Mapping[str, Any],
        outcome: np.ndarray,
        milliseconds: float,
        *,
        family: str = "",
        caps: Mapping[str, float | None] | None = None,
    ) -> AlgorithmSummary:
        """From values by functional, (problem, replicate), how each trajectory ended, and the largest values."""
        solved = measures.probability(outcome == "solved")
        numbers = {name: Measured.of(each, (caps or {}).get(name)) for name, each in values.items()}
        return cls(family, numbers, float(solved), (solved.low, solved.high), float(milliseconds))

    def average(self, cost: str) -> float:
        """The average cost per problem, of a functional or in "milliseconds"; NaN if it was not measured."""
        if cost == "milliseconds":
            return self.milliseconds
        return self.functionals[cost].mean if cost in self.functionals else math.nan

    def to_json(self) -> dict[str, Any]:
        """Functionals stand beside the other numbers, under their names."""
        others = {name: getattr(self, name) for name in OWN}
        return encoded({name: dataclasses.asdict(each) for name, each in self.functionals.items()} | others)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> AlgorithmSummary:
        content = decoded(content)
        functionals = {
            name: Measured(**{**each, "intervals": {key: tuple(each["intervals"][key]) for key in MEASURES}})
            for name, each in content.items()
            if name not in OWN
        }
        ends = tuple(content["solved_interval"])
        return cls(content.get("family", ""), functionals, content["solved"], ends, content["milliseconds"])
