"""How many problems are solved within a number of iterations, measured for every algorithm, certified for ours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter, StrMethodFormatter

from ...results.quantities import Steps, certified_band, solved_within
from ...results.run_results import Results
from ...trajectory.units import ITERATIONS
from .labels import mark_horizon, name_at_right
from .style import Look, looks, new_figure, place

SPREAD = 8.0
"""The axis is logarithmic if the typical problem takes this many times less than the horizon."""


class Distributions(NamedTuple):
    """What is drawn: the share of problems solved over time, and what of it is certified for the learned algorithm."""

    solved: dict[str, Steps]
    certified: Steps | None
    horizon: float
    unit: str = ITERATIONS
    who: str = "the learned algorithm"


def draw(results: Results) -> Figure:
    """One panel with all distribution functions."""
    figure = new_figure(7.2, 3.2)
    axes = place(figure, 0.68, 0.5, 4.85, 2.4)
    performance = results.performance
    summary = results.summary
    shown = solved_within(performance), certified_band(performance)
    draw_on(axes, Distributions(*shown, summary.t_max, summary.time.unit, summary.who))
    axes.set(title="Problems solved", ylabel=f"share of {performance.sizes['problem']} problems")
    return figure


def draw_on(axes: Axes, data: Distributions) -> None:
    """Steps for every algorithm; below those of the learned one, what is certified for all problems."""
    style = looks(data.solved)
    medians = {name: steps.median() for name, steps in data.solved.items()}
    ends = {name: steps.end() for name, steps in data.solved.items()}
    order = sorted(ends, key=lambda name: (-ends[name], medians[name]))
    for name in reversed(data.solved):
        _draw_steps(axes, data.solved[name], style[name], data.horizon, learned=name == next(iter(data.solved)))
    if data.certified is not None:
        _draw_certified(axes, data, next(iter(style.values())))
        axes.legend(loc="lower right", bbox_to_anchor=(0.94, 1.035))
    _scale(axes, data)
    mark_horizon(axes, data.horizon)
    axes.set(ylim=(0, 1.02), xlabel=f"number of {data.unit}")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol="%"))
    name_at_right(axes, {name: ends[name] for name in reversed(order)}, style)


def _draw_steps(axes: Axes, steps: Steps, look: Look, horizon: float, learned: bool) -> None:
    times, shares = steps.between(0.0, horizon)
    width = 1.7 if learned else 1.2
    axes.step(times, shares, where="post", color=look.colour, linewidth=width, zorder=3 if learned else 2)
    levels = [level for level in (0.25, 0.5, 0.75) if shares[-1] >= level]
    at = [times[np.flatnonzero(shares >= level)[0]] for level in levels]
    look.dots(axes, at, levels, 4)


def _draw_certified(axes: Axes, data: Distributions, look: Look) -> None:
    assert data.certified is not None
    times, shares = data.certified.between(0.0, data.horizon)
    axes.step(
        times,
        shares,
        where="post",
        color="black",
        linewidth=1.0,
        zorder=2.5,
        label=f"certified for {data.who}",
    )
    learned = next(iter(data.solved.values()))
    grid = np.unique(np.concatenate([times, learned.between(0.0, data.horizon)[0]]))
    lower, upper = (steps.at(grid) for steps in (data.certified, learned))
    axes.fill_between(grid, lower, np.maximum(lower, upper), step="post", color=look.colour, alpha=0.18, linewidth=0)


def _scale(axes: Axes, data: Distributions) -> None:
    first = min((steps.places[0] for steps in data.solved.values() if steps.places.size), default=0.0)
    typical = min(steps.median() for steps in data.solved.values())
    if 0 < SPREAD * typical <= data.horizon:
        left = max(first, 1.0 if data.unit == ITERATIONS else 1e-6)
        axes.set(xscale="log", xlim=(left / 1.15, 1.02 * data.horizon))
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(0, 1.015 * data.horizon)
