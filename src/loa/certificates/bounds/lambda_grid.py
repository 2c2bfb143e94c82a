r"""A parameter λ chosen after seeing the data, from a grid declared before: the paper's remark on uniformity in λ.

A bound that holds with probability \(1-\delta/K\) at each of K values holds at all of them with probability
\(1-\delta\), so that the smallest may be reported. The price is \(\log K\) beside \(\log\frac1\delta\).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...messages.arguments import check_type, positive_number
from ...problems.problem_class import whole_number
from .inputs import check_fraction


class Choice(NamedTuple):
    """The smallest of several bounds and where it was attained."""

    bound: float
    lam: float


def best_on_grid(bound: Callable[[float, float], float], grid: Sequence[float], delta: float) -> Choice:
    """The smallest of `bound(lam, delta / K)` over a grid of K values that was fixed beforehand.

    Arguments:
        bound: a function of λ and of the probability of failure.
        grid: values of λ, fixed beforehand.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        The smallest bound and its λ.

    >>> from loa.certificates import paper_bound
    >>> def bound(lam, delta):
    ...     return paper_bound(250.0, kl=2.0, num_problems=1000, lam=lam, delta=delta, cap=500.0)
    >>> choice = best_on_grid(bound, [0.1, 0.2, 0.4], delta=0.05)
    >>> round(choice.bound, 1), choice.lam
    (305.5, 0.2)
    """
    check_fraction("delta", delta)
    check_type("grid", None if isinstance(grid, str) else grid, Sequence, "a sequence of values of λ")
    if len(grid) == 0 or len(set(grid)) < len(grid):
        raise ValueError("the grid of λ must hold at least one value, and none twice.")
    return min(Choice(bound(float(lam), delta / len(grid)), float(lam)) for lam in grid)


def odds_grid(low: float, high: float, count: int) -> tuple[float, ...]:
    r"""Values in (0, 1) whose odds are at a constant ratio, the grid for the product bound.

    The odds are \(\lambda/(1-\lambda)\).

    Arguments:
        low: the first value, positive.
        high: the last value, positive.
        count: how many values.

    Returns:
        The values.

    >>> [round(lam, 3) for lam in odds_grid(0.1, 10.0, 3)]
    [0.091, 0.5, 0.909]
    """
    return tuple(odds / (1 + odds) for odds in geometric_grid(low, high, count))


def geometric_grid(low: float, high: float, count: int) -> tuple[float, ...]:
    """Values from low to high at a constant ratio.

    Arguments:
        low: the first value, positive.
        high: the last value, positive.
        count: how many values.

    Returns:
        The values.

    >>> geometric_grid(0.1, 10.0, 3)
    (0.1, 1.0, 10.0)
    """
    low, high, count = positive_number("low", low), positive_number("high", high), whole_number("count", count)
    return tuple(float(lam) for lam in np.geomspace(low, high, count))
