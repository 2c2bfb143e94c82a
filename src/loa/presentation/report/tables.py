"""The measures of every algorithm with their intervals, duels, published numbers, hardest and easiest problems."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...results.run_results import Results
from ...statistics import measures
from . import quantities
from .markup import Markup, markup, section, table, tag
from .numbers import NONE, bound, interval, number, percent, real
from .plots import certified_mean
from .verdict import by_how_much, contests

FUNCTIONALS = {
    "stopping_time": "Iterations",
    "oracle_calls": "Oracle calls",
    "contraction_factor": "Contraction factor",
}
MEASURES = {"mean": "mean", "median": "median", "q95": "95\u00a0% quantile", "cvar95": "mean of the worst 5\u00a0%"}
NUM_EXTREMES = 5


def measured(results: Results) -> Markup:
    """The section on measures."""
    described = {"learned": results.summary["learned"], **results.summary["baselines"]}
    parts = [
        tag(
            "p",
            "Under each number stands its 95 % confidence interval. These intervals describe the sample; guarantees "
            "are in the certificates. Wall-clock time was measured in batches, once compiled, on the machine below.",
        ),
        _overview("All algorithms on the test problems", described),
    ]
    parts += _duels(results)
    parts += [
        _functional(name, title, described) for name, title in FUNCTIONALS.items() if name in results.summary["learned"]
    ]
    if results.summary.get("more_tests"):
        parts.append(tag("h3", "Further tests"))
        parts.append(tag("p", "The learned algorithm on other problems. No certificate covers these."))
        others = {"test problems": results.summary["learned"], **results.summary["more_tests"]}
        parts.append(_overview("The learned algorithm on other problems", others, first="problems"))
    return section("measures", "Measures", *parts)


def padded(value: Any) -> str:
    """With as many digits as its neighbours in the column."""
    return number(value, pad=True)


def estimate(value: Any, ends: Any, shown: Any = padded) -> Markup:
    """A number above its interval."""
    return markup(shown(value), tag("small", interval(ends, shown)))


def _overview(caption: str, described: dict[str, Any], first: str = "algorithm") -> Markup:
    def row(name: str, each: dict[str, Any]) -> list[str]:
        means = [_measure(each, functional, "mean") for functional in ("stopping_time", "oracle_calls")]
        solved = estimate(each.get("solved"), each.get("solved_interval"), percent)
        return [name, *means, number(each.get("milliseconds"), 3), solved]

    header = [first, "iterations, mean", "oracle calls, mean", "milliseconds per problem", "solved"]
    return table(caption, header, [row(name, each) for name, each in described.items()])


def _functional(functional: str, title: str, described: dict[str, Any]) -> Markup:
    rows = [[name, *(_measure(each, functional, key) for key in MEASURES)] for name, each in described.items()]
    return table(f"{title} on the test problems", ["algorithm", *MEASURES.values()], rows)


def _measure(described: dict[str, Any], functional: str, measure: str) -> str:
    numbers = described.get(functional)
    if not numbers:
        return NONE
    return estimate(numbers.get(measure), numbers.get("intervals", {}).get(measure))


def _duels(results: Results) -> list[Markup]:
    """The learned algorithm against each baseline, paired on the same problems."""
    found = contests(results)
    by_name = quantities.values(results.performance, "stopping_time")
    learned = next(iter(by_name.values()))
    rows = []
    for name in results.summary["baselines"]:
        each = {cost: next((one for one in list_ if one.baseline == name), None) for cost, list_ in found.items()}
        cells = [
            by_how_much(one) if (one := each.get(c)) else NONE
            for c in ("stopping_time", "oracle_calls", "milliseconds")
        ]
        time = each.get("stopping_time")
        faster = measures.probability(learned < by_name[name])
        saved = interval(time.saved) if time and time.saved else NONE
        rows.append([name, *cells, saved, estimate(faster, (faster.low, faster.high), percent)])
    if not rows:
        return []
    header = ["against", "iterations", "oracle calls", "wall-clock", "iterations saved per problem", "faster on"]
    caption = "The learned algorithm against each baseline, in pairs on the same problems"
    return [table(caption, header, rows)]


def published(results: Results) -> Markup:
    """Numbers of the paper beside ours, where it has some."""
    theirs = results.summary.get("published") or {}
    rows = []
    for functional, numbers in theirs.items():
        title = str(FUNCTIONALS.get(functional) or functional.replace("_", " ")).lower()
        ours = results.summary["learned"].get(functional, {})
        for measure, value in numbers.items():
            if measure == "bound":
                certificate = certified_mean(results.certificates, functional)
                own = bound(certificate.bound) if certificate else NONE
            else:
                own = number(ours.get(measure))
            rows.append([f"{title}, {_named(measure)}", number(value), own])
    if not rows:
        return Markup("")
    said = (
        "What the paper reports for its own learned algorithm. The problems were drawn anew, so small differences mean "
        "nothing. Its bound is that of its theorem; ours is the certificate above."
    )
    numbers = table("Published, and in this run", ["quantity", "published", "this run"], rows)
    return section("published", "Published numbers", tag("p", said), numbers)


def _named(measure: str) -> str:
    return {"bound": "bound of the mean", **MEASURES}.get(measure, measure)


def extremes(results: Results) -> Markup:
    """The easiest and the hardest test problems of the learned algorithm, with all algorithms' times and features."""
    order = quantities.ranking(results.performance)
    count = min(NUM_EXTREMES, len(order) // 2) or len(order)
    algorithms = quantities.names(results.performance)
    features = (
        [str(name) for name in results.performance["feature"].values] if "features" in results.performance else []
    )
    header = ["problem", *algorithms, *features]
    t_max = number(results.summary["t_max"])
    parts = [
        tag("p", "By the stopping time of the learned algorithm: iterations of every algorithm, and features of the "
            f"problem. Problems are numbered from 0 in the order in which they were drawn; {t_max}* is not solved."),
        table("Hardest test problems", header, [_problem(results, k, features) for k in order[::-1][:count]]),
        table("Easiest test problems", header, [_problem(results, k, features) for k in order[:count]]),
    ]  # fmt: skip
    return section("extremes", "Hardest and easiest problems", *parts)


def _problem(results: Results, index: int, features: list[str]) -> list[str]:
    data = results.performance.isel(problem=int(index))
    times = np.asarray(data["stopping_time"].values, float).mean(axis=-1)
    solved = (np.asarray(data["outcome"].values) == "solved").all(axis=-1)
    cells = [number(time) + ("" if ok else "*") for time, ok in zip(times, solved, strict=True)]
    described = [real(value) for value in data["features"].values] if features else []
    return [f"no. {index}", *cells, *(number(value) if math.isfinite(value) else NONE for value in described)]
