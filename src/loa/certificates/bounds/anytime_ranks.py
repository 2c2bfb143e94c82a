r"""Quantiles and whole distributions at any time: bounds by ranks that hold after every problem simultaneously.

**Quantile.** Each value is below the quantile \(q_\beta\) with a probability of at most β. With s of n values below it,
\(\sum_k w_k (1+\lambda_k(1-\beta))^s (1-\lambda_k\beta)^{n-s}\) is a non-negative supermartingale, which ever reaches
\(1/\delta\) with a probability of at most δ (Ville). So at all times s is at most the largest number at which it does
not, and the order statistic after that one is no smaller than the quantile.

**Distribution.** A band is made whenever the number of problems has grown by a quarter, the j-th of them with the
failure probability \(\delta / ((j+1)(j+2))\); these add up to δ. In between, the last one holds.

Assumptions: as for any-time bounds of means.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from .anytime import DEFAULT_GRID, log_target
from .distribution import certified_points
from .inputs import check_fraction, one_per_problem

FIRST, GROWTH = 32, 1.25
"""The number of problems of the first band, and how much it grows until the next one."""


def anytime_quantile_bound(values: Any, level: float, delta: float) -> float:
    """An upper bound on a quantile that is valid after every problem.

    Arguments:
        values: all values so far, one per problem.
        level: in (0, 1), fixed beforehand.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        The bound; infinity if there are too few problems.

    >>> anytime_quantile_bound(np.arange(1000.0), level=0.9, delta=0.05)
    929.0
    """
    ordered = np.sort(one_per_problem(values))
    check_fraction("level", level)
    lams, counts = np.asarray(DEFAULT_GRID), np.arange(ordered.size + 1)[:, None]
    bets = lams / level  # up to 1 / β, at which a value that is not below would take all
    with np.errstate(divide="ignore"):
        gains = counts * np.log1p(bets * (1 - level)) + (ordered.size - counts) * np.log1p(-bets * level)
    rejected = np.asarray(special.logsumexp(gains, axis=1)) >= log_target(delta, DEFAULT_GRID)
    smallest = int(np.argmax(rejected)) if rejected.any() else ordered.size + 1
    return float(ordered[smallest - 1]) if smallest <= ordered.size else math.inf


def anytime_points(values: Any, delta: float, cap: float | None) -> tuple[tuple[float, float], ...]:
    """Pairs (value, share) of a band that is valid after every problem; none before there are 32 problems.

    Arguments:
        values: all values so far, one per problem, in the order in which the problems were drawn.
        delta: the probability of failure allowed, in (0, 1).
        cap: where the values are truncated; None if they are not.

    Returns:
        The pairs, growing in both.

    >>> len(anytime_points(np.arange(31.0), 0.05, None)), len(anytime_points(np.arange(100.0), 0.05, None))
    (0, 98)
    """
    values = one_per_problem(values)
    check_fraction("delta", delta)
    if len(values) < FIRST:
        return ()
    number = int(math.log(len(values) / FIRST) / math.log(GROWTH) + 1e-9)
    size = min(math.ceil(FIRST * GROWTH**number), len(values))
    return certified_points(values[:size], delta / ((number + 1) * (number + 2)), cap)
