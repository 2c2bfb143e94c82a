r"""A bound that holds at every number of problems at once: keep drawing until it is tight enough.

For fixed \(\lambda_1,\dots,\lambda_K \in (0,1)\) with weights \(w_k\), the mixture of products
\[ W_n(m) = \sum_k w_k \prod_{i\le n} \frac{1-\lambda_k X_i}{1-\lambda_k m} \]
is a non-negative martingale when m is the mean of the values (in [0, 1]), so that by Ville's inequality it ever reaches
\(1/\delta\) with a probability of at most δ. It increases with m; the mean is below the m at which it is that large.

Assumptions: independent problems, drawn one after the other, by any rule for when to stop that looks at the values
only; λ, weights and cap fixed beforehand; values within [0, cap] (checked).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from .inputs import Array, check_fraction, per_problem, round_up

DEFAULT_GRID = tuple(float(lam) for lam in special.expit(np.linspace(-5.0, 5.0, 21)))


def anytime_bounds(values: Any, delta: float, cap: float, grid: Sequence[float] = DEFAULT_GRID) -> Array:
    """The bound after each problem; with probability 1 - delta all of them are above the mean.

    As all hold together, a bound never has to be larger than an earlier one.

    >>> bounds = anytime_bounds(np.tile([100.0, 300.0], 500), delta=0.05, cap=500.0)
    >>> bounds[[9, 99, 999]].round(1)
    array([315.1, 226.2, 210. ])
    """
    shares = per_problem(values, cap)
    check_fraction("delta", delta)
    for lam in grid:
        check_fraction("lam", lam)
    lams = np.asarray(grid, float)
    logarithms = np.cumsum(np.log1p(-lams * shares[:, None]), axis=0)
    target = (-np.log(delta) + np.log(len(lams))) * (1 + 1e-12)
    low, high = np.zeros(len(shares)), np.ones(len(shares))
    count = np.arange(1, len(shares) + 1)
    for _ in range(60):
        middle = (low + high) / 2
        gain = logarithms - count[:, None] * np.log1p(-lams * middle[:, None])
        rejected = special.logsumexp(gain, axis=1) >= target
        low, high = np.where(rejected, low, middle), np.where(rejected, middle, high)
    return np.asarray(round_up(np.minimum.accumulate(high) * cap, cap))
