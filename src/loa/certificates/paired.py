r"""Two algorithms on the same problems: certified differences and ratios of their means, and how often one is better.

Difficult problems are difficult for both, so that pairs say far more than two separate bounds. Assumptions: independent
problems, each solved by both algorithms, which were fixed without them; values within [0, cap] (checked).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .betting import betting_bound, log_wealth, shuffled
from .binomial import clopper_pearson_lower, one_per_problem
from .inputs import Array, check_fraction, per_problem

STEPS_PER_DOUBLING = 1024
DOUBLINGS = 6


def difference_bound(values: Any, baseline: Any, delta: float, cap: float) -> float:
    r"""An upper bound on \(\mathbb E[\varphi_A - \varphi_B]\), by betting on the difference, scaled to [0, 1].

    Below zero it certifies that A is better on average.

    >>> baseline = np.tile([100.0, 300.0, 200.0, 250.0], 100)
    >>> round(difference_bound(0.9 * baseline, baseline, delta=0.05, cap=500.0), 1)
    -17.1
    """
    first, second = _pairs(values, baseline, cap)
    return float((2 * betting_bound((first - second + 1) / 2, delta, 1.0) - 1) * cap)


def ratio_bound(values: Any, baseline: Any, delta: float, cap: float) -> float:
    r"""An upper bound on \(\mathbb E\varphi_A / \mathbb E\varphi_B\), between 1/64 and 64, infinite if there is none.

    For a ratio r the gambler bets that \(\mathbb E[\varphi_A - r\varphi_B] < 0\), that is on
    \(Z_r = (\varphi_A - r\varphi_B + r\varphi_{\max}) / ((1+r)\varphi_{\max}) \in [0, 1]\) against the mean
    r / (1 + r). If the ratio is r or larger he rarely gets rich. As for the mean, r runs over one fixed grid, and the
    point after the largest r that is not rejected is above the ratio with probability \(1-\delta\).

    >>> baseline = np.tile([100.0, 300.0, 200.0, 250.0], 100)
    >>> round(ratio_bound(0.9 * baseline, baseline, delta=0.05, cap=500.0), 3)
    0.919
    """
    check_fraction("delta", delta)
    first, second = (shuffled(part)[:, None] for part in _pairs(values, baseline, cap))
    last = STEPS_PER_DOUBLING * DOUBLINGS
    some = int(np.clip(2**20 // len(first), 32, 1024))
    for top in range(last, -last, -some):
        indices = np.arange(max(top - some, -last) + 1, top + 1)
        ratios = 2.0 ** (indices / STEPS_PER_DOUBLING)
        outcomes = np.clip((first - ratios * second + ratios) / (1 + ratios), 0.0, 1.0)
        wealth = log_wealth(outcomes, ratios / (1 + ratios), delta, np.zeros(0))
        survives = wealth < -np.log(delta) * (1 + 1e-9) + 1e-9
        if survives.any():
            survivor = int(indices[survives].max())
            return float("inf") if survivor == last else float(2.0 ** ((survivor + 1) / STEPS_PER_DOUBLING))
    return float(2.0 ** ((1 - last) / STEPS_PER_DOUBLING))


def better_bound(values: Any, baseline: Any, delta: float) -> float:
    r"""A lower bound on \(P(\varphi_A < \varphi_B)\), the share of problems on which A is strictly better.

    >>> round(better_bound(np.zeros(100), np.ones(100), delta=0.05), 4)
    0.9705
    """
    first, second = one_per_problem(values), one_per_problem(baseline)
    _check_same_length(first, second)
    return clopper_pearson_lower(int((first < second).sum()), len(first), delta)


def _pairs(values: Any, baseline: Any, cap: float) -> tuple[Array, Array]:
    first, second = per_problem(values, cap), per_problem(baseline, cap)
    _check_same_length(first, second)
    return first, second


def _check_same_length(first: Array, second: Array) -> None:
    if len(first) != len(second):
        raise ValueError(
            f"both algorithms need values on the same problems, got {len(first)} and {len(second)}: evaluate them on "
            "one stack of problems."
        )
