"""How many problems are solved within a number of iterations, measured for every algorithm, certified for ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter, StrMethodFormatter
from numpy.typing import ArrayLike, NDArray

from ...results.run_results import Results
from .labels import mark_horizon, name_at_right
from .style import Look, looks, new_figure, place

if TYPE_CHECKING:
    import xarray

Values = NDArray[np.floating]

SPREAD = 8.0
"""The axis is logarithmic if the typical problem takes so many times less than the horizon."""


class Steps(NamedTuple):
    """A distribution function: from `times[k]` on it has the height `shares[k]`; before the first it is zero."""

    times: Values
    shares: Values

    def until(self, end: float) -> tuple[Values, Values]:
        """The corners that matter up to `end`, and the value there."""
        kept = self.times <= end
        times, shares = self.times[kept], self.shares[kept]
        return np.concatenate([[0.0], times, [end]]), np.concatenate(
            [[0.0], shares, shares[-1:] if kept.any() else [0.0]]
        )

    def median(self) -> float:
        """When half of the problems are solved; infinity if they never are."""
        half = np.flatnonzero(self.shares >= 0.5)
        return float(self.times[half[0]]) if half.size else np.inf


class Distributions(NamedTuple):
    """What is drawn: the share of problems solved over time, and what of it is certified for the learned algorithm."""

    solved: dict[str, Steps]
    certified: Steps | None
    horizon: float


def empirical(times: ArrayLike, solved: ArrayLike) -> Steps:
    """The share of trajectories solved within a time. One that is not solved never counts.

    >>> empirical([3, 1, 9, 3], [True, True, False, True])
    Steps(times=array([1., 3.]), shares=array([0.25, 0.75]))
    """
    solved = np.asarray(solved, bool).ravel()
    found, counts = np.unique(np.asarray(times, float).ravel()[solved], return_counts=True)
    return Steps(found, np.cumsum(counts) / max(solved.size, 1))


def distributions(performance: xarray.Dataset) -> Distributions:
    """Distribution functions of the stopping times of a run."""
    horizon = float(performance.attrs["horizon"])
    solved = {
        str(name): empirical(one["stopping_time"].values, one["outcome"].values == "solved")
        for name, one in ((name, performance.sel(algorithm=name)) for name in performance["algorithm"].values)
    }
    return Distributions(solved, _certified(performance, horizon), horizon)


def _certified(performance: xarray.Dataset, horizon: float) -> Steps | None:
    """The certified band; at the horizon it would count those that are not solved, so it ends before."""
    if "band_value" not in performance:
        return None
    values, shares = performance["band_value"].values.astype(float), performance["band_share"].values.astype(float)
    early = values < horizon
    if not early.any():
        return None
    times, places = np.unique(values[early], return_inverse=True)
    best = np.zeros(times.size)
    np.maximum.at(best, places, shares[early])
    return Steps(times, np.maximum.accumulate(best))


def draw(results: Results) -> Figure:
    """One panel with all distribution functions."""
    figure = new_figure(7.2, 3.2)
    axes = place(figure, 0.68, 0.5, 4.85, 2.4)
    data = distributions(results.performance)
    draw_on(axes, data)
    axes.set(title="Problems solved", ylabel=f"share of {results.performance.sizes['problem']} problems")
    return figure


def draw_on(axes: Axes, data: Distributions) -> None:
    """Steps for every algorithm; below those of the learned one, what is certified for all problems."""
    style = looks(data.solved)
    medians = {name: steps.median() for name, steps in data.solved.items()}
    ends = {name: float(steps.shares[-1]) if steps.shares.size else 0.0 for name, steps in data.solved.items()}
    order = sorted(ends, key=lambda name: (-ends[name], medians[name]))
    for name in reversed(data.solved):
        _draw_steps(axes, data.solved[name], style[name], data.horizon, learned=name == next(iter(data.solved)))
    if data.certified is not None:
        _draw_certified(axes, data, next(iter(style.values())))
        axes.legend(loc="lower right", bbox_to_anchor=(0.94, 1.035))
    _scale(axes, data)
    mark_horizon(axes, data.horizon)
    axes.set(ylim=(0, 1.02), xlabel="within so many iterations")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    name_at_right(axes, {name: ends[name] for name in reversed(order)}, style)


def _draw_steps(axes: Axes, steps: Steps, look: Look, horizon: float, learned: bool) -> None:
    times, shares = steps.until(horizon)
    width = 1.7 if learned else 1.2
    axes.step(times, shares, where="post", color=look.colour, linewidth=width, zorder=3 if learned else 2)
    levels = [level for level in (0.25, 0.5, 0.75) if shares[-1] >= level]
    at = [times[np.flatnonzero(shares >= level)[0]] for level in levels]
    look.dots(axes, at, levels, 4)


def _draw_certified(axes: Axes, data: Distributions, look: Look) -> None:
    assert data.certified is not None
    times, shares = data.certified.until(data.horizon)
    axes.step(
        times,
        shares,
        where="post",
        color="black",
        linewidth=1.0,
        zorder=2.5,
        label="certified for the learned algorithm",
    )
    learned = next(iter(data.solved.values()))
    grid = np.unique(np.concatenate([times, learned.until(data.horizon)[0]]))
    lower, upper = (_at(steps, grid) for steps in (data.certified, learned))
    axes.fill_between(grid, lower, np.maximum(lower, upper), step="post", color=look.colour, alpha=0.18, linewidth=0)


def _at(steps: Steps, times: Values) -> Values:
    return np.concatenate([[0.0], steps.shares])[np.searchsorted(steps.times, times, side="right")]


def _scale(axes: Axes, data: Distributions) -> None:
    first = min((steps.times[0] for steps in data.solved.values() if steps.times.size), default=0.0)
    typical = min(steps.median() for steps in data.solved.values())
    if 0 < SPREAD * typical <= data.horizon:
        axes.set(xscale="log", xlim=(max(first, 1.0) / 1.15, 1.02 * data.horizon))
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(0, 1.015 * data.horizon)
