r"""Conditional value at risk: the mean of the worst \(1-\alpha\).

For every c, \(\mathrm{CVaR}_\alpha \le c + \mathbb E(\varphi-c)_+/(1-\alpha)\) (Rockafellar and Uryasev), with equality
at the quantile. So with c fixed on prior problems a bound on a mean is enough, and it is that of betting on
\((\varphi-c)_+ \in [0, \varphi_{\max}-c]\). A poor c costs tightness, never validity.

Assumptions: those of `betting_bound`, and c fixed without these problems.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...messages.arguments import any_number
from ...statistics.quantiles import quantile
from .betting import betting_bound
from .distribution import band_width
from .inputs import Array, check_fraction, one_per_problem, shares_of_cap, up_to
from .rounding import round_up


def cvar_bound(values: Any, level: float, threshold: float, delta: float, cap: float) -> float:
    """An upper bound on the mean of the worst 1 - level.

    Arguments:
        values: (problem,), held-out.
        level: α in (0, 1).
        threshold: c in [0, cap), for example from `cvar_threshold` on prior problems.
        delta: the probability of failure allowed, in (0, 1).
        cap: the largest possible value.

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> values = np.linspace(0.0, 100.0, 1001)
    >>> round(cvar_bound(values, level=0.9, threshold=90.0, delta=0.05, cap=100.0), 2)
    96.13
    """
    check_fraction("level", level)
    beyond = beyond_threshold(values, threshold, cap)
    return round_up(threshold + betting_bound(beyond, delta, cap - threshold) / (1 - level), cap)


def beyond_threshold(values: Any, threshold: float, cap: float) -> Array:
    r"""\((\varphi-c)_+\), one per problem, within [0, cap - c].

    >>> beyond_threshold([1.0, 4.0], threshold=3.0, cap=5.0)
    array([0., 1.])
    """
    values = one_per_problem(values)
    shares_of_cap(values, cap)
    if not 0 <= any_number("threshold", threshold) < cap:
        raise ValueError(f"threshold must lie in [0, cap) = [0, {cap:.6g}), got {threshold}.")
    return np.minimum(np.maximum(up_to(values, cap) - threshold, 0.0), cap - threshold)


def lower_cvar_bound(values: Any, level: float, delta: float) -> float:
    r"""A lower bound on the mean of the worst 1 - level of non-negative values: to contradict a certificate.

    With probability 1 - δ the distribution function is nowhere above the empirical one by more than the one-sided
    Kolmogorov–Smirnov width ε. So the variable is stochastically larger than the sample with a share of ε moved from
    its largest values to zero, and so is its CVaR.

    Arguments:
        values: values on held-out problems, one per problem.
        level: in (0, 1), fixed beforehand.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> round(lower_cvar_bound(np.linspace(0.0, 100.0, 1001), level=0.9, delta=0.05), 2)
    91.19
    """
    check_fraction("level", level)
    values = np.sort(one_per_problem(values).astype(float))[::-1]
    if values[-1] < 0:
        raise ValueError(f"values must not be negative, but the smallest is {values[-1]:.6g}.")
    width = band_width(len(values), delta)
    taken = np.clip(np.arange(1, len(values) + 1) / len(values) - width, 0.0, 1 - level)
    return float(values @ np.diff(taken, prepend=0.0) / (1 - level) * (1 - 1e-12))


def cvar_threshold(prior_values: Any, level: float, cap: float) -> float:
    """A good c from prior problems: their quantile, if it is below the cap, else the largest value that is.

    Arguments:
        prior_values: values on prior problems, disjoint from those that are certified on.
        level: in (0, 1), fixed beforehand.
        cap: the largest possible value.

    Returns:
        The threshold c, below the cap.

    >>> cvar_threshold(np.arange(100.0), level=0.9, cap=100.0)
    89.0
    """
    check_fraction("level", level)
    values = up_to(prior_values, cap)
    below = values[values < cap]
    return float(min(quantile(values, level), below.max())) if below.size else 0.0
