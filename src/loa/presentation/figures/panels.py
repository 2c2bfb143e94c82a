"""The figure of a run: the paper's three panels."""

from __future__ import annotations

import textwrap

from matplotlib.figure import Figure

from ...results.run_results import Results
from . import evolution, histogram_drawing
from .histogram import histogram
from .labels import plain
from .style import GREY, new_figure, place

WIDTH = 7.2
ROW = 0.115
"""Height of the row of an algorithm below a histogram, in inches."""

ROWS = (
    "Rows: every algorithm, by the symbol it has above; 95 % of its values (bar), their median (symbol), mean (tick)."
)


def draw(results: Results) -> Figure:
    """Evolution of the gap above; contraction factor and stopping time, with their bounds, below."""
    performance = results.performance
    strip = ROW * performance.sizes["algorithm"] + 0.06
    lower = 0.62 + strip + 0.04
    upper = lower + 1.4 + 0.7 + 0.62
    figure = new_figure(WIDTH, upper + 2.2 + 0.54)
    figure.text(0.68 / WIDTH, 1 - 0.2 / figure.get_size_inches()[1], _heading(results), size=9.5, weight="bold")
    axes = place(figure, 0.68, upper, 4.85, 2.2)
    evolution.draw(
        axes, evolution.evolution(performance), performance.attrs["horizon"], performance.attrs["gap_problems"]
    )
    for left, functional in ((0.68, "contraction_factor"), (4.2, "stopping_time")):
        bars, rows = place(figure, left, lower, 2.8, 1.4), place(figure, left, 0.62, 2.8, strip)
        histogram_drawing.draw(bars, rows, histogram(results, functional))
    figure.text(0.68 / WIDTH, 0.07 / figure.get_size_inches()[1], ROWS, size=6.5, color=GREY)
    return figure


def _heading(results: Results) -> str:
    title = str(results.summary.get("title") or results.summary["experiment"])
    return textwrap.shorten(plain(title[:1].upper() + title[1:]), 75, placeholder="…")
