"""Functionals without a largest value: two ways to certify their mean nevertheless.

A sample says nothing about the mean of a functional that may be arbitrarily large on rare problems. So either the mean
up to a cap is certified, and beside it how often the cap is reached; or a bound on a moment is declared. Quantiles need
neither.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from ..messages.arguments import positive_number
from .bounds.betting import lower_betting_bound
from .bounds.inputs import Array
from .bounds.moments import capped_bounds, check_moment, moment_bound, not_negative, truncation_level
from .bounds.rounding import number_exact
from .goal import COMPLETE, ONE_EACH, Found, Goal

BEYOND_IS_SEEN = "a run that was stopped early was stopped at the cap or beyond"
CONTRADICTION = 1e-3
"""The probability with which values are refused although their moment is as declared."""


@dataclasses.dataclass(frozen=True)
class CappedMean(Goal):
    r"""The mean up to a cap, and how often the cap is reached, in one sentence; values may be larger, or infinite.

    \(\mathbb E\min(\varphi, c)\) by betting and \(P(\varphi \ge c)\) by Clopper and Pearson, each with half of the
    probability of failure.

    Arguments:
        cap: c > 0, declared beforehand; it need not be the largest value.

    >>> times = np.tile([100.0, 300.0], 500)
    >>> times[:3] = np.inf
    >>> print(CappedMean("stopping_time", cap=1000.0).certify(times, 0.95))  # doctest: +NORMALIZE_WHITESPACE
    With 95% confidence, the algorithm needs at most 210.3 iterations on average, counting at most 1000 of them, and
    reaches 1000 on at most 0.88% of new problems drawn like these 1000.
    """

    cap: float
    unit: str = ""
    measure: ClassVar[str] = "mean"

    def __post_init__(self):
        super().__post_init__()
        positive_number("cap", self.cap)

    def find(self, values: Any, delta: float) -> Found:
        bound, beyond = capped_bounds(values, delta, self.cap)
        mean = float(np.minimum(not_negative(values), self.cap).mean())
        return Found(bound, mean, "betting up to a cap", beyond=beyond)

    def _about_cap(self) -> tuple[str, ...]:
        return (BEYOND_IS_SEEN,)

    def _checked(self) -> tuple[str, ...]:
        return COMPLETE, ONE_EACH


@dataclasses.dataclass(frozen=True)
class MomentMean(Goal):
    r"""The mean of a functional without a largest value, under a declared bound on one of its moments.

    \(\mathbb E\varphi \le U(\mathbb E\min(\varphi, c)) + \frac{(p-1)^{p-1}}{p^p} M / c^{p-1}\), where U is the betting
    bound. Without values, \(\mathbb E\varphi \le M^{1/p}\), and no bound is larger than that. Values that contradict
    the declared moment are refused. A heavier tail that shows in no sample of this size cannot be refused, which is why
    the moment is listed among the assumptions.

    Arguments:
        moment: M > 0 with \(\mathbb E\varphi^p \le M\), declared beforehand.
        power: p > 1.
        threshold: the level c > 0 of truncation, chosen beforehand; by default `truncation_level`, which depends on M,
            p, the number of problems and the confidence only.

    >>> values = np.random.default_rng(0).pareto(3.0, 1000) * 100  # mean 50, second moment 10 000
    >>> goal = MomentMean("stopping_time", moment=10_000.0, power=2.0)
    >>> print(goal.certify(values, 0.95))  # doctest: +NORMALIZE_WHITESPACE
    With 95% confidence, the algorithm needs at most 58.11 iterations on average on new problems drawn like these
    1000, if the mean of their power 2 is at most 10000.
    """

    moment: float
    power: float
    threshold: float | None = None
    unit: str = ""
    measure: ClassVar[str] = "mean"

    def __post_init__(self):
        super().__post_init__()
        check_moment(self.moment, self.power)
        if self.threshold is not None:
            positive_number("threshold", self.threshold)

    def find(self, values: Any, delta: float) -> Found:
        values = not_negative(values)
        level = self._level(len(values), delta)
        _check_declared(values, self.moment, self.power, level)
        bound = moment_bound(values, delta, self.moment, self.power, level)
        return Found(bound, float(values.mean()), "betting under a moment", threshold=level)

    def _level(self, count: int, delta: float) -> float:
        if self.threshold is not None:
            return float(self.threshold)
        return truncation_level(self.moment, self.power, count, delta)

    def _about_cap(self) -> tuple[str, ...]:
        power, moment = number_exact(self.power), number_exact(self.moment)
        return (f"the mean of the functional to the power {power} is at most {moment}", BEYOND_IS_SEEN)

    def _checked(self) -> tuple[str, ...]:
        return COMPLETE, ONE_EACH


def _check_declared(values: Array, moment: float, power: float, level: float) -> None:
    """Refuse values whose moment is larger than declared, or surely so."""
    if not np.isfinite(values).all():
        raise ValueError(
            "a value is infinite, so no moment is finite: certify the mean up to a cap instead, "
            "CappedMean(functional, cap=…)."
        )
    shares = (np.minimum(values, level) / level) ** power
    least = lower_betting_bound(shares, CONTRADICTION, 1.0) * level**power
    if least > moment:
        raise ValueError(
            f"the mean of the power {number_exact(power)} was declared to be at most {number_exact(moment)}, but these "
            f"values show that it is at least {least:.4g}: declare a larger moment, before drawing new problems."
        )
