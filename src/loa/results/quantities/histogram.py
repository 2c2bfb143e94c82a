"""Histograms of a functional, with what is known and certified about the learned algorithm's mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..algorithm_summary import FunctionalSummary
from ..summary import RunSummary
from .values import Array, quantile, values

if TYPE_CHECKING:
    import xarray

WIDEST = 4.0
"""The picture is at most this many times wider than the bulk of the values; what lies beyond is named, not drawn."""
BULK = 0.975
LEAST_WHOLE, LEAST_SHARE = 3.0, 0.005
"""Values that differ by less than this, or by less than this share of the cap, are not magnified further."""
MOST_BARS = 1000


class Bars(NamedTuple):
    """The bars that are not empty, from `left` to `right`, and the share of values in each."""

    left: Array
    right: Array
    shares: Array

    def outline(self) -> tuple[Array, Array]:
        """Edges and heights without gaps: where there is no bar, the height is zero."""
        edges, heights = [*self.left[:1]], []
        for left, right, share in zip(*self, strict=True):
            if left > edges[-1]:
                edges.append(left)
                heights.append(0.0)
            edges.append(right)
            heights.append(share)
        return np.array(edges), np.array(heights)


class Mark(NamedTuple):
    """A number to be marked: "mean", "median", "certificate", "paper" or "cap"."""

    kind: str
    value: float
    vacuous: bool = False


class Row(NamedTuple):
    """The values of one algorithm in short: 95% of them lie between low and high."""

    name: str
    low: float
    median: float
    mean: float
    high: float


class Histogram(NamedTuple):
    """What is drawn.

    Fields:
        whole: whether all values are whole numbers.
        bars: of each algorithm, the learned one first; values that are not finite are in no bar, but count.
        limits: the range in which the learned algorithm is seen well.
        beyond: the share of its values that lie above this range, or are not finite.
        marks: in the order of the legend.
        rows: one for each algorithm.
    """

    functional: FunctionalSummary
    whole: bool
    bars: dict[str, Bars]
    limits: tuple[float, float]
    beyond: float
    marks: tuple[Mark, ...]
    rows: tuple[Row, ...]

    def farthest(self) -> float:
        """The end of the learned algorithm's bars, or the farthest mark other than the cap."""
        marked = [mark.value for mark in self.marks if mark.kind != "cap" and not mark.vacuous]
        return max([each for each in marked if np.isfinite(each)] + [*next(iter(self.bars.values())).right[-1:], 0.0])


class Lattice(NamedTuple):
    """Where bars begin and end: bar k reaches from `origin + k * width` to the next one, but not beyond `last`."""

    origin: float
    width: float
    last: float

    def bars(self, sample: Array) -> Bars:
        """The bars of a sample; twice as wide, or more, if there would be too many."""
        finite = sample[np.isfinite(sample)]
        places, counts = np.unique(np.floor((finite - self.origin) / self.width), return_counts=True)
        if places.size > MOST_BARS:
            return self._replace(width=2 * self.width).bars(sample)
        left, right = (self.origin + self.width * (places + shift) for shift in (0, 1))
        return Bars(left, np.minimum(right, self.last), counts / sample.size)


def histogram(summary: RunSummary, performance: xarray.Dataset, name: str) -> Histogram:
    """The histogram of a functional on the test problems."""
    functional = summary.functional(name)
    samples = {each: array.astype(float).ravel() for each, array in values(performance, name).items()}
    learned = next(iter(samples.values()))
    marks = _marks(summary, functional)
    rows = tuple(_row(each, sample) for each, sample in samples.items())
    ordered = np.sort(learned[np.isfinite(learned)])
    whole = _whole(functional, np.concatenate([*samples.values()]))
    if not ordered.size:
        return Histogram(functional, whole, _no_bars(samples), (0.0, 1.0), 1.0, marks, rows)
    least = LEAST_WHOLE if whole else LEAST_SHARE * (functional.cap or abs(quantile(ordered, 0.5)) or 1.0)
    low, high = _range(ordered, marks, least)
    lattice = _lattice(ordered[ordered <= high], least, whole, functional.cap)
    bars = {each: lattice.bars(sample) for each, sample in samples.items()}
    left, right, _ = next(iter(bars.values()))
    last = float(right[left <= high].max())
    limits = _limits(min(low, lattice.origin), max(high, last), least)
    return Histogram(functional, whole, bars, limits, float((~(learned <= high)).mean()), marks, rows)


