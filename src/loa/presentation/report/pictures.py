"""Examples to look at: restored images, and the curves that trained networks fit."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...results.run_results import Results
from .figure import Entry, Figure, Plot, algorithm_entry, axes, curve
from .markup import Markup, markup, section, table, tag
from .numbers import number

if TYPE_CHECKING:
    import xarray


def pictures(results: Results) -> Markup:
    """The section with pictures, if there are any."""
    data = results.pictures
    if data is None or not data.sizes.get("example"):
        return Markup("")
    kind = data.attrs.get("kind")
    if kind == "images":
        return section("pictures", "Pictures", _images(data))
    if kind == "regressions":
        return section("pictures", "Pictures", _regressions(data).to_html())
    return Markup("")


def _images(data: xarray.Dataset) -> Markup:
    """A row for each example, a column for each version."""
    versions = [str(name) for name in data["version"].values]
    rows = []
    for k, versions_of_one in enumerate(np.asarray(data["image"].values, float)):
        cells = [
            tag("figure", tag("img", src=png(image), alt=f"Example {k + 1}: {name}"), tag("figcaption", name))
            for name, image in zip(versions, versions_of_one, strict=True)
        ]
        rows.append(tag("div", *cells, class_="images", role="group", aria_label=f"Example {k + 1}"))
    return markup(tag("h3", "Restored images"), *rows)


def png(image: NDArray) -> str:
    """Values from 0 (black) to 1 (white) as the address of an embedded picture."""
    from PIL import Image

    clipped = np.clip(np.nan_to_num(image, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
    buffer = io.BytesIO()
    Image.fromarray(np.round(255 * clipped).astype(np.uint8)).save(buffer, "png", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def _regressions(data: xarray.Dataset) -> Figure:
    """One plot for each example: its data, and the curve of every version."""
    versions = [str(name) for name in data["version"].values]
    points = Entry("points", "data", "muted", "circle")
    order = {name: k for k, name in enumerate(sorted(versions, key=lambda name: not name.startswith("learned")))}
    entries = [algorithm_entry(order[name], name) for name in versions]
    plots = [
        _regression(data.isel(example=k), points, entries, f"Example {k + 1}") for k in range(data.sizes["example"])
    ]
    caption = "Data of some test problems and the curves that the networks fit after the number of steps in the legend."
    return Figure("regressions", "Fitted curves", caption, tuple(plots), (points, *entries), _errors(data, versions))


def _regression(data: xarray.Dataset, points: Entry, entries: list[Entry], title: str) -> Plot:
    """One example. The data, not the curves, say how much of the vertical axis is seen."""
    dots = curve(points, data["inputs"].values, data["targets"].values, "(%{x:.3g}, %{y:.3g})")
    dots |= {"mode": "markers", "marker": {"color": "@muted/0.7", "size": 5}}
    grid, heights = data["grid"].values, data["curve"].values
    curves = [curve(entry, grid, heights[j], "%{y:.3g} at %{x:.3g}") for j, entry in enumerate(entries)]
    seen = [value for value in dots["y"] if value is not None] or [0.0, 1.0]
    space = 0.25 * (max(seen) - min(seen)) or 1.0
    layout = axes("input", "output", yaxis={"range": [min(seen) - space, max(seen) + space]})
    label = f"{title}: data and fitted curves of {', '.join(entry.label for entry in entries)}."
    return Plot([dots, *curves], layout, label, title)


def _errors(data: xarray.Dataset, versions: list[str]) -> Markup:
    """How far the curves are from the data, in numbers."""
    grid, inputs, targets = (np.asarray(data[name].values, float) for name in ("grid", "inputs", "targets"))
    curves = np.asarray(data["curve"].values, float)

    def error(k: int, j: int) -> float:
        return float(np.mean((np.interp(inputs[k], grid, curves[k, j]) - targets[k]) ** 2))

    examples = range(len(curves))
    rows = [[name, *(number(error(k, j), 3) for k in examples)] for j, name in enumerate(versions)]
    header = ["version", *(f"example {k + 1}" for k in examples)]
    return table("Mean squared distance of the curves from the data", header, rows)
