r"""Exact bounds for probabilities and quantiles: they count problems and need no cap.

Assumptions: independent problems of one distribution, one value for each (checked: no replicates); thresholds and
levels fixed without them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from ...messages.arguments import any_number, array_of_numbers
from ...statistics.proportions import lower_limit, upper_limit
from .inputs import Array, check_fraction, check_whole, one_per_problem
from .rounding import plain


def clopper_pearson_upper(successes: Any, trials: Any, delta: float) -> Any:
    r"""An upper bound on a probability from a number of successes.

    It is the p with \(P(\mathrm{Bin}(n,p)\le k)=\delta\).

    Arguments:
        successes: the number of successes.
        trials: the number of trials.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> round(clopper_pearson_upper(0, 100, 0.05), 5) == round(1 - 0.05 ** (1 / 100), 5)
    True
    """
    successes, trials = _counts(successes, trials)
    check_fraction("delta", delta)
    return plain(np.minimum(upper_limit(successes, trials, delta) * (1 + 1e-10), 1.0))


def clopper_pearson_lower(successes: Any, trials: Any, delta: float) -> Any:
    r"""A lower bound on a probability from a number of successes.

    It is the p with \(P(\mathrm{Bin}(n,p)\ge k)=\delta\).

    Arguments:
        successes: the number of successes.
        trials: the number of trials.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> round(clopper_pearson_lower(100, 100, 0.05), 5) == round(0.05 ** (1 / 100), 5)
    True
    """
    successes, trials = _counts(successes, trials)
    check_fraction("delta", delta)
    return plain(lower_limit(successes, trials, delta) * (1 - 1e-10))


def tail_bound(values: Any, threshold: float, delta: float) -> float:
    r"""An upper bound on how often values are above a threshold.

    It bounds \(P(\varphi > \text{threshold})\) for a threshold fixed beforehand. Infinite values are allowed.

    Arguments:
        values: values on held-out problems, one per problem.
        threshold: fixed beforehand.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> round(tail_bound(np.arange(100.0), threshold=98.0, delta=0.05), 4)
    0.0466
    """
    values = one_per_problem(values)
    return clopper_pearson_upper(int((values > any_number("threshold", threshold)).sum()), values.size, delta)


def quantile_bound(values: Any, level: float, delta: float) -> float:
    r"""An upper bound on a quantile, which is an order statistic.

    It bounds \(q_\beta = \inf\{\alpha : P(\varphi\le\alpha)\ge\beta\}\).

    \(X_{(k)} < q_\beta\) needs k values below \(q_\beta\), each with a probability of at most β: the smallest k with
    \(P(\mathrm{Bin}(N,\beta) \ge k) \le \delta\) is taken. Infinite if there are too few problems for that.

    Arguments:
        values: values on held-out problems, one per problem.
        level: in (0, 1), fixed beforehand.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        The bound; infinity if there are too few problems.

    >>> quantile_bound(np.arange(100.0), level=0.9, delta=0.05)
    95.0
    >>> quantile_bound(np.arange(20.0), level=0.9, delta=0.05)
    inf
    """
    values = np.sort(one_per_problem(values))
    check_fraction("level", level)
    check_fraction("delta", delta)
    exceeded = special.bdtrc(np.arange(values.size), values.size, level)
    rank = int(np.searchsorted(-exceeded, -delta * (1 - 1e-10)))
    return float(values[rank]) if rank < values.size else float("inf")


def _counts(successes: Any, trials: Any) -> tuple[Array, Array]:
    check_whole("trials", trials)
    successes, trials = array_of_numbers("successes", successes), np.asarray(trials, float)
    if not ((successes >= 0) & (successes <= trials) & (successes == np.floor(successes))).all():
        raise ValueError(f"successes must be whole numbers from 0 to trials, got {successes} of {trials}.")
    return successes, trials
