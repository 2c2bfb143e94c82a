"""The learned algorithm against every baseline, in every cost: who wins, and by how much.

Costs per problem are compared in pairs by bounds that hold for any number of problems. The failure probability is
divided equally among all baselines and all costs of the run, so that all decisions hold together.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...certificates.contest import Decision, decide
from ...statistics import measures
from ..algorithm_summary import AlgorithmSummary
from ..names import TIMES
from ..summary import RunSummary
from .values import values

if TYPE_CHECKING:
    import xarray

CLOCK_NOISE = 0.05
"""Wall-clock times that differ by less are not told apart: they were measured on one machine, in few rounds."""


CONFIDENCE = 0.95
"""With which all decisions of a run hold together."""


class Contest(NamedTuple):
    """The learned algorithm against one baseline in one cost.

    Fields:
        learned, other: average costs.
        outcome: "won", "lost", "level" (not decided) or "unmeasured".
        saved: what is saved per problem, paired, with bounds that hold; None for wall-clock time, or without a cap.
        better: the share of problems on which the learned algorithm costs less, paired; None for wall-clock time.
    """

    cost: str
    baseline: str
    learned: float
    other: float
    outcome: str
    saved: measures.Estimate | None = None
    better: measures.Estimate | None = None
    more: int | None = None
    """About how many more problems would decide, if nothing is decided."""

    @property
    def ratio(self) -> float:
        """How many times as much the baseline needs; NaN if the learned algorithm needs nothing."""
        return self.other / self.learned if self.learned > 0 else math.nan


def rivals(summary: RunSummary, cost: str) -> list[str]:
    """The baselines from the best to the worst in one cost; those not measured come last."""
    prices = {name: price(each, cost) for name, each in summary.baselines.items()}
    return sorted(prices, key=lambda name: (math.isnan(prices[name]), prices[name]))


def price(numbers: AlgorithmSummary, cost: str) -> float:
    """What a solved problem costs on average. Steps count as they are, as an unsolved problem has the most of them."""
    average = numbers.average(cost)
    if cost in TIMES or math.isnan(average):
        return average
    return average / numbers.solved if numbers.solved > 0 else math.inf


def contests(summary: RunSummary, performance: xarray.Dataset) -> dict[str, list[Contest]]:
    """All contests by cost, against the best baseline first; a cost that was not measured is left out."""
    found = {}
    for cost in summary.costs:
        own, order = summary.learned.average(cost), rivals(summary, cost)
        if order and not math.isnan(own) and not math.isnan(summary.baselines[order[0]].average(cost)):
            found[cost] = [_contest(summary, performance, cost, name) for name in order]
    return found


def _contest(summary: RunSummary, performance: xarray.Dataset, cost: str, name: str) -> Contest:
    """Costs per problem are decided in pairs; wall-clock times are compared by their averages.

    What was counted on a problem that was not solved is less than a solution costs, which may be as much as the cap.
    """
    own, other = summary.learned.average(cost), summary.baselines[name].average(cost)
    if math.isnan(other):
        return Contest(cost, name, own, other, "unmeasured")
    if cost not in performance:
        return Contest(cost, name, own, other, _by_the_clock(summary, own, name, other))
    by_name = values(performance, cost)
    learned, baseline = (by_name[each].astype(float) for each in (next(iter(by_name)), name))
    cap, unsolved = largest(summary, cost), _unsolved(performance, cost, name)
    better = measures.probability((learned < baseline) & ~unsolved[0])
    if cap is None:
        return Contest(cost, name, own, other, "level", None, better)
    share = (1 - CONFIDENCE) / (len(summary.costs) * len(summary.baselines))
    least = [np.minimum(each, cap) for each in (learned, baseline)]
    most = [np.where(never, cap, each) for never, each in zip(unsolved, least, strict=True)]
    found = _decided(*(each.mean(axis=1).tobytes() for each in (*least, *most)), share=share, cap=cap)
    saved = measures.Estimate(found.saved, found.low, found.high, found.confidence)
    return Contest(cost, name, own, other, OUTCOME_OF[found.outcome], saved, better, found.more)


OUTCOME_OF = {"better": "won", "worse": "lost", "not decided": "level"}


def largest(summary: RunSummary, cost: str) -> float | None:
    """Up to which value a cost counts: the largest it can have, or else the cap of its certificate."""
    certified = summary.certified_mean(cost)
    return summary.functional(cost).cap or (certified.cap if certified is not None else None)


@lru_cache(maxsize=256)
def _decided(*numbers: bytes, share: float, cap: float) -> Decision:
    """Kept, because several parts of a report ask for the same."""
    learned, baseline, most, most_of_other = map(np.frombuffer, numbers)
    return decide(learned, baseline, share, cap, at_most=most, baseline_at_most=most_of_other)


def _unsolved(performance: xarray.Dataset, cost: str, name: str) -> list[np.ndarray]:
    """Where learned algorithm and baseline have counted too little; steps without a solution are the most there are."""
    if cost == "stopping_time":
        return [np.zeros(performance[cost].shape[1:], bool)] * 2
    outcomes = values(performance, "outcome")
    return [outcomes[each] != "solved" for each in (next(iter(outcomes)), name)]


def _by_the_clock(summary: RunSummary, own: float, name: str, other: float) -> str:
    """Nothing is won by giving up early: the quicker one must have solved as many problems."""
    more = summary.learned.solved - summary.baselines[name].solved
    if own < other * (1 - CLOCK_NOISE) and more >= 0:
        return "won"
    return "lost" if own * (1 - CLOCK_NOISE) > other and more <= 0 else "level"
