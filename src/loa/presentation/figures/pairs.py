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
    summary, time = results.summary, results.summary.time
    found = contests(summary, results.performance).get(time.name)
    if not found:
        return None
    best, times = found[0], values(results.performance, time.name)
    shift = 0.0 if summary.clocked else 1.0
    learned, baseline = (shift + times[name].ravel() for name in (summary.own, best.baseline))
    least = 1.0 if shift else max(float(min(learned.min(), baseline.min())), 1e-6)
    limits = 0.8 * least, 1.25 * (shift + summary.t_max)
    figure = new_figure(4.4, 3.6)
    axes = place(figure, 0.68, 0.62, 2.6, 2.6)
    axes.plot(limits, limits, color=GREY, linewidth=0.8)
    axes.plot(baseline, learned, LOOKS[0].marker, color=LOOKS[0].colour, markersize=3, alpha=0.35, markeredgewidth=0)
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits, aspect="equal", title="Problem by problem")
    what = time.unit if summary.clocked else f"1 + {time.unit}"
    axes.set(xlabel=f"{what} of {plain(best.baseline)}", ylabel=f"{what} of {summary.who}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0,) if limits[1] > 100 * least else (1.0, 2.0, 5.0)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    if best.better is not None:
        better = "faster" if summary.clocked else "fewer iterations"
        note = f"{better}\non {np.floor(1e3 * best.better) / 10:g}% of\nthe problems"
        axes.text(1.04, 0.5, note, transform=axes.transAxes, size=7.5, color=GREY, va="center")
    return figure
