"""Histograms: bars of the learned algorithm, lines for its bounds, and a row for every algorithm."""

from __future__ import annotations

import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter

from ...certificates.bounds.rounding import number_up
from ...results.names import MARKS
from ...results.quantities import Histogram, Mark, Row
from .labels import formula, plain
from .style import GREY, INK, LOOKS, Look, looks

LINES = {
    "mean": dict(color=INK, linewidth=1.2, linestyle=(0, (4.5, 2))),
    "median": dict(color=INK, linewidth=1.3, linestyle=(0, (0.6, 1.7))),
    "certificate": dict(color="#000000", linewidth=1.8, linestyle="-"),
    "paper": dict(color=GREY, linewidth=1.3, linestyle=(0, (6, 1.6, 1, 1.6))),
    "cap": dict(color=GREY, linewidth=0.8, linestyle="-"),
}


def draw(axes: Axes, strip: Axes, data: Histogram, lines: int, who: str = "the learned algorithm") -> None:
    """Draw the histogram on `axes` and the rows on `strip`, which lies below and has the same horizontal axis.

    Arguments:
        lines: how many lines the title leaves to the legend.
        who: whose values they are.
    """
    colour = LOOKS[0].colour
    edges, shares = next(iter(data.bars.values())).outline()
    if shares.size:
        axes.stairs(shares, edges, fill=True, color=colour, alpha=0.3, linewidth=0)
        axes.stairs(shares, edges, color=colour, linewidth=0.8)
    for mark in data.marks:
        if not mark.vacuous and data.limits[0] <= mark.value <= data.limits[1]:
            axes.axvline(mark.value, **LINES[mark.kind])
    axes.set(xlim=data.limits, ylim=(0, 1.12 * shares.max(initial=0.01)), ylabel="share of problems")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol="%"))
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    axes.tick_params(axis="x", labelbottom=False, bottom=False)
    axes.set_title(_shortened(f"{data.functional.title} of {who}", 46), pad=8 + 12 * lines)
    axes.legend(
        handles=_handles(data),
        loc="lower left",
        bbox_to_anchor=(0, 1.045),
        ncols=2,
        columnspacing=1.0,
        handlelength=1.9,
    )
    _draw_rows(strip, data.rows, data.limits)
    strip.set_xlabel(_axis(data))
    strip.xaxis.set_major_locator(MaxNLocator(6, integer=data.whole))


def legend_lines(data: Histogram) -> int:
    """How many lines the legend takes."""
    return -(-len(_handles(data)) // 2)


def _handles(data: Histogram) -> list[Line2D]:
    handles = [Line2D([], [], label=legend_text(mark, data), **LINES[mark.kind]) for mark in _in_columns(data.marks)]
    if data.beyond:
        handles.append(Line2D([], [], linestyle="", label=f"{100 * data.beyond:.2g}% of problems →"))
    return handles


def _axis(data: Histogram) -> str:
    """The functional with its symbol and unit."""
    noun, unit, symbol = data.functional.noun, data.functional.unit, formula(data.functional.symbol)
    words = [_shortened(noun, 30), symbol, f"({_shortened(unit, 15)})" if unit and unit != noun else ""]
    return " ".join(filter(None, words))


def _shortened(text: str, width: int) -> str:
    return plain(textwrap.shorten(text, width, placeholder="…"))


def legend_text(mark: Mark, data: Histogram) -> str:
    """The name of a mark with its number; what cannot be seen is said."""
    name = MARKS[mark.kind]
    if mark.vacuous and not np.isfinite(mark.value):
        return f"{name}: vacuous"
    shown = number_up(mark.value) if mark.kind in ("certificate", "paper") else f"{mark.value:.4g}"
    text = f"{name}: {shown}".replace("inf", "∞")
    if mark.vacuous:
        return f"{text}, vacuous"
    low, high = data.limits
    return f"← {text}" if mark.value < low else f"{text} →" if mark.value > high else text


def _in_columns(marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
    """Statistics and cap in the left column, bounds in the right one."""
    left = [mark for mark in marks if mark.kind in ("mean", "median", "cap")]
    return (*left, *(mark for mark in marks if mark not in left))


def _draw_rows(axes: Axes, rows: tuple[Row, ...], limits: tuple[float, float]) -> None:
    style = looks(row.name for row in rows)
    for place, row in enumerate(rows):
        _draw_row(axes, -place, row, style[row.name], limits)
    axes.set(xlim=limits, ylim=(0.5 - len(rows), 0.7), yticks=[])
    axes.spines["left"].set_visible(False)


def _draw_row(axes: Axes, height: int, row: Row, look: Look, limits: tuple[float, float]) -> None:
    beside = axes.get_yaxis_transform()
    axes.plot(-0.035, height, look.marker, color=look.colour, markersize=look.size, clip_on=False, transform=beside)
    if row.median > limits[1]:
        axes.text(1.003, height, "→", color=look.colour, va="center", transform=beside)
    far = limits[1] + (limits[1] - limits[0])
    axes.plot(
        [row.low, min(row.high, far)], [height] * 2, color=look.colour, linewidth=3.2, alpha=0.35, solid_capstyle="butt"
    )
    axes.plot([row.median], [height], look.marker, color=look.colour, markersize=3.5)
    axes.plot([row.mean], [height], "|", color=look.colour, markersize=7, markeredgewidth=1.2)
