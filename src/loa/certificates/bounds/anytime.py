r"""A bound that holds at every number of problems simultaneously: keep drawing until it is tight enough.

For fixed \(\lambda_1,\dots,\lambda_K \in (0,1)\) with weights \(w_k\), the mixture of products
\[ W_n(m) = \sum_k w_k \prod_{i\le n} \frac{1-\lambda_k X_i}{1-\lambda_k m} \]
is a non-negative martingale when m is the mean of the values (in [0, 1]), so that by Ville's inequality it ever reaches
\(1/\delta\) with a probability of at most δ. It increases with m; the mean is below the m at which it is that large.

Assumptions: independent problems, drawn one after the other, by any rule for when to stop that does not look at later
ones; λ, weights and cap fixed beforehand; values within [0, cap] (checked).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from .inputs import Array, check_fraction, per_problem
from .rounding import round_up

DEFAULT_GRID = tuple(float(lam) for lam in special.expit(np.linspace(-5.0, 5.0, 21)))
EVERY_TIME = 2048
"""How many bounds are computed at every time; later ones at times that are a thousandth apart."""


def anytime_bounds(values: Any, delta: float, cap: float, grid: Sequence[float] = DEFAULT_GRID) -> Array:
    """The bound after each problem; with probability 1 - delta all of them are above the mean.

    As all hold together, a bound never has to be larger than an earlier one.

    Arguments:
        values: values on held-out problems, one per problem.
        delta: the probability of failure allowed, in (0, 1).
        cap: the largest possible value.
        grid: values of λ, fixed beforehand.

    Returns:
        The bounds as (problem,).

    >>> bounds = anytime_bounds(np.tile([100.0, 300.0], 500), delta=0.05, cap=500.0)
    >>> bounds[[9, 99, 999]].round(1)
    array([315.1, 226.2, 210. ])
    """
    shares = per_problem(values, cap)
    times = _times(len(shares))
    sums = np.cumsum(np.add.reduceat(log_products(shares, grid), np.append(0, times[:-1]), axis=0), axis=0)
    bounds = np.minimum.accumulate(mean_from_products(sums, times, delta, grid))
    latest = np.searchsorted(times, np.arange(1, len(shares) + 1), side="right") - 1
    return np.asarray(round_up(bounds[latest] * cap, cap))


def _times(count: int) -> Array:
    """When a bound is computed: always at first, then more and more rarely; in between the one before it holds."""
    if count <= EVERY_TIME:
        return np.arange(1, count + 1)
    later = np.geomspace(EVERY_TIME, count, 2 + int(1000 * np.log(count / EVERY_TIME)))
    return np.unique(np.concatenate([np.arange(1, EVERY_TIME + 1), np.round(later).astype(int)]))


def log_products(shares: Array, grid: Sequence[float] | Array = DEFAULT_GRID) -> Array:
    """log(1 - λX) by (problem, λ): what is summed over problems."""
    return np.log1p(-np.asarray(grid, float) * shares[:, None])


def mean_from_products(logarithms: Array, counts: Array, delta: float, grid: Sequence[float] = DEFAULT_GRID) -> Array:
    """The m at which the mixture reaches 1/δ, from its sums of `log_products` by (time, λ) and numbers of problems."""
    target, lams = log_target(delta, grid), np.asarray(grid, float)
    low, high = np.zeros(len(counts)), np.ones(len(counts))
    for _ in range(60):
        middle = (low + high) / 2
        gain = logarithms - counts[:, None] * np.log1p(-lams * middle[:, None])
        largest = gain.max(axis=1)
        rejected = largest + np.log(np.exp(gain - largest[:, None]).sum(axis=1)) >= target
        low, high = np.where(rejected, low, middle), np.where(rejected, middle, high)
    return high


def log_target(delta: float, grid: Sequence[float]) -> float:
    """What the logarithm of the sum over λ has to reach, with a margin for its rounding."""
    check_fraction("delta", delta)
    for lam in grid:
        check_fraction("lam", lam)
    return (-np.log(delta) + np.log(len(grid))) * (1 + 1e-12)
