"""What can be certified of the deployed algorithm: each goal is fixed before the data and then makes a certificate.

Means by betting, indicators and tails by Clopper–Pearson, quantiles by order statistics, CVaR by betting beyond a
threshold, the whole distribution function by a band. A goal needs held-out problems, which neither training nor
selection has seen, or the prior mass of a candidate that was chosen on the same problems.

Goals that could do without a cap must still be told of one, because stopping times are truncated at the horizon unless
`StoppingTime(truncated=False)` was evaluated. `cap=None` declares that the values are not truncated.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from ..messages.arguments import any_number, array_of_numbers, positive_number
from ..statistics.quantiles import beyond_quantile, quantile
from .bounds.anytime_ranks import anytime_points, anytime_quantile_bound
from .bounds.betting import betting_bound
from .bounds.binomial import clopper_pearson_lower, clopper_pearson_upper, quantile_bound, tail_bound
from .bounds.cvar import beyond_threshold, cvar_bound
from .bounds.distribution import certified_points, median_of
from .bounds.inputs import Array, check_fraction, one_per_problem, per_problem, up_to
from .bounds.rounding import complement, number_exact, round_up
from .goal import Found, Goal


@dataclasses.dataclass(frozen=True)
class Mean(Goal):
    """An upper bound on the mean.

    >>> print(Mean("stopping_time", cap=500.0).certify(np.tile([100.0, 300.0], 500), 0.95))
    With 95% confidence, the algorithm needs at most 204.7 iterations on average on new problems drawn like these 1000.
    """

    cap: float
    unit: str = ""
    measure: ClassVar[str] = "mean"

    def __post_init__(self):
        super().__post_init__()
        positive_number("cap", self.cap)

    def find(self, values: Any, delta: float, prior_values: Any = None) -> Found:
        values = array_of_numbers("values", values)
        if values.dtype == bool and self.cap == 1 and values.ndim <= 2 and values.size == len(values) > 0:
            kind, bound = "clopper-pearson", clopper_pearson_upper(int(values.sum()), values.size, delta)
        else:
            kind, bound = "betting", betting_bound(values, delta, self.cap, prior_values)
        return Found(bound, values.mean(), kind)

    def shares(self, values: Any) -> Array:
        return per_problem(values, self.cap)

    def from_share(self, upper: float) -> float:
        return round_up(upper * self.cap, self.cap)


@dataclasses.dataclass(frozen=True)
class Probability(Goal):
    """A lower bound on how often a property holds: values are 1 (or True) where it holds, else 0.

    >>> print(Probability("solved").certify(np.arange(1000) >= 5, 0.95))
    With 95% confidence, the algorithm solves at least 98.95% of new problems drawn like these 1000.
    """

    measure: ClassVar[str] = "probability"

    def find(self, values: Any, delta: float) -> Found:
        holds = 1 - self.shares(values)
        return Found(clopper_pearson_lower(int(holds.sum()), holds.size, delta), holds.mean(), "clopper-pearson")

    def shares(self, values: Any) -> Array:
        values = one_per_problem(values)
        if not np.isin(values, (0, 1)).all():
            raise ValueError(f"{self.functional} must be 0 or 1 on every problem; certify its mean instead.")
        return 1.0 - values

    def from_share(self, upper: float) -> float:
        return complement(upper)


@dataclasses.dataclass(frozen=True)
class Tail(Goal):
    """An upper bound on how often values are above a threshold.

    Arguments:
        threshold: fixed beforehand, below the cap.
        cap: where the values are truncated; None declares that they are not.

    >>> print(Tail("stopping_time", threshold=400.0, cap=500.0).certify(np.arange(1000.0) % 402, 0.95))
    With 95% confidence, the algorithm needs more than 400 iterations on at most 0.63% of new problems drawn like \
