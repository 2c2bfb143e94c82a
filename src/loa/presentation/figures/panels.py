"""The figure of a run, the paper's three panels, and a figure with a panel for every further functional."""

from __future__ import annotations

import textwrap

from matplotlib.figure import Figure

from ...results.quantities import evolution as gaps
from ...results.quantities import histogram as bins
from ...results.run_results import Results
from . import evolution, histogram
from .labels import LINE, algorithm_key, in_line, place_key, plain
from .style import GREY, new_figure, place

PAPER = ("contraction_factor", "stopping_time")
"""The functionals below the gap in the paper's figures."""

WIDTH = 7.2
LEFT, STEP, PANEL = 0.68, 3.52, 2.8
"""Of the lower panels: where the first begins, where the next begins after it, and how wide they are, in inches."""
ROW = 0.115
"""Height of the row of an algorithm below a histogram, in inches."""
BARS, BELOW, ABOVE = 1.4, 0.62, 0.7
"""Height of the bars, of what stands below a histogram and of what stands above it."""

ROWS = "Rows: every algorithm, by its symbol; 95% of its values (bar), their median (symbol), mean (tick)."


def draw(results: Results) -> Figure:
    """Evolution of the gap above; contraction factor and stopping time, with their bounds, below."""
    if "gap" not in results.performance:
        return _without_gap(results)
    upper = BELOW + _height(results) + 0.62
    figure = new_figure(WIDTH, upper + 2.2 + 0.54)
    _head(figure, results.summary.heading)
    evolution.draw(place(figure, LEFT, upper, 4.85, 2.2), gaps(results.performance), results.summary.t_max)
    _row(figure, results, _main(results), BELOW)
    return figure


def _without_gap(results: Results) -> Figure:
    """Of a solver whose iterates are not seen, histograms of its running time and of what else was measured first."""
    figure = new_figure(WIDTH, BELOW + _height(results) + 0.4)
    _head(figure, results.summary.heading)
    key = algorithm_key(results.performance["algorithm"].values)
    place_key(figure, key, in_line([str(handle.get_label()) for handle in key]), LEFT, 0.36)
    _row(figure, results, _main(results), BELOW)
    return figure


def _main(results: Results) -> list[str]:
    """The functionals in the lower panels: those of the paper, or the first two of a solver whose gap is not seen."""
    names = [each.name for each in results.summary.functionals]
    return names[:2] if results.summary.clocked else [name for name in PAPER if name in names]


def further(results: Results) -> list[str]:
    """The functionals that the first figure does not show."""
    return [each.name for each in results.summary.functionals if each.name not in _main(results)]


def draw_further(results: Results) -> Figure | None:
    """A histogram of every further functional, two in a row; None if there is none."""
    names = further(results)
    if not names:
        return None
    rows = [names[first : first + 2] for first in range(0, len(names), 2)]
    step = BELOW + _height(results)
    key = algorithm_key(results.performance["algorithm"].values)
    columns = in_line([str(handle.get_label()) for handle in key])
    figure = new_figure(WIDTH, len(rows) * step + 0.4 + LINE * -(-len(key) // columns))
    _head(figure, results.summary.heading)
    place_key(figure, key, columns, LEFT, 0.36)
    for number, row in enumerate(reversed(rows)):
        _row(figure, results, row, number * step + BELOW)
    return figure


def _height(results: Results) -> float:
    """Of a histogram, with its rows below and its title and legend above."""
    return ROW * results.performance.sizes["algorithm"] + 0.1 + BARS + ABOVE


def _row(figure: Figure, results: Results, names: list[str], bottom: float) -> None:
    """Histograms side by side, with their rows at `bottom`."""
    strip = ROW * results.performance.sizes["algorithm"] + 0.06
    shown = [bins(results.summary, results.performance, name) for name in names]
    lines = max(map(histogram.legend_lines, shown), default=0)
    for number, data in enumerate(shown):
        left = LEFT + number * STEP
        bars, rows = place(figure, left, bottom + strip + 0.04, PANEL, BARS), place(figure, left, bottom, PANEL, strip)
        histogram.draw(bars, rows, data, lines, results.summary.who)


def _head(figure: Figure, heading: str) -> None:
    """The heading above, and below what the rows mean."""
    height = figure.get_size_inches()[1]
    text = textwrap.shorten(plain(heading), 75, placeholder="…")
    figure.text(LEFT / WIDTH, 1 - 0.2 / height, text, size=9.5, weight="bold")
    figure.text(LEFT / WIDTH, 0.07 / height, ROWS, size=6.5, color=GREY)
