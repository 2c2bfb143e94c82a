"""Performance over time: the moving average of the stopping time along a log."""

from __future__ import annotations

from matplotlib.figure import Figure

from ...results.quantities import over_time
from ...results.run_results import Results
from .labels import plain
from .style import GREY, PALE, looks, new_figure, place


def draw(results: Results) -> Figure | None:
    """A curve for every algorithm over the instances of a log; only where these are in the order of time."""
    shown = over_time(results.performance)
    if shown is None:
        return None
    figure = new_figure(7.2, 2.9)
    axes = place(figure, 0.68, 0.5, 4.9, 2.0)
    for name, look in looks(shown.means).items():
        axes.plot(shown.places, shown.means[name], color=look.colour, linestyle=look.line, label=plain(name))
    for role, (first, _) in shown.parts.items():
        axes.axvline(first, color=PALE, linewidth=0.6, zorder=0)
        axes.text(first, 1.01, role, transform=axes.get_xaxis_transform(), size=6.5, color=GREY, rotation=20)
    axes.set(xlabel=f"instance of the log (averages of {shown.window})", ylabel="mean iterations", yscale="log")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0))
    return figure