these 1000.
    """

    threshold: float
    cap: float | None
    measure: ClassVar[str] = "tail"

    def __post_init__(self):
        super().__post_init__()
        any_number("threshold", self.threshold)
        if self.cap is not None and not self.threshold < positive_number("cap", self.cap):
            raise ValueError(
                f"threshold must lie below the cap {number_exact(self.cap)}, got {self.threshold}: values are cut off "
                "at the cap, so that none is seen to be larger."
            )

    def find(self, values: Any, delta: float) -> Found:
        bound = tail_bound(up_to(values, self.cap), self.threshold, delta)
        return Found(bound, self.shares(values).mean(), "clopper-pearson")

    def shares(self, values: Any) -> Array:
        return (up_to(values, self.cap) > self.threshold).astype(float)

    def from_share(self, upper: float) -> float:
        return upper


@dataclasses.dataclass(frozen=True)
class Quantile(Goal):
    """An upper bound on a quantile: an order statistic, infinite if there are too few problems.

    Arguments:
        level: in (0, 1), fixed beforehand.
        cap: where the values are truncated; None declares that they are not. A bound at the cap says nothing.

    >>> print(Quantile("stopping_time", level=0.9, cap=1000.0).certify(np.arange(1000.0), 0.95))
    With 95% confidence, the algorithm needs at most 915 iterations on at least 90% of new problems drawn like \
these 1000.
    """

    level: float
    cap: float | None
    measure: ClassVar[str] = "quantile"
    ranked: ClassVar[bool] = True

    def __post_init__(self):
        super().__post_init__()
        check_fraction("level", self.level)
        _checked_cap(self.cap)

    def find(self, values: Any, delta: float) -> Found:
        values = up_to(values, self.cap)
        return Found(quantile_bound(values, self.level, delta), quantile(values, self.level), "order statistics")

    def so_far(self, values: Any, delta: float) -> Found:
        values = up_to(values, self.cap)
        return Found(anytime_quantile_bound(values, self.level, delta), quantile(values, self.level), "any-time")


@dataclasses.dataclass(frozen=True)
class CVaR(Goal):
    """An upper bound on the mean of the worst 1 - level of the problems.

    Arguments:
        level: in (0, 1), fixed beforehand.
        threshold: in [0, cap), from `cvar_threshold` on prior problems.
        cap: the largest possible value.

    >>> print(CVaR("stopping_time", 0.9, threshold=900.0, cap=1000.0).certify(np.arange(1000.0), 0.95))
    With 95% confidence, the algorithm needs at most 960.5 iterations on average on the worst 10% of new problems \
drawn like these 1000.
    """

    level: float
    threshold: float
    cap: float
    measure: ClassVar[str] = "cvar"

    def __post_init__(self):
        super().__post_init__()
        check_fraction("level", self.level)
        if not 0 <= any_number("threshold", self.threshold) < positive_number("cap", self.cap):
            raise ValueError(f"threshold must lie in [0, cap) = [0, {self.cap:.6g}), got {self.threshold}.")

    def find(self, values: Any, delta: float) -> Found:
        bound = cvar_bound(values, self.level, self.threshold, delta, self.cap)
        return Found(bound, beyond_quantile(one_per_problem(values), self.level).mean(), "betting")

    def shares(self, values: Any) -> Array:
        return per_problem(beyond_threshold(values, self.threshold, self.cap), self.cap - self.threshold)

    def from_share(self, upper: float) -> float:
        return round_up(self.threshold + upper * (self.cap - self.threshold) / (1 - self.level), self.cap)


@dataclasses.dataclass(frozen=True)
class Distribution(Goal):
    """A lower bound on the whole distribution function: for every value, on the share of problems that stay below.

    All levels hold simultaneously for the price of one goal. The single number of the certificate is the median that is
    certified.

    Arguments:
        cap: where the values are truncated; None declares that they are not. Nothing is claimed at the cap.

    >>> print(Distribution("stopping_time", cap=1000.0).certify(np.arange(1000.0), 0.95))
    With 95% confidence, the algorithm needs at most 548 iterations on at least 50%, at most 928 on at least 90% and \
at most 998 on at least 99% of new problems drawn like these 1000, all simultaneously.
    """

    cap: float | None
    measure: ClassVar[str] = "distribution"
    ranked: ClassVar[bool] = True

    def __post_init__(self):
        super().__post_init__()
        _checked_cap(self.cap)

    def find(self, values: Any, delta: float) -> Found:
        values = up_to(values, self.cap)
        points = certified_points(values, delta, self.cap)
        return Found(median_of(points), quantile(values, 0.5), "berk-jones", points)

    def so_far(self, values: Any, delta: float) -> Found:
        values = up_to(values, self.cap)
        points = anytime_points(values, delta, self.cap)
        return Found(median_of(points), quantile(values, 0.5), "any-time", points)


def _checked_cap(cap: float | None) -> None:
    """Refuse what is neither a cap nor the declaration that there is none."""
    if cap is not None:
        positive_number("cap", cap)
