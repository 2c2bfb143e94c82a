"""Data and the curves that trained networks fit to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .labels import LINE, in_line, place_key, plain
from .style import GREY, LOOKS, PALE, Look, new_figure, place

COLUMNS = 3
PANEL = (1.95, 1.6)
LEFT, BOTTOM, HEAD = 0.5, 0.45, 0.22
GAPS = (0.4, 0.34)
START = Look(GREY, (0, (1.2, 1.4)), "")


def draw(pictures: xarray.Dataset) -> Figure:
    """A panel for every example; the range is that of the data, which a bad fit may leave."""
    examples = pictures.sizes["example"]
    columns, rows = min(COLUMNS, examples), -(-examples // COLUMNS)
    step = (PANEL[0] + GAPS[0], PANEL[1] + GAPS[1])
    looks = version_looks([str(version) for version in pictures["version"].values])
    key = _key(looks)
    per_line = in_line([str(handle.get_label()) for handle in key])
    head = HEAD + LINE * (-(-len(key) // per_line))
    figure = new_figure(LEFT + COLUMNS * step[0] - GAPS[0] + 0.1, BOTTOM + rows * step[1] - GAPS[1] + head)
    for example in range(examples):
        row, column = divmod(example, columns)
        axes = place(figure, LEFT + column * step[0], BOTTOM + (rows - 1 - row) * step[1], *PANEL)
        _draw_one(axes, pictures.isel(example=example), looks)
        axes.set_xlabel("input" if example + columns >= examples else "")
        axes.set_ylabel("target" if column == 0 else "")
    place_key(figure, key, per_line, LEFT, 0.1)
    return figure


def version_looks(versions: list[str]) -> dict[str, Look]:
    """The start in grey, the learned algorithm as in every figure, the others after it."""
    others = iter(LOOKS[1:] * len(versions))
    found = {}
    for version in versions:
        if version.startswith("start"):
            found[version] = START
        else:
            found[version] = LOOKS[0] if version.startswith("learned") else next(others)
    return found


def _draw_one(axes: Axes, picture: Any, looks: dict[str, Look]) -> None:
    inputs, targets = picture["inputs"].values, picture["targets"].values
    axes.plot(inputs, targets, "o", markersize=2.6, markerfacecolor=PALE, markeredgecolor=GREY, markeredgewidth=0.4)
    for version, look in looks.items():
        wide = 1.7 if look is LOOKS[0] else 1.2
        curve = picture["curve"].sel(version=version).values
        axes.plot(picture["grid"].values, curve, color=look.colour, linestyle=look.line, linewidth=wide)
    low, high = targets.min(), targets.max()
    margin = 0.12 * (high - low) or 1.0
    axes.set_ylim(low - margin, high + margin)
    axes.set_xlim(np.min(picture["grid"].values), np.max(picture["grid"].values))


def _key(looks: dict[str, Look]) -> list[Line2D]:
    data = Line2D([], [], linestyle="", marker="o", markersize=2.6, markerfacecolor=PALE, markeredgecolor=GREY,
                  markeredgewidth=0.4, label="data")  # fmt: skip
    lines = [
        Line2D([], [], color=look.colour, linestyle=look.line, linewidth=1.5, label=plain(version))
        for version, look in looks.items()
    ]
    return [data, *lines]
