"""Problem by problem: the learned algorithm against the best baseline."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from ...results.quantities import contests, values
from ...results.run_results import Results
from .labels import plain
from .style import GREY, LOOKS, new_figure, place


def draw(results: Results) -> Figure | None:
    """A dot for every test problem, across the stopping time of the best baseline, up that of the learned algorithm.

    Below the diagonal the learned algorithm is faster. There is no figure without a baseline.
    """
    found = contests(results.summary, results.performance).get("stopping_time")
    if not found:
        return None
    best, times = found[0], values(results.performance, "stopping_time")
    learned, baseline = (1.0 + times[name].ravel() for name in ("learned", best.baseline))
    limits = 0.8, 1.25 * (1.0 + results.summary.t_max)
    figure = new_figure(4.4, 3.6)
    axes = place(figure, 0.68, 0.62, 2.6, 2.6)
    axes.plot(limits, limits, color=GREY, linewidth=0.8)
    axes.plot(baseline, learned, LOOKS[0].marker, color=LOOKS[0].colour, markersize=3, alpha=0.35, markeredgewidth=0)
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits, aspect="equal", title="Problem by problem")
    axes.set(xlabel=f"1 + iterations of {plain(best.baseline)}", ylabel="1 + iterations of the learned algorithm")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0,) if limits[1] > 100 else (1.0, 2.0, 5.0)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    if best.better is not None:
        note = f"fewer iterations\non {np.floor(1e3 * best.better) / 10:g}% of\nthe problems"
        axes.text(1.04, 0.5, note, transform=axes.transAxes, size=7.5, color=GREY, va="center")
    return figure
