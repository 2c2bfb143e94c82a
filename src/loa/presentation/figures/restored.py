"""Restored images."""

from __future__ import annotations

import textwrap

import xarray
from matplotlib.figure import Figure

from .labels import plain
from .style import new_figure, place

WIDTH, GAP = 7.2, 0.06
NARROWEST, WIDEST = 1.0, 1.75


def draw(pictures: xarray.Dataset) -> Figure:
    """One row for every example, one column for every version; black is 0 and white is 1."""
    images = pictures["image"].transpose("example", "version", "row", "column").values
    examples, versions, rows, columns = images.shape
    width = min(max((WIDTH - GAP) / versions - GAP, NARROWEST), WIDEST)
    height = width * rows / columns
    titles = [textwrap.fill(plain(str(version)), int(14 * width)) for version in pictures["version"].values]
    head = 0.08 + 0.15 * max(title.count("\n") + 1 for title in titles)
    figure = new_figure(versions * (width + GAP) + GAP, examples * (height + GAP) + GAP + head)
    for row in range(examples):
        bottom = GAP + (examples - 1 - row) * (height + GAP)
        for column in range(versions):
            axes = place(figure, GAP + column * (width + GAP), bottom, width, height)
            axes.imshow(images[row, column], cmap="gray", vmin=0.0, vmax=1.0, aspect="auto")
            axes.set_axis_off()
            if row == 0:
                axes.set_title(titles[column], loc="center", pad=4, size=8, weight="normal")
    return figure
