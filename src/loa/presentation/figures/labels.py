"""Names beside curves, moved apart where they would overlap."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.mathtext import MathTextParser
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from .style import GREY, LOOKS, Look, looks

LONGEST = 21
"""Letters in a line; longer names are broken."""
LETTERS, HANDLE = 110, 8
"""The width of a legend above a figure, and of what stands before a name in it, in letters."""
LINE = 0.15
"""Height of a line of such a legend, in inches."""


def spread(wanted: ArrayLike, heights: ArrayLike, low: float, high: float) -> NDArray[np.floating]:
    """Centres of labels, in the given order upwards, that do not overlap and are nearest to where they are wanted.

    The least squares problem with `centre[i + 1] - centre[i]` at least half of both heights is an isotonic regression;
    clipping it keeps all labels between `low` and `high` as long as there is room.

    >>> spread([0.5, 0.5], [0.1, 0.1], 0.0, 1.0)
    array([0.45, 0.55])
    """
    heights = np.asarray(heights, float)
    shifts = np.concatenate([[0.0], np.cumsum((heights[1:] + heights[:-1]) / 2)])
    free = isotonic_regression(np.asarray(wanted, float) - shifts).x
    return np.clip(free, low + heights[0] / 2, high - heights[-1] / 2 - shifts[-1]) + shifts


def plain(text: str) -> str:
    """Text of a user, in which a dollar is a dollar and not the beginning of a formula."""
    return text.replace("$", r"\$")


def formula(symbol: str) -> str:
    """A symbol in LaTeX as part of a text; nothing if matplotlib cannot set it."""
    try:
        MathTextParser("path").parse(f"${symbol}$")
    except ValueError:
        return ""
    return f"${symbol}$" if symbol else ""


def name_at_right(axes: Axes, wanted: Mapping[str, float], style: Mapping[str, Look], size: float = 7.5) -> None:
    """Write each name with its marker right of the axes, as near as possible to the height wanted (0 to 1).

    Arguments:
        wanted: heights by name, from the lowest upwards.
    """
    texts = [textwrap.fill(plain(name), LONGEST) for name in wanted]
    points = axes.bbox.height * 72 / axes.figure.dpi
    heights = [(1.25 * size * (text.count("\n") + 1) + 2.5) / points for text in texts]
    centres = spread(list(wanted.values()), heights, -0.08, 1.02)
    for name, text, centre in zip(wanted, texts, centres, strict=True):
        look = style[name]
        at = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "center", "annotation_clip": False}
        axes.annotate(
            text,
            (1, centre),
            (19, 0),
            size=size,
            weight="bold" if look is LOOKS[0] else "normal",
            linespacing=1.05,
            **at,
        )
        _sample(axes, centre, look)


def algorithm_key(names: Iterable[str]) -> list[Line2D]:
    """Handles that show every algorithm's line and marker."""
    return [
        Line2D([], [], color=look.colour, marker=look.marker, markersize=look.size, linewidth=1.2, label=plain(name))
        for name, look in looks(map(str, names)).items()
    ]


def in_line(names: Sequence[str]) -> int:
    """How many names a line of a legend above a figure holds."""
    return min(len(names), max(1, int(LETTERS // (HANDLE + max(map(len, names))))))


def place_key(figure: Figure, handles: Sequence[Line2D], columns: int, left: float, top: float) -> None:
    """A legend above a figure, this many inches from its left and upper edges."""
    width, height = figure.get_size_inches()
    where = (left / width, 1 - top / height)
    figure.legend(handles=list(handles), loc="upper left", ncols=columns, columnspacing=1.6, bbox_to_anchor=where)


def mark_horizon(axes: Axes, horizon: float) -> None:
    """A line where the runs were cut off."""
    axes.axvline(horizon, color=GREY, linewidth=0.8)
    at = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "ha": "center", "va": "bottom"}
    axes.annotate(r"$t_{\max}$", (horizon, 1), (0, 2), **at)


def _sample(axes: Axes, height: float, look: Look) -> None:
    """The marker of an algorithm on a piece of its line, beside its name."""
    points = axes.bbox.width * 72 / axes.figure.dpi
    ends = 1 + np.array([5.0, 10.5, 16.0]) / points
    axes.plot(
        ends,
        [height] * 3,
        color=look.colour,
        linewidth=1.2,
        marker=look.marker,
        markevery=[1],
        markersize=look.size,
        transform=axes.transAxes,
        clip_on=False,
    )
