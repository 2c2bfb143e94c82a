"""Who won, by how much, and what is certified: in plain words, and no more than is true."""

from __future__ import annotations

import math

from ...certificates.budget import joint_confidence
from ...results.names import CLOCKED, COSTS, OUTCOMES
from ...results.quantities import Contest, contests
from ...results.quantities.contests import CONFIDENCE
from ...results.run_results import Results
from ...statistics.measures import Estimate as Estimate
from .markup import Markup, items, section, tag
from .numbers import NONE, few, interval, number, percent, words

CLOCK = "milliseconds"
ALL_COSTS = {**COSTS, **CLOCKED}


def headline(found: dict[str, list[Contest]], who: str = "the learned algorithm") -> str:
    """The verdict in a few sentences: what is certain, what is not decided, and what the clock says."""
    if not found:
        return f"There was no baseline to compare {who} with."
    counted = {cost: each for cost, each in found.items() if cost != CLOCK}
    certain = _certain(counted, who) if counted else ""
    clock = found.get(CLOCK, [])
    slower = [one.baseline for one in clock if one.outcome != "won"]
    than = f"not faster than {few(slower)}" if slower else "faster than every baseline"
    return " ".join(filter(None, [certain, f"In wall-clock time on this machine, it was {than}." if clock else ""]))


def _certain(counted: dict[str, list[Contest]], who: str) -> str:
    """What is certain, with the confidence shared among all baselines and costs; and what is not decided."""
    outcomes = {ALL_COSTS[cost].title: {one.outcome for one in each} for cost, each in counted.items()}
    better = [title for title, each in outcomes.items() if each == {"won"}]
    lost = [title for title, each in outcomes.items() if "lost" in each]
    undecided = [title for title in outcomes if title not in better + lost]
    told = []
    if better:
        but = f", but not in {words(lost)}" if lost else ""
        told.append(f"With {percent(CONFIDENCE)} confidence, {who} beats every baseline in {words(better)}{but}.")
    elif lost:
        which = words(lost) if len(lost) == 1 else ", ".join(lost[:-1]) + f" nor in {lost[-1]}"
        won = [{one.baseline for one in each if one.outcome == "won"} for each in counted.values()]
        beaten = set.intersection(*won)
        some = f" With {percent(CONFIDENCE)} confidence, it beats {words(sorted(beaten))}." if beaten else ""
        neither = "neither " * (len(lost) > 1)
        told.append(f"{who[:1].upper()}{who[1:]} does not beat every baseline, {neither}in {which}.{some}")
    if undecided:
        level = [one for each in counted.values() for one in each if one.outcome == "level"]
        told.append(f"It is not decided whether {who} beats every baseline in {words(undecided)}: {remedy(level)}.")
    return " ".join(told)


def remedy(undecided: list[Contest]) -> str:
    """What would decide the contests that are not decided.

    >>> remedy([Contest("stopping_time", "x", 10.0, 11.0, "level", Estimate(1.0, -1.0, 3.0, 0.95), more=300)])
    'about 300 more problems would decide'
    """
    if not undecided:
        return "it was not measured for every baseline"
    if any(one.saved is None for one in undecided):
        return "without a largest value, nothing is certain about a mean"
    known = [one.more for one in undecided if one.more is not None]
    if len(known) < len(undecided):
        return "the difference is too small to be decided"
    return f"about {number(max(known))} more problems would decide"


def solved_sentence(results: Results) -> str:
    """How many test problems were solved, and whether another algorithm solved more."""
    learned, baselines = results.summary.learned, results.summary.baselines
    count = results.performance.sizes["problem"]
    t_max = f"{number(results.summary.t_max)} {results.summary.time.unit}"
    text = (
        f"Within {t_max} it solved {percent(learned.solved)} of the {number(count)} test problems (95% "
        f"confidence interval {interval(learned.solved_interval, percent)})."
    )
    more = {name: each.solved for name, each in baselines.items() if each.solved > learned.solved}
    text += f" More were solved by {few(list(more))} (up to {percent(max(more.values()))})." if more else ""
    return text + f" A problem that is not solved counts as {t_max}."


def verdict(results: Results) -> Markup:
    """The section that comes first."""
    found, choice = contests(results.summary, results.performance), results.summary.choice
    lead = choice.sentence() if choice.classical is not None else headline(found, results.summary.who)
    cards = tag("div", *(_card(each, results) for each in found.values()), class_="cards")
    return section(
        "verdict",
        "Verdict",
        tag("p", lead, class_="lead"),
        cards,
        tag("p", solved_sentence(results)),
        *_certified(results),
    )


def _card(each: list[Contest], results: Results) -> Markup:
    """One cost: by how much, against the best baseline, and which baselines are not beaten."""
    best, cost = each[0], ALL_COSTS[each[0].cost]
    who = "the best baseline" if len(each) > 1 else "the only baseline"
    detail = f"{number(best.learned)} {cost.unit} on average, against {number(best.other)} for {best.baseline}, {who}"
    share = results.summary.baselines[best.baseline].solved
    detail += f" (which solved only {percent(share)})." if share < results.summary.learned.solved else "."
    return tag(
        "article",
        tag("h3", cost.title.capitalize()),
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
    '25% slower'
    """
    cost = ALL_COSTS[contest.cost]
    if contest.outcome in ("level", "unmeasured"):
        return "not decided" if contest.outcome == "level" else NONE
    if math.isinf(contest.other):
        return f"infinitely {cost.less}"
    word = cost.less if contest.outcome == "won" else cost.more
    ratio = contest.ratio if contest.outcome == "won" else 1 / contest.ratio
    if not math.isfinite(ratio):
        return word
    if ratio >= 1.5:
        return f"{number(ratio, 2)} × {word}"
    share = 1 - 1 / ratio if cost.counted and contest.outcome == "won" else ratio - 1
    return f"{number(100 * share, 2)}% {word}"


def _tally(each: list[Contest]) -> str:
    """Which baselines are beaten and which are not."""
    names = {outcome: [one.baseline for one in each if one.outcome == outcome] for outcome in OUTCOMES}
    everyone = f"all {len(each)} baselines" if len(each) > 1 else "it"
    told = [
        f"{OUTCOMES[outcome]} {everyone if len(found) == len(each) else few(found)}."
        for outcome, found in names.items()
        if found
    ]
    if (undecided := [one for one in each if one.outcome == "level"]) and each[0].cost != CLOCK:
        told.append(f"{remedy(undecided).capitalize()}.")
    return " ".join(told)


def _certified(results: Results) -> list[Markup]:
    """What is certified about the deployed algorithm, or that nothing is."""
    together = [each for each in results.summary.certificates if each.together]
    deployed = [each for each in together if each.target == "deployed"] or together
    telling = [each for each in deployed if not each.vacuous]
    if not telling:
        return [tag("p", tag("strong", "Nothing could be certified"), " from the problems at hand.")]
    sure = percent(joint_confidence(results.certificates.values()), -1)
    lead = tag(
        "p", tag("strong", "Certified"), f" for new problems of the same kind, all together with {sure} confidence:"
    )
    silent = sorted({results.summary.functional(each.functional).noun for each in deployed if each.vacuous})
    rest = [tag("p", f"Nothing could be certified about: {words(silent)}.")] if silent else []
    claims = list(dict.fromkeys(results.certificate(each).claim() for each in telling))
    return [lead, items(claims, class_="certified"), *rest]
