"""The plots of the report: evolution of the gap, histograms, distribution functions, performance profiles."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...results import quantities
from ...results.names import MARKS
from ...results.quantities import Bars, Histogram, Mark, Steps
from ...results.run_results import Results
from .figure import Entry, Figure, Plot, algorithm_entry, area, axes, compact, curve
from .log import over_time
from .markup import Markup, table
from .numbers import bound, number, percent

TICKS = [m * 10**k for k in range(4) for m in (1, 2, 5)]
PERCENT = {"tickformat": ".0%", "rangemode": "tozero"}


LINES = {
    "mean": ("ink", "dash"),
    "median": ("ink", "dot"),
    "certificate": ("certified", "solid"),
    "paper": ("paper", "dashdot"),
    "cap": ("muted", "longdash"),
}
"""Colour and dash of the marks in a histogram."""


def figures(results: Results) -> list[Figure]:
    """All of them, in the order of the page."""
    entries = [algorithm_entry(k, name) for k, name in enumerate(quantities.names(results.performance))]
    histograms = [histogram(results, entries, each.name) for each in results.summary.functionals]
    others = [distribution(results, entries), profiles(results, entries), *over_time(results, entries)]
    first = [evolution(results, entries)] if "gap" in results.performance else []
    return [*first, *histograms, *others]


def evolution(results: Results, entries: Sequence[Entry]) -> Figure:
    """The gap over time: band, mean dashed, median solid."""
    shown = quantities.evolution(results.performance)
    data = [
        area(entry, shown.time, shown.low[k], shown.high[k], 0.16 if k == 0 else 0.08)
        for k, entry in enumerate(entries)
    ]
    hover = "gap %{y:.3g} after %{x} iterations, "
    for k, entry in enumerate(entries):
        mean = curve(entry, shown.time, shown.mean[k], hover + "mean", width=1.4, dash="dash")
        data += [mean | {"mode": "lines"}, curve(entry, shown.time, shown.median[k], hover + "median")]
    t_max = results.summary.t_max
    decades = [math.log10(limit) for limit in shown.limits]
    layout = axes(
        "iteration",
        "optimality gap",
        yaxis={"type": "log", "range": decades, "exponentformat": "power", "dtick": max(1, round(np.ptp(decades) / 7))},
        shapes=[
            {"type": "line", "x0": t_max, "x1": t_max, "y0": 0, "y1": 1, "yref": "paper",
             "line": {"color": "@muted", "width": 1, "dash": "dot"}}
        ],
        annotations=[
            {"text": f"t<sub>max</sub> = {number(t_max)}", "x": t_max, "y": 1, "yref": "paper", "showarrow": False,
             "xanchor": "right", "yanchor": "top", "xshift": -4}
        ],
    )  # fmt: skip
    caption = (
        f"Optimality gap after each iteration, over {number(shown.num_problems)} test problems: the median is solid, "
        "the mean dashed, and the band holds the middle 95% of problems. A curve leaves the plot where the gap becomes "
        "zero or infinite."
    )
    label = f"Line plot of the optimality gap against iterations for {len(entries)} algorithms, on a logarithmic scale."
    plots = (Plot(data, layout, label),)
    return Figure("evolution", "Evolution of the gap", caption, plots, tuple(entries), _medians(results))


def _medians(results: Results) -> Markup:
    """The median of the gap at a few times."""
    gap = results.performance["gap"].sel(statistic="median").transpose("algorithm", "time")
    places = np.unique(np.linspace(0, gap.sizes["time"] - 1, 7).astype(int))
    header = ["algorithm", *(f"t = {number(time)}" for time in gap["time"].values[places])]
    medians = zip(quantities.names(results.performance), gap.values[:, places], strict=True)
    rows = [[name, *(number(value, 3) for value in median)] for name, median in medians]
    return table("Median of the gap after t iterations", header, rows)


def histogram(results: Results, entries: Sequence[Entry], name: str) -> Figure:
    """Values of the learned algorithm, with mean, median and bounds; other algorithms appear when asked for."""
    shown = quantities.histogram(results.summary, results.performance, name)
    functional = shown.functional
    entries = [algorithm_entry(k, entry.label, shown=k == 0) for k, entry in enumerate(entries)]
    data = [_bars(entry, shown.bars[entry.label], functional.unit or functional.noun) for entry in entries]
    heights = np.linspace(0.0, 1.05 * shown.bars[entries[0].label].shares.max(initial=0.01), 12)
    marked = [(_mark_entry(mark, shown), mark.value) for mark in shown.marks if math.isfinite(mark.value)]
    data += [_mark(entry, place, heights) for entry, place in marked]
    layout = axes(functional.with_unit, "share of test problems", barmode="overlay", bargap=0, yaxis=PERCENT)
    capped = "" if functional.cap is None else f" (values are capped at {number(functional.cap)})"
    certified = ", and what is certified about its mean" if any(m.kind == "certificate" for m in shown.marks) else ""
    caption = (
        f"Histogram of the {functional.noun} of {results.summary.who}{capped}{certified}. Add other algorithms with "
        "the buttons above."
    )
    spoken = ", ".join(entry.label.replace("≤", "at most") for entry, _ in marked)
    label = f"Histogram of the {functional.noun} of {results.summary.who}; lines: {spoken or 'none'}."
    legend = (*entries, *(entry for entry, _ in marked))
    identifier = f"histogram-{[each.name for each in results.summary.functionals].index(name)}"
    numbers = _quantile_table(results, functional.title, name)
    return Figure(identifier, functional.title, caption, (Plot(data, layout, label),), legend, numbers)


def _bars(entry: Entry, bars: Bars, unit: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": html.escape(entry.label),
        "legendgroup": entry.group,
        "x": compact((bars.left + bars.right) / 2),
        "y": compact(bars.shares),
        "width": [float(f"{width:.6g}") for width in bars.right - bars.left],
        "customdata": [[number(left), number(right), unit] for left, right in zip(bars.left, bars.right, strict=True)],
        "marker": {"color": f"@{entry.color}/0.45", "line": {"color": f"@{entry.color}", "width": 1}},
        "hovertemplate": "%{y:.1%} between %{customdata[0]} and %{customdata[1]} %{customdata[2]}"
        "<extra>%{fullData.name}</extra>",
    }


def _mark_entry(mark: Mark, shown: Histogram) -> Entry:
    """The button of a line; a bound that says nothing, and a cap far from all values, are hidden at first."""
    color, dash = LINES[mark.kind]
    if mark.kind in ("certificate", "paper"):
        label = f"{MARKS[mark.kind]} ≤ {bound(mark.value)}" + (" (says nothing)" if mark.vacuous else "")
    else:
        label = f"{MARKS[mark.kind]} {number(mark.value)}"
    near = mark.kind != "cap" or mark.value <= 1.6 * shown.farthest()
    return Entry(mark.kind, label, color, None, dash, near and not mark.vacuous)


def _mark(entry: Entry, place: float, heights: NDArray) -> dict[str, Any]:
    """A vertical line. Its invisible markers can be pointed at, and keep it away from the edge."""
    line = curve(entry, [place] * len(heights), heights, "%{x}")
    return line | {"mode": "lines+markers", "marker": {"size": 12, "opacity": 0, "color": f"@{entry.color}"}}


def _quantile_table(results: Results, title: str, name: str) -> Markup:
    rows = [
        [algorithm, *(number(quantities.quantile(each, level)) for level in quantities.LEVELS.values())]
        for algorithm, each in quantities.values(results.performance, name).items()
    ]
    return table(f"{title}: quantiles over test problems", ["algorithm", *quantities.LEVELS], rows)


def distribution(results: Results, entries: Sequence[Entry]) -> Figure:
    """Share of problems solved within a number of iterations, with the certified band of the learned algorithm."""
    horizon, unit, who = float(results.summary.t_max), results.summary.time.unit, results.summary.who
    functions = quantities.solved_within(results.performance)
    hover = f"%{{y:.1%}} within %{{x}} {unit}"
    data = [_staircase(entry, functions[entry.label], 0.0, horizon, hover) for entry in entries]
    band = quantities.certified_band(results.performance)
    legend, told = list(entries), ""
    if band is not None:
        entry = Entry("band", f"certified for {who}", "certified", None, "dash")
        data.append(_staircase(entry, band, 0.0, horizon, "at least " + hover))
        legend.append(entry)
        confidence = results.performance.attrs.get("band_confidence")
        sure = f" with {percent(confidence, -1)} confidence" if confidence else ""
        told = (
            f" The dashed line is certified{sure}: on new problems the distribution function of {who} "
            "lies above it, everywhere simultaneously."
        )
    points = np.geomspace(horizon / 64, horizon, 7)
    points = points if results.summary.clocked else np.unique(np.round(np.maximum(points, 1.0)))
    rows = [[entry.label, *map(percent, functions[entry.label].at(points))] for entry in entries]
    if band is not None:
        rows.append([f"certified for {results.summary.own}", *(f"≥ {percent(v)}" for v in band.at(points))])
    numbers = table(f"Share solved within t {unit}", ["algorithm", *(f"t = {number(t)}" for t in points)], rows)
    layout = axes(unit, "share of test problems solved", yaxis=PERCENT | {"range": [0, 1.03]})
    caption = f"Share of test problems that are solved within a number of {unit}; higher is better." + told
    label = f"Step plot of the share of test problems solved against {unit} for {len(entries)} algorithms."
    plots = (Plot(data, layout, label),)
    return Figure("distribution", "How many problems are solved in time", caption, plots, tuple(legend), numbers)


def profiles(results: Results, entries: Sequence[Entry]) -> Figure:
    """Performance profiles by iterations and by oracle calls."""
    plots, rows = [], []
    factors = np.array([1.0, 1.5, 2.0, 4.0, 8.0, 16.0])
    for cost, steps in quantities.profiles(results.performance).items():
        word = results.summary.costs[cost].title
        places = np.concatenate([each.places for each in steps.values()])
        last = 1.1 * max(2.0, float(places[np.isfinite(places)].max()))
        hover = f"%{{y:.1%}} with at most %{{x:.3g}} times the {word} of the best"
        data = [_staircase(entry, steps[entry.label], 1.0, last, hover) for entry in entries]
        xaxis = {"type": "log", "range": [-0.02, math.log10(min(last, 1e3))], "tickvals": TICKS}
        layout = axes("multiple of the best", "share solved", xaxis=xaxis, yaxis=PERCENT | {"range": [0, 1.03]})
        label = f"Performance profile by {word} for {len(entries)} algorithms."
        plots.append(Plot(data, layout, label, f"By {word}"))
        points = np.append(factors, np.inf)
        rows += [[f"{entry.label}, {word}", *map(percent, steps[entry.label].at(points))] for entry in entries]
    header = ["algorithm", *(f"{number(factor)} ×" for factor in factors), "solved at all"]
    numbers = table("Share solved at a multiple of the best", header, rows)
    caption = (
        "For each test problem, the cost of an algorithm is divided by that of the best algorithm on this problem. The "
        "curve is the share of problems on which this ratio is at most the number on the axis: on the left, how often "
        "an algorithm is the best; on the right, how often it solves the problem at all."
    )
    return Figure("profile", "Performance profile", caption, tuple(plots), tuple(entries), numbers)


def _staircase(entry: Entry, steps: Steps, first: float, last: float, hover: str) -> dict[str, Any]:
    """A function that jumps, drawn from `first` to `last`."""
    return curve(entry, *steps.between(first, last), hover, shape="hv")
