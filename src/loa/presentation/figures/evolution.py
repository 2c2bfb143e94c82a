"""The evolution of the optimality gap over iterations: the upper panel of the paper's figures."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter
from numpy.typing import NDArray

from ...results.quantities import Evolution
from .labels import mark_horizon, name_at_right
from .style import GREY, Look, looks


def draw(axes: Axes, data: Evolution, horizon: float) -> None:
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
    axes.legend(
        handles=_key(data.num_problems), loc="lower right", bbox_to_anchor=(0.94, 1.035), ncols=3, columnspacing=1.4
    )


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
        Patch(facecolor=GREY, alpha=0.3, linewidth=0, label=f"95% of {num_problems} problems"),
        Line2D([], [], color=GREY, linewidth=1.3, linestyle=(0, (4.5, 2)), label="mean"),
        Line2D([], [], color=GREY, linewidth=1.3, linestyle=(0, (0.6, 1.7)), label="median"),
    ]
