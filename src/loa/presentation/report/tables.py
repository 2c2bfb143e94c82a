"""The measures of every algorithm with their intervals, duels, published numbers, hardest and easiest problems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...results import quantities
from ...results.algorithm_summary import AlgorithmSummary, FunctionalSummary
from ...results.names import MEASURES, PUBLISHED
from ...results.run_results import Results
from ...statistics.measures import Estimate
from .markup import Markup, markup, section, table, tag
from .numbers import NONE, bound, interval, number, percent
from .verdict import by_how_much

NUM_EXTREMES = 5

BY_BATCH = " Wall-clock time was measured in batches, once compiled, on the machine below."


def measured(results: Results) -> Markup:
    """The section on measures."""
    summary = results.summary
    costs = [each for each in summary.functionals if each.name in summary.costs]
    how = "" if summary.clocked else BY_BATCH
    parts = [
        tag(
            "p",
            "Under each number stands its 95% confidence interval, which is for this number alone. Where a column says "
            "that intervals are approximate, they miss rare failures. Guarantees are in the certificates." + how,
        ),
        _overview("All algorithms on the test problems", summary.algorithms, costs),
        *_duels(results),
        *(_functional(each, summary.algorithms) for each in summary.functionals),
    ]
    if summary.more_tests:
        others = {"test problems": summary.learned, **summary.more_tests}
        parts += [
            tag("h3", "Further tests"),
            tag("p", "The learned algorithm on other problems. No certificate covers these."),
            _overview("The learned algorithm on other problems", others, summary.functionals, first="problems"),
        ]
    return section("measures", "Measures", *parts)


def padded(value: Any) -> str:
    """With as many digits as its neighbours in the column."""
    return number(value, pad=True)


def estimate(value: Any, ends: Any, shown: Any = padded) -> Markup:
    """A number above its interval."""
    return markup(shown(value), tag("small", interval(ends, shown)))


def _overview(
    caption: str,
    algorithms: Mapping[str, AlgorithmSummary],
    functionals: Sequence[FunctionalSummary],
    first: str = "algorithm",
) -> Markup:
    timed = not all(math.isnan(each.milliseconds) for each in algorithms.values())

    def row(name: str, each: AlgorithmSummary) -> list[str]:
        means = [_measure(each, functional.name, "mean") for functional in functionals]
        solved = estimate(each.solved, each.solved_interval, percent)
        return [name, *means, *([number(each.milliseconds, 3)] * timed), solved]

    means = [f"{each.unit or each.noun}, mean{_approximate(each, 'mean')}" for each in functionals]
    header = [first, *means, *(["milliseconds per problem"] * timed), "solved"]
    return table(caption, header, [row(name, each) for name, each in algorithms.items()])


def _functional(functional: FunctionalSummary, algorithms: Mapping[str, AlgorithmSummary]) -> Markup:
    rows = [[name, *(_measure(each, functional.name, key) for key in MEASURES)] for name, each in algorithms.items()]
    unit = f" ({functional.unit})" if functional.unit and functional.unit != functional.noun else ""
    names = {key: f"{MEASURES[key]}{_approximate(functional, key)}" for key in MEASURES}
    header = ["algorithm", *(name.replace("% ", "%\u00a0") for name in names.values())]
    return table(f"{functional.title}{unit} on the test problems", header, rows)


def _approximate(functional: FunctionalSummary, measure: str) -> str:
    """Said where an interval stands that does not cover for any number of problems."""
    covers = measure in ("median", "q95") or (measure == "mean" and functional.cap is not None)
    return "" if covers else " (approximate interval)"


def _measure(algorithm: AlgorithmSummary, functional: str, measure: str) -> Markup:
    numbers = algorithm.functionals[functional]
    return estimate(getattr(numbers, measure), numbers.intervals[measure])


def _duels(results: Results) -> list[Markup]:
    """The learned algorithm against each baseline, paired on the same problems."""
    found = {
        cost: {each.baseline: each for each in list_}
        for cost, list_ in quantities.contests(results.summary, results.performance).items()
    }
    if not found:
        return []
    summary = results.summary
    times = found.get(summary.time.name, {})
    rows = []
    for name in results.summary.baselines:
        time = times.get(name)
        saved, better = (time.saved, time.better) if time else (None, None)
        rows.append([name, *(by_how_much(each[name]) for each in found.values()), _interval(saved), _share(better)])
    saved_in = f"{summary.time.unit} saved per problem"
    header = ["against", *(summary.costs[cost].title for cost in found), saved_in, "faster on"]
    caption = (
        f"{summary.who[:1].upper()}{summary.who[1:]} against each baseline, in pairs on the same problems. All "
        f"decisions and intervals hold together with {percent(quantities.CONFIDENCE)} confidence"
        + ("" if summary.clocked else ", except for wall-clock time, which is only measured")
    )
    return [table(caption, header, rows)]


def _interval(found: Estimate | None) -> str:
    return NONE if found is None else interval((found.low, found.high))


def _share(found: Estimate | None) -> str:
    return NONE if found is None else estimate(found, (found.low, found.high), percent)


def published(results: Results) -> Markup:
    """Numbers of the paper beside ours, where it has some."""
    rows = []
    for functional, numbers in results.summary.published.items():
        ours = results.summary.learned.functionals.get(functional)
        for measure, value in numbers.items():
            if measure == "bound":
                certificate = results.summary.certified_mean(functional)
                own = bound(certificate.bound) if certificate else NONE
            else:
                own = number(getattr(ours, measure, None))
            name = results.summary.functional(functional).noun
            rows.append([f"{name}, {PUBLISHED.get(measure, measure)}", number(value), own])
    if not rows:
        return Markup("")
    said = (
        "What the paper reports for its own learned algorithm. The problems of this run are other draws, so small "
        "differences mean nothing. Its bound is that of its theorem; ours is the certificate above."
    )
    numbers = table("Published, and in this run", ["quantity", "published", "this run"], rows)
    return section("published", "Published numbers", tag("p", said), numbers)


def extremes(results: Results) -> Markup:
    """The easiest and the hardest test problems of the learned algorithm, with all algorithms' times and features."""
    order = quantities.ranking(results.performance)
    count = min(NUM_EXTREMES, len(order) // 2) or len(order)
    header = ["problem", *order[0].times, *order[0].features]
    t_max, summary = number(results.summary.t_max), results.summary
    parts = [
        tag("p", f"By the {summary.time.noun} of {summary.who}: {summary.time.unit} of every algorithm, and features "
            "of the problem. Problems are numbered from 0 in the order in which they were drawn; "
            f"{t_max}* is not solved."),
        table("Hardest test problems", header, [_problem(each) for each in order[::-1][:count]]),
        table("Easiest test problems", header, [_problem(each) for each in order[:count]]),
    ]  # fmt: skip
    return section("extremes", "Hardest and easiest problems", *parts)


def _problem(row: quantities.ProblemRow) -> list[str]:
    times = [number(time) + ("" if row.solved[name] else "*") for name, time in row.times.items()]
    return [f"no. {row.number}", *times, *map(number, row.features.values())]
