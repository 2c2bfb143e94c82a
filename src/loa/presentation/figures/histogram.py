"""The distribution of a performance functional with its bounds: the lower panels of the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...certificates.certificate import Certificate
from ...results.run_results import Results

Values = NDArray[np.floating]

WIDEST = 4.0
"""The picture is at most so many times wider than the bulk of the values; what lies beyond is named, not drawn."""
BULK = 0.975
LEAST = {"stopping_time": 3.0, "contraction_factor": 0.005}
"""Values that differ by less are not magnified further."""


class Mark(NamedTuple):
    """A number to be marked: "mean", "median", "certificate", "paper" or "cap"."""

    kind: str
    value: float
    vacuous: bool = False


class Row(NamedTuple):
    """The values of one algorithm in short: 95 % of them lie between low and high."""

    name: str
    low: float
    median: float
    mean: float
    high: float


class Histogram(NamedTuple):
    """What is drawn.

    Fields:
        edges, shares: of the bins; the share of the learned algorithm's values in each.
        limits: the range to be seen.
        beyond: the share of values that are too large for any bin.
        marks: in the order of the legend.
        rows: one for each algorithm.
    """

    functional: str
    edges: Values
    shares: Values
    limits: tuple[float, float]
    beyond: float
    marks: tuple[Mark, ...]
    rows: tuple[Row, ...]


def histogram(results: Results, functional: str) -> Histogram:
    """Values of the learned algorithm on the test problems, with what is known and certified about them."""
    names = [str(name) for name in results.performance["algorithm"].values]
    values = results.performance[functional].transpose("algorithm", ...).values.reshape(len(names), -1).astype(float)
    rows = tuple(_row(name, each) for name, each in zip(names, values, strict=True))
    learned = np.sort(values[0])
    marks = _marks(results, functional, rows[0])
    least = LEAST[functional]
    low, high = _range(learned, [mark.value for mark in marks if not mark.vacuous], least)
    seen = learned[learned <= high]
    edges = _edges(seen, least)
    if functional == "stopping_time":
        edges = _whole(seen, edges[1] - edges[0], results.performance.attrs["horizon"])
    shares = np.histogram(seen, edges)[0] / learned.size
    beyond = 1 - seen.size / learned.size
    return Histogram(functional, edges, shares, _limits(low, high, edges, least), beyond, marks, rows)


def _row(name: str, values: Values) -> Row:
    low, median, high = np.quantile(values, [0.025, 0.5, 0.975], method="inverted_cdf")
    return Row(name, float(low), float(median), float(values.mean()), float(high))


def _marks(results: Results, functional: str, learned: Row) -> tuple[Mark, ...]:
    ours = results.certificates.get(functional.replace("_", " "))
    paper = next((each for each in results.references if (each.kind, each.functional) == ("paper", functional)), None)
    found = [Mark("mean", learned.mean), Mark("median", learned.median)]
    for kind, certificate in (("certificate", ours), ("paper", paper)):
        if certificate is not None:
            found.append(Mark(kind, certificate.bound, certificate.vacuous))
    cap = _cap(results, functional, [each for each in (ours, paper) if each is not None])
    return (*found, Mark("cap", cap)) if cap is not None else tuple(found)


def _cap(results: Results, functional: str, certificates: Sequence[Certificate]) -> float | None:
    if functional == "stopping_time":
        return float(results.performance.attrs["horizon"])
    caps = [each.cap for each in certificates if each.cap is not None and np.isfinite(each.cap)]
    return caps[0] if caps else None


def _range(ordered: Values, marked: Sequence[float], least: float) -> tuple[float, float]:
    """The range of all values and marks that do not squeeze the bulk of the values."""
    low = ordered[0]
    bulk = max(np.quantile(ordered, BULK, method="inverted_cdf"), *marked[:2])
    room = WIDEST * max(bulk - low, least)
    both = np.concatenate([ordered, marked])
    within = both[np.isfinite(both) & (np.abs(both - low) <= room)]
    return float(within.min()), float(within.max())


def _edges(ordered: Values, least: float) -> Values:
    """Bins by the rule of Freedman and Diaconis, but between 10 and 50 of them."""
    first, last = ordered[0], ordered[-1]
    span = max(last - first, least)
    quarter, three_quarters = np.quantile(ordered, [0.25, 0.75])
    width = np.clip(2 * (three_quarters - quarter) / ordered.size ** (1 / 3), span / 50, span / 10)
    if last - first < width:
        return (first + last) / 2 + span / 20 * np.array([-1.0, 1.0])
    return np.linspace(first, last, int(np.ceil((last - first) / width - 1e-9)) + 1)


def _whole(ordered: Values, width: float, horizon: float) -> Values:
    """Bins of whole numbers, each in the middle of a unit; there are none beyond the horizon."""
    width = max(1.0, np.round(width))
    edges = ordered[0] - 0.5 + width * np.arange((ordered[-1] - ordered[0]) // width + 2)
    return np.minimum(edges, horizon + 0.5)


def _limits(low: float, high: float, edges: Values, least: float) -> tuple[float, float]:
    """The range of bins and marks with a margin; from zero on, if zero is near."""
    low, high = min(low, edges[0]), max(high, edges[-1])
    margin = max(0.05 * (high - low), least - (high - low) / 2)
    from_zero = -0.5 <= low <= 0.25 * (high - low)
    return float(min(0.0, low) if from_zero else low - margin), float(high + margin)
