r"""Two algorithms on the same problems: certified differences and ratios of their means, and how often one is better.

Difficult problems are difficult for both, so that pairs say far more than two separate bounds. Assumptions: independent
problems, each solved by both algorithms, which were fixed without them; values within [0, cap] (checked). Their number
is fixed beforehand except for the any-time bounds, which are valid after every problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from .anytime import DEFAULT_GRID, anytime_bounds, log_target
from .betting import betting_bound, log_wealth, shuffled
from .binomial import clopper_pearson_lower
from .inputs import Array, check_fraction, one_per_problem, per_problem
from .rounding import round_up

STEPS_PER_DOUBLING = 1024
DOUBLINGS = 6
LARGEST_LOG_RATIO = 12.0
ROUGH_SHARE = 0.01
ROUGH_GRID = DEFAULT_GRID[2::4]


def difference_bound(values: Any, baseline: Any, delta: float, cap: float) -> float:
    r"""An upper bound on the difference of two means, from pairs.

    It bounds \(\mathbb E[\varphi_A - \varphi_B]\) by betting on the difference, scaled to [0, 1].

    Below zero it certifies that A is better on average.

    Arguments:
        values: values on held-out problems, one per problem.
        baseline: values of the other algorithm on the same problems.
        delta: the probability of failure allowed, in (0, 1).
        cap: the largest possible value.

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> baseline = np.tile([100.0, 300.0, 200.0, 250.0], 100)
    >>> round(difference_bound(0.9 * baseline, baseline, delta=0.05, cap=500.0), 1)
    -17.1
    """
    first, second = pairs(values, baseline, cap)
    return float((2 * betting_bound((first - second + 1) / 2, delta, 1.0) - 1) * cap)


def ratio_bound(values: Any, baseline: Any, delta: float, cap: float) -> float:
    r"""An upper bound on the ratio of two means, from pairs.

    It bounds \(\mathbb E\varphi_A / \mathbb E\varphi_B\), between 1/64 and 64.

    For a ratio r the gambler bets that \(\mathbb E[\varphi_A - r\varphi_B] < 0\), that is on
    \(Z_r = (\varphi_A - r\varphi_B + r\varphi_{\max}) / ((1+r)\varphi_{\max}) \in [0, 1]\) against the mean
    r / (1 + r). If the ratio is r or larger he rarely gets rich. As for the mean, r runs over one fixed grid, and the
    point after the largest r that is not rejected is above the ratio with probability \(1-\delta\). One percent of δ is
    spent on the any-time bound, above which no point need be tried.

    Arguments:
        values: values on held-out problems, one per problem.
        baseline: values of the other algorithm on the same problems.
        delta: the probability of failure allowed, in (0, 1).
        cap: the largest possible value.

    Returns:
        The bound; infinity if there is none.

    >>> baseline = np.tile([100.0, 300.0, 200.0, 250.0], 100)
    >>> round(ratio_bound(0.9 * baseline, baseline, delta=0.05, cap=500.0), 3)
    0.919
    """
    check_fraction("delta", delta)
    first, second = (shuffled(part) for part in pairs(values, baseline, cap))
    rough = _mixture_ratio(first, second, ROUGH_SHARE * delta, ROUGH_GRID)
    last = STEPS_PER_DOUBLING * DOUBLINGS
    some = int(np.clip(2**20 // len(first), 32, 256))
    delta, top = (1 - ROUGH_SHARE) * delta, int(np.clip(np.log2(rough) * STEPS_PER_DOUBLING + 1, 1 - last, last))
    while top > -last:
        indices = np.arange(max(top - some, -last) + 1, top + 1)
        ratios = 2.0 ** (indices / STEPS_PER_DOUBLING)
        outcomes = np.clip((first[:, None] - ratios * second[:, None] + ratios) / (1 + ratios), 0.0, 1.0)
        wealth = log_wealth(outcomes, ratios / (1 + ratios), delta, np.zeros(0))
        survives = wealth < -np.log(delta) * (1 + 1e-9) + 1e-9
        if survives.any():
            survivor = int(indices[survives].max())
            bound = float("inf") if survivor == last else float(2.0 ** ((survivor + 1) / STEPS_PER_DOUBLING))
            return min(bound, rough)
        top = int(indices[0]) - 1
    return float(2.0 ** ((1 - last) / STEPS_PER_DOUBLING))


def anytime_difference_bounds(values: Any, baseline: Any, delta: float, cap: float) -> Array:
    r"""Upper bounds on the difference of two means after each problem.

    They bound \(\mathbb E[\varphi_A - \varphi_B]\), and all of them hold simultaneously with probability 1 - delta.

    Arguments:
        values: values on held-out problems, one per problem.
        baseline: values of the other algorithm on the same problems.
        delta: the probability of failure allowed, in (0, 1).
        cap: the largest possible value.

    Returns:
        The bounds as (problem,).

    >>> baseline = np.tile([100.0, 300.0, 200.0, 250.0], 100)
    >>> anytime_difference_bounds(0.9 * baseline, baseline, delta=0.05, cap=500.0)[[99, 399]].round(1)
    array([  0.5, -15.7])
    """
    first, second = pairs(values, baseline, cap)
    return (2 * anytime_bounds((first - second + 1) / 2, delta, 1.0) - 1) * cap


def anytime_ratio_bound(
    values: Any, baseline: Any, delta: float, cap: float, grid: Sequence[float] = DEFAULT_GRID
) -> float:
    r"""An upper bound on the ratio of two means that is valid after every problem.

    It bounds \(\mathbb E\varphi_A / \mathbb E\varphi_B\).

    With \(\mathbb E\varphi_A \ge r\,\mathbb E\varphi_B\), the mixture
    \(\sum_k w_k\prod_{i\le n} (1 + \lambda_k (r B_i - A_i))\) is a non-negative supermartingale; it increases with r.
    With probability 1 - delta the r at which it is 1/δ is above the ratio at all times. Infinite if there is none.

    Arguments:
        values: values on held-out problems, one per problem.
        baseline: values of the other algorithm on the same problems.
        delta: the probability of failure allowed, in (0, 1).
        cap: the largest possible value.
        grid: values of λ, fixed beforehand.

    Returns:
        The bound; infinity if there is none.

    >>> baseline = np.tile([100.0, 300.0, 200.0, 250.0], 100)
    >>> round(anytime_ratio_bound(0.9 * baseline, baseline, delta=0.05, cap=500.0), 3)
    0.924
    """
    return _mixture_ratio(*pairs(values, baseline, cap), delta, grid)


def better_bound(values: Any, baseline: Any, delta: float) -> float:
    r"""A lower bound on the share of problems on which one algorithm is strictly better.

    It bounds \(P(\varphi_A < \varphi_B)\).

    Arguments:
        values: values on held-out problems, one per problem.
        baseline: values of the other algorithm on the same problems.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> round(better_bound(np.zeros(100), np.ones(100), delta=0.05), 4)
    0.9705
    """
    first, second = one_per_problem(values), one_per_problem(baseline)
    _check_same_length(first, second)
    return clopper_pearson_lower(int((first < second).sum()), len(first), delta)


def _mixture_ratio(first: Array, second: Array, delta: float, grid: Sequence[float]) -> float:
    """By bisection in the logarithm of the ratio."""
    target, lams = log_target(delta, grid), np.asarray(grid, float)

    def rejected(log_ratio: float) -> bool:
        difference = np.exp(log_ratio) * second - first
        gains = [np.log1p(lam * difference).sum() for lam in lams]
        return bool(np.asarray(special.logsumexp(gains)) >= target)

    low, high = -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO
    if not rejected(high):
        return float("inf")
    for _ in range(48):
        middle = (low + high) / 2
        low, high = (low, middle) if rejected(middle) else (middle, high)
    return round_up(np.exp(high))


def pairs(values: Any, baseline: Any, cap: float) -> tuple[Array, Array]:
    """Values of both as shares of the cap, on the same problems."""
    first, second = per_problem(values, cap), per_problem(baseline, cap)
    _check_same_length(first, second)
    return first, second


def _check_same_length(first: Array, second: Array) -> None:
    if len(first) != len(second):
        raise ValueError(
            f"both algorithms need values on the same problems, got {len(first)} and {len(second)}: evaluate them on "
            "one stack of problems."
        )
