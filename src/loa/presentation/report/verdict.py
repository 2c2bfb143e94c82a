"""Who won, by how much, and what is certified: in plain words, and no better than it is."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...certificates import Certificate
from ...certificates.budget import joint_confidence
from ...results.run_results import Results
from ...statistics import measures
from . import quantities
from .markup import Markup, items, section, tag
from .numbers import NONE, few, interval, number, percent, real, words

COSTS = {"stopping_time": "iterations", "oracle_calls": "oracle calls", "milliseconds": "wall-clock time"}
CLOCK_NOISE = 0.05
"""Wall-clock times that differ by less are not told apart: they were measured once, on one machine."""


class Contest(NamedTuple):
    """The learned algorithm against one baseline in one cost.

    Fields:
        learned, other: average costs.
        outcome: "won", "lost", "level" (no clear difference) or "unmeasured".
        saved: 95 % confidence interval of what is saved per problem, paired; None for wall-clock time.
    """

    cost: str
    baseline: str
    learned: float
    other: float
    outcome: str
    saved: tuple[float, float] | None = None

    @property
    def ratio(self) -> float:
        """How many times as much the baseline needs."""
        return self.other / self.learned if self.learned > 0 else math.nan


def contests(results: Results) -> dict[str, list[Contest]]:
    """All of them by cost, the best baseline first; a cost that nobody measured is left out."""
    learned, baselines = results.summary["learned"], results.summary["baselines"]
    found = {}
    for cost in COSTS:
        own = _average(learned, cost)
        others = {name: _average(each, cost) for name, each in baselines.items()}
        order = sorted(others, key=lambda name: (math.isnan(others[name]), others[name]))
        if not math.isnan(own) and order and not math.isnan(others[order[0]]):
            found[cost] = [_contest(results, cost, name, own, others[name]) for name in order]
    return found


def _average(described: dict, cost: str) -> float:
    return real(described.get(cost) if cost == "milliseconds" else described.get(cost, {}).get("mean"))


def _contest(results: Results, cost: str, name: str, own: float, other: float) -> Contest:
    """Costs per problem are compared in pairs; wall-clock times, and costs that are infinite, as they are."""
    if math.isnan(other):
        return Contest(cost, name, own, other, "unmeasured")
    margin, saved = CLOCK_NOISE if cost == "milliseconds" else 0.0, None
    if cost in results.performance:
        by_name = quantities.values(results.performance, cost)
        learned, baseline = next(iter(by_name.values())).astype(float), by_name[name].astype(float)
        if np.isfinite(learned).all() and np.isfinite(baseline).all():
            estimate = measures.mean(baseline - learned)
            saved = (estimate.low, estimate.high)
    if saved is not None:
        outcome = "won" if saved[0] > 0 else "lost" if saved[1] < 0 else "level"
    else:
        outcome = "won" if own < other * (1 - margin) else "lost" if own * (1 - margin) > other else "level"
    return Contest(cost, name, own, other, outcome, saved)


def headline(found: dict[str, list[Contest]]) -> str:
    """The verdict in one sentence."""
    if not found:
        return "There was no baseline to compare the learned algorithm with."
    better = [COSTS[cost] for cost, each in found.items() if all(one.outcome == "won" for one in each)]
    others = [COSTS[cost] for cost in found if COSTS[cost] not in better]
    if not others:
        return f"The learned algorithm beats every baseline in {words(better)}."
    if better:
        return f"The learned algorithm beats every baseline in {words(better)}, but not in {words(others)}."
    beaten = set.intersection(*({one.baseline for one in each if one.outcome == "won"} for each in found.values()))
    some = f" It beats {words(sorted(beaten))} in all of them." if beaten else ""
    which = words(others) if len(others) == 1 else ", ".join(others[:-1]) + f" nor in {others[-1]}"
    return f"The learned algorithm does not beat every baseline, {'neither ' * (len(others) > 1)}in {which}.{some}"


def solved_sentence(results: Results) -> str:
    """How many test problems were solved, and whether another algorithm solved more."""
    learned, baselines = results.summary["learned"], results.summary["baselines"]
    count, t_max = results.performance.sizes["problem"], number(results.summary["t_max"])
    text = (
        f"Within {t_max} iterations it solved {percent(learned['solved'])} of the {number(count)} test problems (95 % "
        f"confidence interval {interval(learned.get('solved_interval'), percent)})."
    )
    more = {name: each["solved"] for name, each in baselines.items() if each["solved"] > learned["solved"]}
    text += f" More were solved by {few(list(more))} (up to {percent(max(more.values()))})." if more else ""
    return text + f" A problem that is not solved counts as {t_max} iterations."


def verdict(results: Results) -> Markup:
    """The section that comes first."""
    found = contests(results)
    cards = tag("div", *(_card(each, results) for each in found.values()), class_="cards")
    return section(
        "verdict",
        "Verdict",
        tag("p", headline(found), class_="lead"),
        cards,
        tag("p", solved_sentence(results)),
        *_certified(results),
    )


def _card(each: list[Contest], results: Results) -> Markup:
    """One cost: by how much, against the best baseline, and which baselines are not beaten."""
    best = each[0]
    unit = {"stopping_time": "", "oracle_calls": "", "milliseconds": " ms"}[best.cost]
    need = {"stopping_time": "iterations", "oracle_calls": "oracle calls", "milliseconds": "per problem"}[best.cost]
    who = "the best baseline" if len(each) > 1 else "the only baseline"
    detail = (
        f"{number(best.learned)}{unit} {need} on average, against {number(best.other)}{unit} for {best.baseline}, {who}"
    )
    share = results.summary["baselines"][best.baseline]["solved"]
    detail += f" (which solved {percent(share)} only)." if share < results.summary["learned"]["solved"] else "."
    return tag(
        "article",
        tag("h3", COSTS[best.cost].capitalize()),
        tag("p", by_how_much(best), class_="much"),
        tag("p", detail),
        tag("p", _tally(each), class_="tally"),
        class_=f"card {best.outcome}",
    )


def by_how_much(contest: Contest) -> str:
    """The difference in a few words.

    >>> by_how_much(Contest("stopping_time", "x", 10.0, 38.0, "won"))
    '3.8 × fewer'
    >>> by_how_much(Contest("milliseconds", "x", 10.0, 8.0, "lost"))
    '25 % slower'
    """
    less, more = ("faster", "slower") if contest.cost == "milliseconds" else ("fewer", "more")
    if contest.outcome in ("level", "unmeasured"):
        return "no clear difference" if contest.outcome == "level" else NONE
    if math.isinf(contest.other):
        return f"infinitely {less}"
    word = less if contest.outcome == "won" else more
    ratio = contest.ratio if contest.outcome == "won" else 1 / contest.ratio
    if not math.isfinite(ratio):
        return word
    if ratio >= 1.5:
        return f"{number(ratio, 2)} × {word}"
    share = 1 - 1 / ratio if word == "fewer" else ratio - 1
    return f"{number(100 * share, 2)} % {word}"


def _tally(each: list[Contest]) -> str:
    """Which baselines are beaten and which are not."""
    verbs = {
        "won": "Better than",
        "level": "No clear difference from",
        "lost": "Worse than",
        "unmeasured": "Not known for",
    }
    names = {outcome: [one.baseline for one in each if one.outcome == outcome] for outcome in verbs}
    everyone = f"all {len(each)} baselines" if len(each) > 1 else "it"
    told = [
        f"{verbs[outcome]} {everyone if len(found) == len(each) else few(found)}."
        for outcome, found in names.items()
        if found
    ]
    return " ".join(told)


def _certified(results: Results) -> list[Markup]:
    """What is certified about the deployed algorithm, or that nothing is."""
    deployed = [each for each in results.certificates.values() if each.target == "deployed"] or [
        *results.certificates.values()
    ]
    telling: list[Certificate] = [each for each in deployed if not each.vacuous]
    if not telling:
        return [tag("p", tag("strong", "Nothing could be certified"), " from the problems at hand.")]
    sure = percent(joint_confidence(results.certificates.values()), -1)
    lead = tag(
        "p", tag("strong", "Certified"), f" for new problems of the same kind, all together with {sure} confidence:"
    )
    silent = words(sorted({each.functional.replace("_", " ") for each in deployed if each.vacuous}))
    rest = [tag("p", f"Nothing could be certified about: {silent}.")] if silent else []
    claims = [each.sentence().split(" confidence, ", 1)[1] for each in telling]
    return [lead, items(claims, class_="certified"), *rest]
