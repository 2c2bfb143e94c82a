"""Performance profiles: how often an algorithm is within a factor of the best one on the same problem."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, PercentFormatter, StrMethodFormatter

from ...results.quantities import Steps, profiles
from ...results.run_results import Results
from .labels import name_at_right
from .style import looks, new_figure, place


def draw(results: Results) -> Figure:
    """A panel for every cost, side by side: iterations and oracle calls."""
    drawn = profiles(results.performance)
    figure = new_figure(7.2, 2.9)
    panels = [place(figure, left, 0.5, 2.3, 2.05) for left in (0.68, 3.2)[: len(drawn)]]
    for axes, (cost, profile) in zip(panels, drawn.items(), strict=True):
        draw_on(axes, profile)
        axes.set(title=f"By {results.summary.costs[cost].title}", xlabel="multiple of the best")
        axes.tick_params(labelleft=axes is panels[0])
    panels[0].set_ylabel("share of problems solved")
    last = drawn[list(drawn)[-1]]
    name_at_right(panels[-1], _ends(last), looks(last))
    return figure


def _ends(profile: dict[str, Steps]) -> dict[str, float]:
    """How high each profile ends, from the lowest upwards; among equals the one that rises first is highest."""
    order = sorted(profile, key=lambda name: (-profile[name].end(), -profile[name].shares.mean()))
    return {name: profile[name].end() for name in reversed(order)}


def draw_on(axes: Axes, profile: dict[str, Steps]) -> None:
    """Steps for every algorithm over a logarithmic axis; at its right end, all that each solves."""
    factors = np.concatenate([steps.places[np.isfinite(steps.places)] for steps in profile.values()])
    last = max(1.2 * factors.max(), 2.0)
    for row, (name, look) in reversed(list(enumerate(looks(profile).items()))):
        wide, order = (1.7, 3) if row == 0 else (1.2, 2)
        across, shares = profile[name].between(1.0, last)
        axes.step(across, shares, where="post", color=look.colour, linewidth=wide, zorder=order, label=name)
        at = np.geomspace(1.0, last, 7)[:-1] * last ** ((row + 0.5) / (6 * len(profile)))
        look.dots(axes, at, profile[name].at(at), order + 2)
    axes.set(xscale="log", xlim=(0.97, last), ylim=(-0.02, 1.02))
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if last < 60 else (1.0,)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol="%"))
