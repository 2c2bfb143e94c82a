"""A figure of the page: plots as plain data for plotly, the buttons that show and hide their parts, and a table.

Colours are names such as "@series-0" or "@ink/0.2" (with an opacity), which the page looks up in its style sheet when
it draws, so that plots follow the theme.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .markup import Markup, markup, tag

NUM_COLORS = 8
SYMBOLS = {
    "circle": "M12 2a4 4 0 1 1 0 8a4 4 0 1 1 0-8z",
    "square": "M8.5 2.5h7v7h-7z",
    "diamond": "M12 1l5 5l-5 5l-5-5z",
    "triangle-up": "M12 1.5l4.5 8h-9z",
    "triangle-down": "M12 10.5l4.5-8h-9z",
    "x": "M8 3l1-1l3 3l3-3l1 1l-3 3l3 3l-1 1l-3-3l-3 3l-1-1l3-3z",
    "cross": "M10.5 1.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
}
DASHES = {"solid": None, "dash": "5 3", "dot": "1.5 3", "dashdot": "6 3 1.5 3", "longdash": "9 3"}


@dataclass(frozen=True)
class Entry:
    """A button of the legend: it shows and hides the traces of one group."""

    group: str
    label: str
    color: str
    symbol: str | None = None
    dash: str = "solid"
    shown: bool = True


@dataclass(frozen=True)
class Plot:
    """Traces and layout as plotly knows them, and in words for those who do not see it."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]
    label: str
    title: str = ""


@dataclass(frozen=True)
class Figure:
    """Plots that share a legend, with a caption and a table of their main numbers."""

    name: str
    title: str
    caption: str
    plots: tuple[Plot, ...]
    legend: tuple[Entry, ...]
    numbers: Markup | None = None

    def to_html(self) -> Markup:
        """The figure with its data, to be drawn by the script of the page."""
        parts = [tag("div", *map(self._button, self.legend), class_="legend", role="group", aria_label="Show or hide")]
        plots = [self._plot(plot) for plot in self.plots]
        parts.append(tag("div", *plots, class_="row", data_columns=min(len(plots), 3)))
        parts.append(tag("figcaption", self.caption))
        if self.numbers:
            parts.append(tag("details", tag("summary", "The same in numbers"), self.numbers))
        heading = tag("h3", self.title, id=f"{self.name}-title")
        return markup(
            heading, tag("figure", *parts, class_="plots", id=self.name, aria_labelledby=f"{self.name}-title")
        )

    def _plot(self, plot: Plot) -> Markup:
        chart = tag(
            "div", class_="plot", tabindex="0", role="group", aria_roledescription="interactive plot",
            aria_label=plot.label,
        )  # fmt: skip
        title = tag("p", plot.title, class_="plot-title") if plot.title else ""
        return tag("div", title, chart, _data({"data": plot.data, "layout": plot.layout}))

    @staticmethod
    def _button(entry: Entry) -> Markup:
        line = tag("path", d="M1 6H23", stroke="currentColor", stroke_width=2, stroke_dasharray=DASHES[entry.dash])
        symbol = tag("path", d=SYMBOLS[entry.symbol], fill="currentColor") if entry.symbol else ""
        drawing = tag("svg", line, symbol, viewBox="0 0 24 12", aria_hidden="true", style=f"color:var(--{entry.color})")
        pressed = "true" if entry.shown else "false"
        return tag("button", drawing, tag("span", entry.label), type="button", value=entry.group, aria_pressed=pressed)


def _data(content: Any) -> Markup:
    """JSON inside HTML: no text in it can end the script element.

    >>> _data({"name": "</script>"})
    '<script type="application/json">{"name":"\\\\u003c/script>"}</script>'
    """
    text = json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(f'<script type="application/json">{text}</script>')


def compact(numbers: Iterable[Any]) -> list[float | None]:
    """Five digits are enough for drawing; what is not finite leaves a gap."""
    return [float(f"{number:.5g}") if math.isfinite(number) else None for number in map(float, numbers)]


def algorithm_entry(index: int, name: str, shown: bool = True) -> Entry:
    """The button of an algorithm: each has a colour and a symbol of its own."""
    return Entry(f"a{index}", name, f"series-{index % NUM_COLORS}", list(SYMBOLS)[index % len(SYMBOLS)], "solid", shown)


def curve(entry: Entry, x: Iterable[Any], y: Iterable[Any], hover: str, **line: Any) -> dict[str, Any]:
    """A line in the colour of its entry, with a few markers so that it can be told apart without colour.

    The name stands in a field of its own: in `hover` plotly would take percent signs and braces for its own.
    """
    return {
        "type": "scatter",
        "mode": "lines+markers" if entry.symbol else "lines",
        "name": html.escape(entry.label),
        "legendgroup": entry.group,
        "x": compact(x),
        "y": compact(y),
        "line": {"color": f"@{entry.color}", "width": 2, "dash": entry.dash} | line,
        "marker": {"symbol": entry.symbol or "circle", "size": 8, "maxdisplayed": 9, "color": f"@{entry.color}"},
        "hovertemplate": f"{hover}<extra>%{{fullData.name}}</extra>",
    }


def area(entry: Entry, x: Iterable[Any], low: Iterable[Any], high: Iterable[Any], opacity: float) -> dict[str, Any]:
    """What lies between two curves, without label."""
    kept = [p for p in zip(map(float, x), map(float, low), map(float, high), strict=True) if all(map(math.isfinite, p))]
    forth, back = [(t, top) for t, _, top in kept], [(t, bottom) for t, bottom, _ in reversed(kept)]
    return {
        "type": "scatter",
        "mode": "lines",
        "legendgroup": entry.group,
        "x": compact(t for t, _ in forth + back),
        "y": compact(v for _, v in forth + back),
        "fill": "toself",
        "fillcolor": f"@{entry.color}/{opacity}",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }


def axes(x: str, y: str, **more: Any) -> dict[str, Any]:
    """A layout with titled axes; `xaxis` and `yaxis` say more about them."""
    return {
        "xaxis": {"title": {"text": html.escape(x)}} | more.pop("xaxis", {}),
        "yaxis": {"title": {"text": html.escape(y)}} | more.pop("yaxis", {}),
        **more,
    }
