"""What the plots show, as plain arrays: evolution, histograms, distribution functions, performance profiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..figures.profile import performance_profile

if TYPE_CHECKING:
    import xarray

Array = np.ndarray

MOST_TIMES, MOST_BINS = 400, 400


class Steps(NamedTuple):
    """A function that is constant between its jumps: `y[k]` from `x[k]` on."""

    x: Array
    y: Array

    def at(self, points: Array) -> Array:
        """Its values; zero before the first jump."""
        ranks = np.searchsorted(self.x, points, side="right")
        return np.concatenate([[0.0], self.y])[ranks]


class Evolution(NamedTuple):
    """The gap over time; what is zero or infinite is moved to the edges `lowest` and `highest` of the plot."""

    time: Array
    statistics: dict[str, dict[str, Array]]
    lowest: float
    highest: float


class Bins(NamedTuple):
    """Shares of values between edges that all algorithms have in common."""

    edges: Array
    shares: dict[str, Array]


def names(performance: xarray.Dataset) -> list[str]:
    """The algorithms, the learned one first."""
    return [str(name) for name in performance["algorithm"].values]


def values(performance: xarray.Dataset, functional: str) -> dict[str, Array]:
    """(problem, replicate) by algorithm."""
    array = np.asarray(performance[functional].values)
    return dict(zip(names(performance), array, strict=True))


def evolution(performance: xarray.Dataset) -> Evolution:
    """Mean, median and band of the gap at no more times than a plot can show."""
    every = -(-performance.sizes["time"] // MOST_TIMES)
    gap = performance["gap"].isel(time=slice(None, None, every))
    array = np.asarray(gap.values, float)
    lowest, highest = _edges(array)
    array = np.clip(array, lowest, highest)
    statistics = [str(name) for name in gap["statistic"].values]
    by_name = {
        name: {statistic: array[k, :, j] for j, statistic in enumerate(statistics)}
        for k, name in enumerate(names(performance))
    }
    return Evolution(np.asarray(gap["time"].values, float), by_name, lowest, highest)


def _edges(gap: Array) -> tuple[float, float]:
    """Powers of ten around all positive finite values, but not more than 24 below and 6 above where it begins."""
    positive = gap[np.isfinite(gap) & (gap > 0)]
    if positive.size == 0:
        return 1e-1, 1e1
    first = gap[:, 0]
    first = first[np.isfinite(first) & (first > 0)]
    begin = np.log10(np.median(first) if first.size else np.median(positive))
    low, high = np.floor(np.log10(positive.min())), np.ceil(np.log10(positive.max()))
    low, high = max(low, np.floor(begin) - 24), min(high, np.ceil(begin) + 6)
    return float(10.0 ** min(low, high - 1)), float(10.0**high)


def bins(by_algorithm: Mapping[str, Array], whole: bool = False) -> Bins:
    """Histograms over common bins, as fine as the first algorithm's values want (Freedman and Diaconis).

    Values that are not finite are in no bin, but count in the shares.

    >>> bins({"a": np.array([1.0, 2.0, 2.0, 3.0])}, whole=True).shares["a"].tolist()
    [0.25, 0.5, 0.25]
    """
    finite = {name: array[np.isfinite(array)] for name, array in by_algorithm.items()}
    everything = np.concatenate(list(finite.values()))
    if everything.size == 0:
        return Bins(np.array([0.0, 1.0]), {name: np.zeros(1) for name in by_algorithm})
    first = next(iter(finite.values()))
    first = first if first.size else everything
    spread = np.subtract(*np.percentile(first, [75, 25])) * 2 / first.size ** (1 / 3)
    low, high = everything.min(), everything.max()
    width = max(spread or np.ptp(first) / 24, (high - low) / MOST_BINS) or max(abs(high), 1.0) / 20
    width = float(np.ceil(width)) if whole else width
    start = np.floor(low / width) * width
    edges = start + width * np.arange(int((high - start) // width) + 2)
    return Bins(edges, {k: np.histogram(finite[k], edges)[0] / max(v.size, 1) for k, v in by_algorithm.items()})


def solved_within(performance: xarray.Dataset) -> dict[str, Steps]:
    """For each algorithm the share of trajectories that are solved within so many iterations."""
    outcomes, times = values(performance, "outcome"), values(performance, "stopping_time")
    return {name: _distribution(times[name][outcomes[name] == "solved"], times[name].size) for name in times}


def certified_band(performance: xarray.Dataset) -> Steps | None:
    """The certified share of problems that are solved within so many iterations, if there is one.

    A stopping time at the horizon may be that of an unsolved problem, so the band ends before.
    """
    if "band_value" not in performance or "band_share" not in performance:
        return None
    times = np.asarray(performance["band_value"].values, float)
    shares = np.asarray(performance["band_share"].values, float)
    kept = np.isfinite(times) & np.isfinite(shares) & (times < performance.attrs["horizon"])
    last = np.append(times[kept][1:] != times[kept][:-1], True) if kept.any() else np.zeros(0, bool)
    return Steps(times[kept][last], shares[kept][last]) if kept.any() else None


def profile(performance: xarray.Dataset, functional: str) -> dict[str, Steps]:
    """Performance profiles (Dolan and Moré 2002): the share solved at so many times the cost of the best algorithm.

    The best may be another one on each problem. A cost below one counts as one, so that ratios exist.
    """
    costs = np.maximum(np.stack(list(values(performance, functional).values())).astype(float), 1.0)
    solved = np.stack(list(values(performance, "outcome").values())) == "solved"
    usable = np.isfinite(costs)
    rows = len(costs)
    found = performance_profile(np.where(usable, costs, 1.0).reshape(rows, -1), (solved & usable).reshape(rows, -1))
    return {name: Steps(found.factors, shares) for name, shares in zip(names(performance), found.shares, strict=True)}


def _distribution(reached: Array, count: int) -> Steps:
    """The distribution function of values of which only some were reached."""
    x, counts = np.unique(np.asarray(reached, float), return_counts=True)
    return Steps(x, np.cumsum(counts) / max(count, 1))


def ranking(performance: xarray.Dataset) -> Array:
    """Test problems from the easiest to the hardest for the learned algorithm, by its mean stopping time."""
    times = np.asarray(performance["stopping_time"].values[0], float).mean(axis=-1)
    return np.argsort(np.where(np.isnan(times), np.inf, times), kind="stable")
