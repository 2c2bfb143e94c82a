r"""Bounds on the mean of a functional without a largest value.

Under a bound on a moment, \(\mathbb E\varphi^p \le M\), what lies beyond a level c is bounded by

\[ \mathbb E(\varphi - c)_+ \le \frac{(p-1)^{p-1}}{p^p} \frac{M}{c^{p-1}}, \]

because \((x - c)_+ / x^p\) is largest at \(x = pc/(p-1)\). Assumptions: those of `betting_bound`, and cap, level and
moment declared without these problems.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...messages.arguments import is_number, positive_number, shown
from .betting import betting_bound
from .binomial import clopper_pearson_upper
from .inputs import Array, check_fraction, check_whole, one_per_problem
from .rounding import round_up


def capped_bounds(values: Any, delta: float, cap: float) -> tuple[float, float]:
    """Upper bounds on the mean up to a cap and on the probability of reaching it, which hold together.

    Arguments:
        values: (problem,), held-out, at least 0; they may be larger than the cap, or infinite.
        delta: the probability of failure allowed, in (0, 1).
        cap: declared beforehand.

    Returns:
        Both bounds, which hold together with probability 1 - delta.

    >>> mean, reached = capped_bounds(np.tile([1.0, 5.0], 200), delta=0.05, cap=4.0)
    >>> round(mean, 2), round(reached, 3)
    (2.61, 0.55)
    """
    values = not_negative(values)
    check_fraction("delta", delta)
    mean = betting_bound(np.minimum(values, cap), delta / 2, cap)
    return mean, float(clopper_pearson_upper(int((values >= cap).sum()), len(values), delta / 2))


def moment_bound(values: Any, delta: float, moment: float, power: float, threshold: float) -> float:
    """An upper bound on a mean under a bound on a moment.

    Arguments:
        values: (problem,), held-out, at least 0 and finite.
        delta: the probability of failure allowed, in (0, 1).
        moment: what the mean of the values to that power is at most.
        power: p > 1.
        threshold: the level of truncation, chosen beforehand.

    Returns:
        The bound, which holds with probability 1 - delta if the moment is as declared.

    >>> round(moment_bound(np.tile([1.0, 3.0], 200), 0.05, moment=6.0, power=2.0, threshold=12.0), 2)
    2.24
    """
    values, known = not_negative(values), float(moment) ** (1 / power)
    beyond = beyond_level(moment, power, threshold)
    return round_up(betting_bound(np.minimum(values, threshold), delta, threshold) + beyond, known)


def beyond_level(moment: float, power: float, threshold: float) -> float:
    r"""How much of a mean can lie beyond a level, if a moment is bounded.

    It is the largest \(\mathbb E(\varphi - c)_+\) with \(\mathbb E\varphi^p \le M\).

    Arguments:
        moment: M > 0.
        power: p > 1.
        threshold: c > 0.

    Returns:
        The bound.

    >>> beyond_level(moment=8.0, power=2.0, threshold=4.0)
    0.5
    """
    check_moment(moment, power)
    share = (power - 1) ** (power - 1) / power**power
    return share * moment / positive_number("threshold", threshold) ** (power - 1)


def truncation_level(moment: float, power: float, num_problems: int, delta: float) -> float:
    r"""A level of truncation for a mean under a bound on a moment, before any value is seen.

    What betting pays for a level c is about \(c \log\frac1\delta / N\), and what lies beyond it is bounded by the
    moment; this is the c at which their sum is smallest.

    Arguments:
        moment: M > 0.
        power: p > 1.
        num_problems: N.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        c.

    >>> round(truncation_level(10_000.0, 2.0, num_problems=1000, delta=0.05), 1)
    913.5
    """
    check_whole("num_problems", num_problems)
    price = -np.log(check_fraction("delta", delta)) / num_problems
    return float(((power - 1) * beyond_level(moment, power, 1.0) / price) ** (1 / power))


def check_moment(moment: Any, power: Any) -> None:
    positive_number("moment", moment)
    if not (is_number(power) and 1 < power < np.inf):
        raise ValueError(f"power must be larger than 1, got {shown(power)}: the first moment is what is to be bounded.")


def not_negative(values: Any) -> Array:
    values = one_per_problem(values).astype(float)
    if (values < 0).any():
        raise ValueError(f"values must not be negative, but the smallest is {values.min():.6g}.")
    return values
