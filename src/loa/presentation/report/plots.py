"""The plots of the report: evolution of the gap, histograms, distribution functions, performance profiles."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...certificates import Certificate
from ...results.run_results import Results
from . import quantities
from .figure import Entry, Figure, Plot, algorithm_entry, area, axes, compact, curve
from .markup import Markup, table
from .numbers import bound, number, percent, real
from .quantities import Array, Steps

FUNCTIONALS = {"stopping_time": "iterations", "contraction_factor": "contraction factor"}
TICKS = [m * 10**k for k in range(4) for m in (1, 2, 5)]
PERCENT = {"tickformat": ".0%", "rangemode": "tozero"}


def figures(results: Results) -> list[Figure]:
    """All of them, in the order of the page."""
    entries = [algorithm_entry(k, name) for k, name in enumerate(quantities.names(results.performance))]
    histograms = [histogram(results, entries, name) for name in FUNCTIONALS if name in results.performance]
    return [evolution(results, entries), *histograms, distribution(results, entries), profiles(results, entries)]


def evolution(results: Results, entries: Sequence[Entry]) -> Figure:
    """The gap over time: band, mean dashed, median solid."""
    shown = quantities.evolution(results.performance)
    data = []
    for k, entry in enumerate(entries):
        parts = shown.statistics[entry.label]
        data.append(area(entry, shown.time, parts["low"], parts["high"], 0.16 if k == 0 else 0.08))
    for entry in entries:
        parts = shown.statistics[entry.label]
        hover = "gap %{y:.3g} after %{x} iterations, "
        mean = curve(entry, shown.time, parts["mean"], hover + "mean", width=1.4, dash="dash")
        data += [mean | {"mode": "lines"}, curve(entry, shown.time, parts["median"], hover + "median")]
    t_max = results.summary["t_max"]
    decades = [math.log10(shown.lowest), math.log10(shown.highest)]
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
    count = results.performance.attrs.get("gap_problems")
    over = f"over {number(count)} test problems" if count else "over test problems"
    caption = (
        f"Optimality gap after each iteration, {over}: the median is solid, the mean dashed, and the band holds the "
        "middle 95 % of problems. What lies beyond the edges of the plot, such as a gap of zero, is drawn on the edge."
    )
    times = shown.time[np.unique(np.linspace(0, len(shown.time) - 1, 7).astype(int))]
    ranks = np.searchsorted(shown.time, times)
    gap = results.performance["gap"].sel(statistic="median")
    medians = [gap.sel(time=times).values[k] for k in range(len(entries))]
    rows = [[entry.label, *(number(v, 3) for v in median)] for entry, median in zip(entries, medians, strict=True)]
    header = ["algorithm", *(f"t = {number(shown.time[rank])}" for rank in ranks)]
    label = f"Line plot of the optimality gap against iterations for {len(entries)} algorithms, on a logarithmic scale."
    numbers = table("Median of the gap after t iterations", header, rows)
    return Figure("evolution", "Evolution of the gap", caption, (Plot(data, layout, label),), tuple(entries), numbers)


def histogram(results: Results, entries: Sequence[Entry], functional: str) -> Figure:
    """Values of the learned algorithm, with mean, median and bounds; other algorithms appear when asked for."""
    word = FUNCTIONALS[functional]
    by_name = quantities.values(results.performance, functional)
    edges, shares = quantities.bins(by_name, whole=functional == "stopping_time")
    entries = [algorithm_entry(k, entry.label, shown=k == 0) for k, entry in enumerate(entries)]
    data = [_bars(entry, edges, shares[entry.label], word) for entry in entries]
    top = 1.05 * max(shares[entries[0].label].max(), 0.01)
    marked = marks(results, functional, by_name[entries[0].label])
    heights = np.linspace(0.0, top, 12)
    data += [_mark(entry, place, heights) for entry, place in marked]
    layout = axes(word, "share of test problems", barmode="overlay", bargap=0, yaxis=PERCENT)
    title = "Stopping time" if functional == "stopping_time" else "Contraction factor"
    told = (
        f", counted up to {number(results.summary['t_max'])},"
        if functional == "stopping_time"
        else (" (the factor by which the gap shrinks in an iteration, on average; smaller is better)")
    )
    caption = (
        f"Histogram of the {title.lower()}{told} of the learned algorithm, and what is certified about its "
        "mean. Add other algorithms with the buttons above."
    )
    label = f"Histogram of the {title.lower()} of the learned algorithm; lines: {_spoken(marked)}."
    numbers = _quantile_table(title, by_name)
    legend = (*entries, *(entry for entry, _ in marked))
    return Figure(functional.replace("_", "-"), title, caption, (Plot(data, layout, label),), legend, numbers)


def _bars(entry: Entry, edges: Array, shares: Array, word: str) -> dict[str, Any]:
    filled = np.flatnonzero(shares)
    return {
        "type": "bar",
        "name": html.escape(entry.label),
        "legendgroup": entry.group,
        "x": compact((edges[filled] + edges[filled + 1]) / 2),
        "y": compact(shares[filled]),
        "width": float(f"{edges[1] - edges[0]:.6g}"),
        "customdata": [[number(edges[k]), number(edges[k + 1])] for k in filled],
        "marker": {"color": f"@{entry.color}/0.45", "line": {"color": f"@{entry.color}", "width": 1}},
        "hovertemplate": f"%{{y:.1%}} between %{{customdata[0]}} and %{{customdata[1]}} {word}"
        "<extra>%{fullData.name}</extra>",
    }


def _mark(entry: Entry, place: float, heights: Array) -> dict[str, Any]:
    """A vertical line. Its invisible markers can be pointed at, and keep it away from the edge."""
    line = curve(entry, [place] * len(heights), heights, "%{x}")
    return line | {"mode": "lines+markers", "marker": {"size": 12, "opacity": 0, "color": f"@{entry.color}"}}


def marks(results: Results, functional: str, learned: Array) -> list[tuple[Entry, float]]:
    """Lines in the histogram: mean, median, the certified mean, the paper's bound and the cap."""
    described = results.summary["learned"].get(functional, {})
    mean, median = real(described.get("mean")), real(described.get("median"))
    found = [
        (Entry("mean", f"mean {number(mean)}", "ink", None, "dash"), mean),
        (Entry("median", f"median {number(median)}", "ink", None, "dot"), median),
    ]
    ours = certified_mean(results.certificates, functional)
    paper = next((each for each in results.references if each.functional == functional and each.kind == "paper"), None)
    cap = next((each.cap for each in (ours, paper) if each is not None and each.cap is not None), None)
    if ours is not None:
        found.append((Entry("ours", _bound_label("certified mean", ours), "certified"), ours.bound))
    if paper is not None:
        found.append((Entry("paper", _bound_label("bound of the paper", paper), "paper", None, "dashdot"), paper.bound))
    found = [(entry, place) for entry, place in found if math.isfinite(place)]
    if cap is not None and math.isfinite(cap):
        farthest = max([place for _, place in found] + [float(v) for v in learned.flat if math.isfinite(v)] + [0.0])
        found.append((Entry("cap", f"cap {number(cap)}", "muted", None, "longdash", cap <= 1.6 * farthest), cap))
    return found