def _no_bars(samples: dict[str, Array]) -> dict[str, Bars]:
    lattice = Lattice(0.0, 1.0, np.inf)
    return {name: lattice.bars(sample) for name, sample in samples.items()}


def _row(name: str, sample: Array) -> Row:
    low, median, high = (quantile(sample, level) for level in (0.025, 0.5, 0.975))
    return Row(name, low, median, float(sample.mean()), high)


def _whole(functional: FunctionalSummary, sample: Array) -> bool:
    """Whether values are counts; a functional without a unit that is always the same whole number is none."""
    finite = sample[np.isfinite(sample)]
    counts = bool(finite.size) and bool((finite == np.round(finite)).all())
    return counts and (bool(functional.unit) or bool(np.ptp(finite) >= 1))


def _marks(summary: RunSummary, functional: FunctionalSummary) -> tuple[Mark, ...]:
    measured = summary.learned.functionals[functional.name]
    found = [Mark(kind, value) for kind in ("mean", "median") if not np.isnan(value := getattr(measured, kind))]
    ours, paper = summary.certified_mean(functional.name), summary.paper_bound(functional.name)
    for kind, certificate in (("certificate", ours), ("paper", paper)):
        if certificate is not None:
            found.append(Mark(kind, certificate.bound, certificate.vacuous))
    caps = [functional.cap, *(each.cap for each in (ours, paper) if each is not None)]
    cap = next((each for each in caps if each is not None and np.isfinite(each)), None)
    return (*found, Mark("cap", float(cap))) if cap is not None else tuple(found)


def _range(ordered: Array, marks: tuple[Mark, ...], least: float) -> tuple[float, float]:
    """The range of all values and marks that do not squeeze the bulk of the values."""
    marked = np.array([mark.value for mark in marks if not mark.vacuous and np.isfinite(mark.value)])
    centres = [mark.value for mark in marks if mark.kind in ("mean", "median") and np.isfinite(mark.value)]
    low = ordered[0]
    room = WIDEST * max(max([quantile(ordered, BULK), *centres]) - low, least)
    both = np.concatenate([ordered, marked])
    within = both[np.abs(both - low) <= room]
    return float(within.min()), float(within.max())


def _lattice(ordered: Array, least: float, whole: bool, cap: float | None) -> Lattice:
    """Bars by the rule of Freedman and Diaconis, but between 10 and 50 of them; of whole numbers, around each."""
    first, last = float(ordered[0]), float(ordered[-1])
    span = max(last - first, least)
    quarter, three_quarters = np.quantile(ordered, [0.25, 0.75])
    width = float(np.clip(2 * (three_quarters - quarter) / ordered.size ** (1 / 3), span / 50, span / 10))
    if whole:
        return Lattice(first - 0.5, max(1.0, float(np.round(width))), np.inf if cap is None else cap + 0.5)
    if last - first < width:
        return Lattice((first + last - span / 10) / 2, span / 10, np.inf)
    width = (last - first) / np.ceil((last - first) / width - 1e-9) * (1 + 1e-9)
    return Lattice(first, float(width), np.inf)


def _limits(low: float, high: float, least: float) -> tuple[float, float]:
    """The range of bars and marks with a margin; from zero on, if zero is near."""
    margin = max(0.05 * (high - low), least - (high - low) / 2)
    from_zero = -0.5 <= low <= 0.25 * (high - low)
    return float(min(0.0, low) if from_zero else low - margin), float(high + margin)
