"""Hoeffding's inequality: the simplest bound on a mean, for comparison with sharper ones."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..goal import Found
from ..goals import Mean
from .inputs import check_fraction, per_problem
from .rounding import round_up


def hoeffding_bound(values: Any, delta: float, cap: float) -> float:
    r"""An upper bound on a mean that depends on the values only through their average.

    \[ \hat\mu + \varphi_{\max} \sqrt{\frac{\log(1/\delta)}{2N}}. \]

    `betting_bound` is sharper unless the values lie at 0 and at the cap only.

    Arguments:
        values: (problem,) or (problem, replicate), in [0, cap].
        delta: the probability of failure allowed, in (0, 1).
        cap: \(\varphi_{\max}\), the largest possible value.

    Returns:
        The bound, at most the cap, which holds with probability 1 - delta.

    Reference: Hoeffding, *Probability inequalities for sums of bounded random variables*, 1963.

    >>> round(hoeffding_bound(np.tile([100.0, 300.0], 500), 0.05, 500.0), 1)
    219.4
    """
    check_fraction("delta", delta)
    shares = per_problem(values, cap)
    upper = shares.mean() + np.sqrt(np.log(1 / delta) / (2 * len(shares)))
    return round_up(float(upper) * cap, cap)


@dataclasses.dataclass(frozen=True)
class HoeffdingMean(Mean):
    """A goal like `Mean`, certified by Hoeffding's inequality.

    >>> print(HoeffdingMean("stopping_time", cap=500.0).certify(np.tile([100.0, 300.0], 500), 0.95))
    With 95% confidence, the algorithm needs at most 219.4 iterations on average on new problems drawn like these 1000.
    """

    def find(self, values: Any, delta: float, prior_values: Any = None) -> Found:
        return Found(hoeffding_bound(values, delta, self.cap), np.asarray(values).mean(), "Hoeffding's inequality")
