"""The learned algorithm against every baseline, in every cost: who wins, and by how much."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...statistics import measures
from ..names import COSTS
from ..summary import RunSummary
from .values import values

if TYPE_CHECKING:
    import xarray

CLOCK_NOISE = 0.05
"""Wall-clock times that differ by less are not told apart: they were measured on one machine, in few rounds."""


class Contest(NamedTuple):
    """The learned algorithm against one baseline in one cost.

    Fields:
        learned, other: average costs.
        outcome: "won", "lost", "level" (no clear difference) or "unmeasured".
        saved: what is saved per problem, paired, with its interval; None for wall-clock time or infinite costs.
        better: the share of problems on which the learned algorithm costs less, paired; None for wall-clock time.
    """

    cost: str
    baseline: str
    learned: float
    other: float
    outcome: str
    saved: measures.Estimate | None = None
    better: measures.Estimate | None = None

    @property
    def ratio(self) -> float:
        """How many times as much the baseline needs; NaN if the learned algorithm needs nothing."""
        return self.other / self.learned if self.learned > 0 else math.nan


def rivals(summary: RunSummary, cost: str) -> list[str]:
    """The baselines from the best to the worst in one cost, on average; those not measured come last."""
    averages = {name: each.average(cost) for name, each in summary.baselines.items()}
    return sorted(averages, key=lambda name: (math.isnan(averages[name]), averages[name]))


def contests(summary: RunSummary, performance: xarray.Dataset) -> dict[str, list[Contest]]:
    """All contests by cost, against the best baseline first; a cost that was not measured is left out."""
    found = {}
    for cost in COSTS:
        own, order = summary.learned.average(cost), rivals(summary, cost)
        if order and not math.isnan(own) and not math.isnan(summary.baselines[order[0]].average(cost)):
            found[cost] = [_contest(summary, performance, cost, name) for name in order]
    return found


def _contest(summary: RunSummary, performance: xarray.Dataset, cost: str, name: str) -> Contest:
    """Costs per problem are compared in pairs; wall-clock times, and costs that are infinite, by their averages."""
    own, other = summary.learned.average(cost), summary.baselines[name].average(cost)
    if math.isnan(other):
        return Contest(cost, name, own, other, "unmeasured")
    saved, better = _paired(performance, cost, name) if cost in performance else (None, None)
    if saved is not None:
        outcome = "won" if saved.low > 0 else "lost" if saved.high < 0 else "level"
    else:
        margin = CLOCK_NOISE if cost == "milliseconds" else 0.0
        outcome = "won" if own < other * (1 - margin) else "lost" if own * (1 - margin) > other else "level"
    return Contest(cost, name, own, other, outcome, saved, better)


def _paired(
    performance: xarray.Dataset, cost: str, name: str
) -> tuple[measures.Estimate | None, measures.Estimate | None]:
    by_name = values(performance, cost)
    learned, baseline = next(iter(by_name.values())).astype(float), by_name[name].astype(float)
    finite = np.isfinite(learned).all() and np.isfinite(baseline).all()
    return measures.mean(baseline - learned) if finite else None, measures.probability(learned < baseline)
