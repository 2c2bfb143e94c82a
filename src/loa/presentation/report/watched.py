"""The page of a watch: one small HTML file with the stream, the evidence and the alarms, drawn as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...deployment.watching.watch import Watch
from ...messages.arguments import as_path, check_type
from ...storage.files import write_whole
from .markup import Markup, markup, section, table, tag
from .numbers import number

WIDTH, HEIGHT, LEFT, BOTTOM = 860, 170, 64, 24

STYLE = """
:root { --ink: #1d1d1f; --muted: #5f6368; --paper: #fff; --line: #0b57d0; --alarm: #b3261e; --grid: #e3e3e8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ececf1; --muted: #a8abb3; --paper: #16171a; --line: #8ab4f8; --alarm: #f2b8b5; --grid: #33353b; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
       max-width: 56rem; padding: 0 1rem; }
svg { width: 100%; height: auto; } text { font-size: 12px; fill: var(--muted); }
.lead { font-size: 1.15rem; } .alarm { color: var(--alarm); font-weight: 600; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .2rem 1rem .2rem 0; font-weight: 400; }
thead th { border-bottom: 1px solid var(--grid); color: var(--muted); } figure { margin: 1rem 0; }
figcaption, .caption { color: var(--muted); margin: 0; }
"""


def watch_page(watch: Watch, path: Path | str) -> None:
    """Write a page that shows a watched stream: each quantity over time, the evidence, and the alarms.

    Arguments:
        watch: a `loa.Watch`.
        path: the HTML file, which holds all it needs; it is written whole or not at all.

    >>> import tempfile, loa
    >>> watch = loa.Watch({"steps": [10, 12, 11]})
    >>> for steps in (11, 10, 13):
    ...     alarm = watch.see(steps=steps)
    >>> path = Path(tempfile.mkdtemp()) / "watch.html"
    >>> watch_page(watch, path)
    >>> "No alarm" in path.read_text()
    True
    """
    check_type("watch", watch, Watch, "a loa.Watch")
    path, text = as_path("path", path), _page(watch)
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def _page(watch: Watch) -> str:
    head = tag("head", tag("meta", charset="utf-8"), tag("title", "Watch – loa"), tag("style", Markup(STYLE)))
    quantities = [_quantity(watch, name) for name in watch.quantities]
    parts = (tag("h1", "Watch"), _verdict(watch), *quantities, _certificates(watch))
    return markup(Markup("<!doctype html>\n"), tag("html", head, tag("body", tag("main", *parts)), lang="en"))


def _verdict(watch: Watch) -> Markup:
    if watch.alarms:
        said = tag("p", *(tag("span", f"{alarm} ") for alarm in watch.alarms), class_="lead alarm")
    else:
        said = tag("p", _calm(watch), class_="lead")
    rule = (
        f"There is an alarm when the evidence of a quantity reaches {number(watch.threshold)}. If new problems are "
        "like those of the calibration sample, the probability that this ever happens is at most "
        f"{watch.false_alarms:g}."
    )
    return markup(said, tag("p", rule))


def _calm(watch: Watch) -> str:
    """A sentence for a stream without an alarm: how much evidence of a change there is."""
    if watch.time == 0:
        return "Nothing was observed yet."
    most = max(watch.evidence, key=watch.evidence.__getitem__)
    seen = f"{watch.time} observations" if watch.time > 1 else "1 observation"
    against = [claim for claim, verdict in watch.verdicts.items() if verdict == "contradicted"]
    found = f"No alarm in {seen}: the evidence of a change is now at most {number(watch.evidence[most], 3)}, in {most}."
    if not against:
        return found
    verb = "is" if len(against) == 1 else "are"
    return f"{found} But {len(against)} of the {len(watch.verdicts)} certificates {verb} contradicted."


def _quantity(watch: Watch, name: str) -> Markup:
    """Two plots: the values, and the decimal logarithm of the evidence."""
    history, place = watch.history, watch.quantities.index(name)
    time, values, evidence = history["time"], history[f"value {name}"], history[f"evidence {name}"]
    alarms = [alarm.time for alarm in watch.alarms if alarm.quantity == name]
    last = max(watch.time, 1)
    stride = watch.time // max(len(time), 1)
    shown = f"; one in {stride} is shown" if stride > 1 else ""
    dots = _Plot(last, values).drawn(time, values, alarms, dots=True, label=f"{name} over time")
    wealth = _Plot(last, np.append(evidence, [math.log10(watch.threshold), 0.0]))
    line = wealth.drawn(time, evidence, alarms, dots=False, label=f"Evidence of {name} over time, logarithmic",
                        level=math.log10(watch.threshold))  # fmt: skip
    return section(
        f"quantity-{place}",
        name,
        tag("figure", dots, tag("figcaption", f"{name} of each observation{shown}")),
        tag("figure", line, tag("figcaption", "evidence, as a power of ten; alarms are raised at the dashed line")),
    )


def _certificates(watch: Watch) -> Markup:
    rows = [(claim, verdict) for claim, verdict in watch.verdicts.items()]
    if not rows:
        return Markup("")
    return section("certificates", "Certificates", table("On this stream", ["certificate", "verdict"], rows))


class _Plot:
    """The frame of a plot: time from 0 to `last`, and heights that hold all finite values."""

    def __init__(self, last: float, values: np.ndarray):
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        self.last, self.low, self.high = last, low, high if high > low else low + 1.0

    def x(self, time: float) -> float:
        return LEFT + (WIDTH - LEFT - 10) * time / self.last

    def y(self, value: float) -> float:
        return 8 + (HEIGHT - BOTTOM - 16) * (1 - (value - self.low) / (self.high - self.low))

    def drawn(
        self, time: np.ndarray, values: np.ndarray, alarms: Sequence[int], *, dots: bool, label: str,
        level: float | None = None,
    ) -> Markup:  # fmt: skip
        points = [(self.x(t), self.y(v)) for t, v in zip(time, values, strict=True) if math.isfinite(v)]
        if dots:
            data = [tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="1.8", fill="var(--line)", opacity="0.55")
                    for x, y in points]  # fmt: skip
        else:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            data = [tag("polyline", points=path, fill="none", stroke="var(--line)", stroke_width="1.6")]
        marks = [self._line(self.x(t), 4, self.x(t), HEIGHT - BOTTOM, "var(--alarm)", "1.6") for t in alarms]
        if level is not None:
            marks.append(self._line(LEFT, self.y(level), WIDTH - 10, self.y(level), "var(--alarm)", "1.2", "6 4"))
        return tag("svg", *self._axes(), *data, *marks, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=label)

    def _axes(self) -> list[Markup]:
        ticks = [self.low, (self.low + self.high) / 2, self.high]
        found = [self._line(LEFT, self.y(tick), WIDTH - 10, self.y(tick), "var(--grid)", "1") for tick in ticks]
        found += [self._text(LEFT - 8, self.y(tick) + 4, number(tick, 3), "end") for tick in ticks]
        times = {"start": 0.0, "middle": self.last / 2, "end": self.last}
        return found + [self._text(self.x(at), HEIGHT - 4, number(round(at)), anchor) for anchor, at in times.items()]

    def _line(self, x1: float, y1: float, x2: float, y2: float, color: str, width: str, dash: str | None = None) -> Any:
        ends = {name: f"{value:.1f}" for name, value in zip(("x1", "y1", "x2", "y2"), (x1, y1, x2, y2), strict=True)}
        return tag("line", **ends, stroke=color, stroke_width=width, stroke_dasharray=dash)

    def _text(self, x: float, y: float, words: str, anchor: str) -> Markup:
        return tag("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)