def certified_mean(certificates: Mapping[str, Certificate], functional: str) -> Certificate | None:
    """The certificate of a mean, that of the deployed algorithm rather than that of the posterior."""
    fitting = [each for each in certificates.values() if each.functional == functional and each.measure == "mean"]
    return min(fitting, key=lambda each: each.target != "deployed", default=None)


def _bound_label(name: str, certificate: Certificate) -> str:
    return f"{name} ≤ {bound(certificate.bound)}" + (" (says nothing)" if certificate.vacuous else "")


def _spoken(marked: Sequence[tuple[Entry, float]]) -> str:
    return ", ".join(entry.label.replace("≤", "at most") for entry, _ in marked)


def _quantile_table(title: str, by_name: Mapping[str, Array]) -> Markup:
    levels = {"smallest": 0.0, "5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95, "largest": 1.0}
    rows = [
        [name, *(number(v) for v in np.quantile(array, list(levels.values()), method="inverted_cdf"))]
        for name, array in by_name.items()
    ]
    return table(f"{title}: quantiles over test problems", ["algorithm", *levels], rows)


def distribution(results: Results, entries: Sequence[Entry]) -> Figure:
    """Share of problems solved within so many iterations, with the certified band of the learned algorithm."""
    horizon = float(results.summary["t_max"])
    functions = quantities.solved_within(results.performance)
    hover = "%{y:.1%} within %{x} iterations"
    data = [_staircase(entry, functions[entry.label], 0.0, horizon, hover) for entry in entries]
    band = quantities.certified_band(results.performance)
    legend, told = list(entries), ""
    if band is not None:
        entry = Entry("band", "certified for the learned algorithm", "certified", None, "dash")
        data.append(_staircase(entry, band, 0.0, horizon, "at least " + hover))
        legend.append(entry)
        confidence = results.performance.attrs.get("band_confidence")
        sure = f" with {percent(confidence, -1)} confidence" if confidence else ""
        told = (
            f" The dashed line is certified{sure}: on new problems the distribution function of the learned algorithm "
            "lies above it, everywhere at once."
        )
    points = np.unique(np.round(np.geomspace(max(1.0, horizon / 64), horizon, 7)))
    rows = [[entry.label, *map(percent, functions[entry.label].at(points))] for entry in entries]
    rows += [["certified for learned", *(f"≥ {percent(v)}" for v in band.at(points))]] if band is not None else []
    numbers = table("Share solved within t iterations", ["algorithm", *(f"t = {number(t)}" for t in points)], rows)
    layout = axes("iterations", "share of test problems solved", yaxis=PERCENT | {"range": [0, 1.03]})
    caption = "Share of test problems that are solved within so many iterations; higher is better." + told
    label = f"Step plot of the share of test problems solved against iterations for {len(entries)} algorithms."
    plots = (Plot(data, layout, label),)
    return Figure("distribution", "How many problems are solved in time", caption, plots, tuple(legend), numbers)


def profiles(results: Results, entries: Sequence[Entry]) -> Figure:
    """Performance profiles by iterations and by oracle calls."""
    costs = {"stopping_time": "iterations", "oracle_calls": "oracle calls"}
    plots, rows = [], []
    factors = np.array([1.0, 1.5, 2.0, 4.0, 8.0, 16.0])
    for functional in [name for name in costs if name in results.performance]:
        word, steps = costs[functional], quantities.profile(results.performance, functional)
        largest = max([2.0] + [float(each.x.max()) for each in steps.values() if each.x.size])
        hover = f"%{{y:.1%}} with at most %{{x:.3g}} times the {word} of the best"
        data = [_staircase(entry, steps[entry.label], 1.0, 1.1 * largest, hover) for entry in entries]
        xaxis = {"type": "log", "range": [-0.02, math.log10(min(1.1 * largest, 1e3))], "tickvals": TICKS}
        yaxis = PERCENT | {"range": [0, 1.03]}
        layout = axes("multiple of the best", "share solved", xaxis=xaxis, yaxis=yaxis)
        label = f"Performance profile by {word} for {len(entries)} algorithms."
        plots.append(Plot(data, layout, label, f"By {word}"))
        rows += [[f"{entry.label}, {word}", *map(percent, steps[entry.label].at(factors))] for entry in entries]
    numbers = table("Share solved at a multiple of the best", ["algorithm", *(f"{number(f)} ×" for f in factors)], rows)
    caption = (
        "For each test problem, the cost of an algorithm is divided by that of the best algorithm on this problem. The "
        "curve is the share of problems on which this ratio is at most the number on the axis: on the left, how often "
        "an algorithm is the best; on the right, how often it solves the problem at all."
    )
    return Figure("profile", "Performance profile", caption, tuple(plots), tuple(entries), numbers)


def _staircase(entry: Entry, steps: Steps, first: float, last: float, hover: str) -> dict[str, Any]:
    """A function that jumps, drawn from `first` to `last`."""
    end = max(last, float(steps.x[-1])) if steps.x.size else last
    height = float(steps.y[-1]) if steps.y.size else 0.0
    x, y = [first, *steps.x, end], [float(steps.at(np.array([first]))[0]), *steps.y, height]
    return curve(entry, x, y, hover, shape="hv")
