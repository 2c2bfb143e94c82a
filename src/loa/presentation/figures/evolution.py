"""The evolution of the optimality gap over iterations: the upper panel of the paper's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter
from numpy.typing import NDArray

from .labels import mark_horizon, name_at_right
from .style import GREY, Look, looks

if TYPE_CHECKING:
    import xarray

Values = NDArray[np.floating]

ROUNDING = 1e-16
"""A gap that is smaller than this share of the first one is rounding."""
DIVERGED = 1e3
"""Curves are followed upwards until they are so many times above where they began."""
DECADES_BEYOND = 4.0
"""How far outside of the picture a curve goes on, so that it leaves it steeply where the gap is zero or infinite."""

EARLY = 1 / 30
"""The share of the horizon within which a typical problem must be solved for time to be on a logarithmic axis."""


class Evolution(NamedTuple):
    """What is drawn: for every algorithm, statistics of the gap over problems, positive and finite, or NaN if unknown.

    Fields:
        time: (time,).
        mean, median, low, high: (algorithm, time); 95 % of the problems lie between low and high.
        limits: the lowest and the highest gap to be seen; what is zero or infinite lies far outside.
        early: whether the learned algorithm is so fast that time needs a logarithmic axis.
    """

    names: tuple[str, ...]
    time: Values
    mean: Values
    median: Values
    low: Values
    high: Values
    limits: tuple[float, float]
    early: bool

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
    """Prepare the gaps of a run for a logarithmic axis."""
    gap = performance["gap"].transpose("statistic", "algorithm", "time")
    mean, median, low, high = (gap.sel(statistic=name).values for name in ("mean", "median", "low", "high"))
    bottom, top = _limits(mean, median, low, high)
    beyond = 10.0**DECADES_BEYOND

    def drawable(values: Values) -> Values:
        return np.clip(values, bottom / beyond, top * beyond)

    names = tuple(str(name) for name in performance["algorithm"].values)
    time = performance["time"].values.astype(float)
    early = float(performance["stopping_time"][0].median()) < EARLY * performance.attrs["horizon"]
    return Evolution(names, time, drawable(mean), drawable(median), drawable(low), drawable(high), (bottom, top), early)


def _limits(mean: Values, median: Values, low: Values, high: Values) -> tuple[float, float]:
    """All medians within reason, and what of means and bands is near to them.

    Where only some problems diverge, the mean and the band leave the picture; it does not grow to show how.
    """
    centres = _positive(np.stack([mean, median]))
    if not centres.size:
        return 0.1, 10.0
    start = np.max(_positive(np.stack([median, high])[..., 0]), initial=centres.min())
    lowest = np.min(_positive(low), initial=centres.min())
    upper = np.stack([mean, high])
    diverging = np.any(upper > DIVERGED * start, axis=-1, keepdims=True)
    highest = np.max(_positive(np.stack([median, *np.where(diverging, np.nan, upper)])), initial=start)
    bottom = max(lowest, centres.min() / 10, ROUNDING * start)
    top = min(highest, DIVERGED * start)
    return float(bottom / 1.5), float(1.5 * max(top, bottom))


def _positive(values: Values) -> Values:
    return values[(values > 0) & np.isfinite(values)]


def draw(axes: Axes, data: Evolution, horizon: float, num_problems: int) -> None:
    """Bands, dashed means and dotted medians; names at the right, where the medians end."""
    style = looks(data.names)
    for place in reversed(range(len(data.names))):
        _draw_one(axes, data, place, style[data.names[place]], horizon)
    _scale_gap(axes, data.limits)
    _scale_time(axes, data.early, horizon)
    mark_horizon(axes, horizon)
    axes.set(xlabel="iteration $t$", ylabel="optimality gap")
    axes.set_title("Gap over iterations")
    name_at_right(axes, data.ends(), style)
    axes.legend(handles=_key(num_problems), loc="lower right", bbox_to_anchor=(0.94, 1.035), ncols=3, columnspacing=1.4)


def _scale_gap(axes: Axes, limits: tuple[float, float]) -> None:
    axes.set(yscale="log", ylim=limits)
    axes.yaxis.set_minor_locator(NullLocator())
    if limits[1] >= 100 * limits[0]:
        axes.yaxis.set_major_locator(LogLocator(numticks=8))
    else:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _scale_time(axes: Axes, early: bool, horizon: float) -> None:
    if not early:
        axes.set_xlim(0, 1.015 * horizon)
        return
    axes.set_xscale("symlog", linthresh=1.0, linscale=0.4, subs=list(range(2, 10)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.set_xlim(0, 1.08 * horizon)


def _draw_one(axes: Axes, data: Evolution, place: int, look: Look, horizon: float) -> None:
    learned = place == 0
    colour, order = look.colour, 4.0 if learned else 3.0
    axes.fill_between(
        data.time,
        data.low[place],
        data.high[place],
        color=colour,
        alpha=0.24 if learned else 0.12,
        linewidth=0,
        zorder=2,
    )
    width = 1.5 if learned else 1.1
    axes.plot(data.time, data.mean[place], color=colour, linewidth=width, linestyle=(0, (4.5, 2)), zorder=order)
    axes.plot(data.time, data.median[place], color=colour, linewidth=width, linestyle=(0, (0.6, 1.7)), zorder=order)
    marked = _marked(data, place, horizon)
    look.dots(axes, data.time[marked], data.median[place, marked], order + 0.5)


def _marked(data: Evolution, place: int, horizon: float) -> NDArray[np.intp]:
    """Points of a median that carry a marker: some along the axis, at different places for each algorithm."""
    visible = np.flatnonzero((data.median[place] > data.limits[0]) & (data.median[place] < data.limits[1]))
    if not visible.size:
        return visible
    across, end = (np.log1p(data.time), np.log1p(horizon)) if data.early else (data.time, horizon)
    reach = float(across[visible[-1]])
    shift = (place + 0.5) / len(data.names)
    steps = min(max(round(9 * reach / end), 2), 9)
    wanted = (np.arange(steps) + shift) * reach / steps
    nearest = np.abs(across[visible][None, :] - wanted[:, None]).argmin(axis=1)
    return visible[np.unique(nearest)]


def _key(num_problems: int) -> list[Patch | Line2D]:
    return [
        Patch(facecolor=GREY, alpha=0.3, linewidth=0, label=f"95 % of {num_problems} problems"),
        Line2D([], [], color=GREY, linewidth=1.3, linestyle=(0, (4.5, 2)), label="mean"),
        Line2D([], [], color=GREY, linewidth=1.3, linestyle=(0, (0.6, 1.7)), label="median"),
    ]
