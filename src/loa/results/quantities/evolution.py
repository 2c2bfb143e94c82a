"""The evolution of the optimality gap over iterations, prepared for a logarithmic axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .values import Array, names, quantile, values

if TYPE_CHECKING:
    import xarray

ROUNDING = 1e-16
"""A gap that is smaller than this share of the first one is rounding."""
DIVERGED = 1e3
"""Curves are followed upwards until they are this many times above where they began."""
DECADES_BEYOND = 4.0
"""How far outside of the picture a curve continues, so that it leaves steeply where the gap is zero or infinite."""
EARLY = 1 / 30
"""The share of the horizon within which a typical problem must be solved for time to be on a logarithmic axis."""


class Evolution(NamedTuple):
    """Statistics of the gap over problems for every algorithm: positive and finite, or NaN if unknown.

    Fields:
        time: (time,).
        mean, median, low, high: (algorithm, time); 95% of the problems lie between low and high.
        limits: the lowest and the highest gap to be seen; what is zero or infinite lies far outside.
        early: whether the learned algorithm is so fast that time needs a logarithmic axis.
        num_problems: how many problems were followed.
    """

    names: tuple[str, ...]
    time: Array
    mean: Array
    median: Array
    low: Array
    high: Array
    limits: tuple[float, float]
    early: bool
    num_problems: int

    def ends(self) -> dict[str, float]:
        """How high in the picture each median ends, from the lowest; of those that leave it, the first is lowest."""
        bottom, top = np.log(self.limits)
        heights, leaves = [], []
        for median in self.median:
            known = np.flatnonzero(~np.isnan(median))
            last = median[known[-1]] if known.size else self.limits[1]
            heights.append(float(np.clip((np.log(last) - bottom) / (top - bottom), 0, 1)))
            leaves.append(int(np.nansum(median > self.limits[0])))
        order = sorted(range(len(heights)), key=lambda place: (heights[place], leaves[place], -place))
        return {self.names[place]: heights[place] for place in order}


def evolution(performance: xarray.Dataset) -> Evolution:
    """The gaps of a run, clipped far outside of what is to be seen."""
    gap = performance["gap"].transpose("statistic", "algorithm", "time")
    mean, median, low, high = (gap.sel(statistic=name).values for name in ("mean", "median", "low", "high"))
    bottom, top = _limits(mean, median, low, high)
    beyond = 10.0**DECADES_BEYOND
    drawable = [np.clip(each, bottom / beyond, top * beyond) for each in (mean, median, low, high)]
    algorithms, time = tuple(names(performance)), performance["time"].values.astype(float)
    typical = quantile(next(iter(values(performance, "stopping_time").values())), 0.5)
    early = typical < EARLY * performance.attrs["horizon"]
    return Evolution(
        algorithms, time, *drawable, limits=(bottom, top), early=early, num_problems=performance.attrs["gap_problems"]
    )


def _limits(mean: Array, median: Array, low: Array, high: Array) -> tuple[float, float]:
    """All medians within reason, and those parts of means and bands that are near to them.

    Where only some problems diverge, the mean and the band leave the picture, which does not grow to show how.
    """
    centres = _positive(np.stack([mean, median]))
    if not centres.size:
        return 0.1, 10.0
    start = np.max(_positive(median[:, 0]), initial=centres.min())
    lowest = np.min(_positive(low), initial=centres.min())
    upper = np.stack([mean, high])
    diverging = np.any(upper > DIVERGED * start, axis=-1, keepdims=True)
    highest = np.max(_positive(np.stack([median, *np.where(diverging, np.nan, upper)])), initial=start)
    bottom = max(lowest, centres.min() / 10, ROUNDING * start)
    top = min(highest, DIVERGED * start)
    return float(bottom / 1.5), float(1.5 * max(top, bottom))


def _positive(gaps: Array) -> Array:
    return gaps[(gaps > 0) & np.isfinite(gaps)]
