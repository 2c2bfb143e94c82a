"""What can be certified of the deployed algorithm: each goal is fixed before the data and then makes a certificate.

Means by betting, indicators and tails by Clopper–Pearson, quantiles by order statistics, CVaR by betting beyond a
threshold, the whole distribution function by a band. Needed are held-out problems, which neither training nor selection
has seen, or the prior mass of a candidate chosen on these very problems.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from .betting import betting_bound
from .binomial import clopper_pearson_lower, clopper_pearson_upper, one_per_problem, quantile_bound, tail_bound
from .certificate import Certificate
from .cvar import beyond_threshold, cvar_bound
from .distribution import tight_band
from .goal import Found, Goal, checked_mass
from .inputs import (
    Array,
    check_fraction,
    check_positive,
    complement,
    failure_probability,
    per_problem,
    round_up,
    shares_of_cap,
)


@dataclasses.dataclass(frozen=True)
class Mean(Goal):
    """The mean is at most so much.

    >>> print(Mean("stopping_time", cap=500.0).certify(np.tile([100.0, 300.0], 500), 0.95))
    With 95 % confidence, at most 204.7 iterations on average, over problems drawn like these 1000.
    """

    cap: float
    unit: str = ""
    measure: ClassVar[str] = "mean"

    def __post_init__(self):
        check_positive("cap", self.cap)

    def certify(
        self,
        values: Any,
        confidence: float,
        *,
        draws: Mapping[str, str] | None = None,
        prior_mass: float | None = None,
        diverged: Any = None,
        prior_values: Any = None,
    ) -> Certificate:
        """As for every goal; diverged runs count as the cap, and `prior_values` make the first bets better."""
        delta = failure_probability(confidence) * checked_mass(prior_mass)
        values = np.asarray(values)
        values = values if values.dtype == bool or np.issubdtype(values.dtype, np.floating) else values.astype(float)
        if diverged is not None:
            if np.shape(diverged) != values.shape:
                raise ValueError(
                    f"diverged must say for every value whether its run diverged, but it has the shape "
                    f"{np.shape(diverged)} and values have {values.shape}."
                )
            values = np.where(np.asarray(diverged, bool), np.asarray(self.cap, values.dtype), values)
        found = self.find(values, delta, prior_values)
        return self.record(values, found, confidence, draws=draws, prior_mass=prior_mass)

    def find(self, values: Any, delta: float, prior_values: Any = None) -> Found:
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
    """At least so many problems have a property: values are 1 (or True) where it holds, else 0.

    >>> print(Probability("solved").certify(np.arange(1000) >= 5, 0.95))
    With 95 % confidence, at least 98.95 % are solved, over problems drawn like these 1000.
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
    """At most so many problems are above a threshold.

    If the values are truncated, say at which cap: nothing is seen of what lies above.

    >>> print(Tail("stopping_time", threshold=400.0).certify(np.arange(1000.0) % 402, 0.95))
    With 95 % confidence, at most 0.63 % need more than 400 iterations, over problems drawn like these 1000.
    """

    threshold: float
    cap: float | None = None
    measure: ClassVar[str] = "tail"

    def __post_init__(self):
        if self.cap is not None and not self.threshold < check_positive("cap", self.cap):
            raise ValueError(
                f"threshold must lie below the cap {self.cap:.6g}, got {self.threshold}: values are cut off there, so "
                "that none is seen to be larger."
            )

    def find(self, values: Any, delta: float) -> Found:
        bound = tail_bound(_up_to(values, self.cap), self.threshold, delta)
        return Found(bound, self.shares(values).mean(), "clopper-pearson")

    def shares(self, values: Any) -> Array:
        return (_up_to(values, self.cap) > self.threshold).astype(float)

    def from_share(self, upper: float) -> float:
        return upper


@dataclasses.dataclass(frozen=True)
class Quantile(Goal):
    """A quantile is at most so much: an order statistic, infinite if there are too few problems.

    If the values are truncated, say at which cap: a quantile there is no quantile.

    >>> print(Quantile("stopping_time", level=0.9).certify(np.arange(1000.0), 0.95))
    With 95 % confidence, 90 % need at most 915 iterations, over problems drawn like these 1000.
    """

    level: float
    cap: float | None = None
    measure: ClassVar[str] = "quantile"

    def __post_init__(self):
        check_fraction("level", self.level)
        if self.cap is not None:
            check_positive("cap", self.cap)

    def find(self, values: Any, delta: float) -> Found:
        values = _up_to(values, self.cap)
        empirical = np.sort(values)[max(int(np.ceil(self.level * values.size * (1 - 1e-12))) - 1, 0)]
        return Found(quantile_bound(values, self.level, delta), empirical, "order statistics")


@dataclasses.dataclass(frozen=True)
class CVaR(Goal):
    """The mean of the worst 1 - level is at most so much; the threshold comes from `cvar_threshold` on prior problems.

    >>> print(CVaR("stopping_time", 0.9, threshold=900.0, cap=1000.0).certify(np.arange(1000.0), 0.95))
    With 95 % confidence, the worst 10 % need at most 960.5 iterations on average, over problems drawn like these 1000.
    """

    level: float
    threshold: float
    cap: float
    measure: ClassVar[str] = "cvar"

    def __post_init__(self):
        check_fraction("level", self.level)
        if not 0 <= self.threshold < check_positive("cap", self.cap):
            raise ValueError(f"threshold must lie in [0, cap) = [0, {self.cap:.6g}), got {self.threshold}.")

    def find(self, values: Any, delta: float) -> Found:
        bound = cvar_bound(values, self.level, self.threshold, delta, self.cap)
        values = one_per_problem(values).astype(float)
        quantile = np.quantile(values, self.level, method="inverted_cdf")
        return Found(bound, quantile + np.maximum(values - quantile, 0.0).mean() / (1 - self.level), "betting")

    def shares(self, values: Any) -> Array:
        return per_problem(beyond_threshold(values, self.threshold, self.cap), self.cap - self.threshold)

    def from_share(self, upper: float) -> float:
        return round_up(self.threshold + upper * (self.cap - self.threshold) / (1 - self.level), self.cap)


@dataclasses.dataclass(frozen=True)
class Distribution(Goal):
    """The whole distribution function at once, from below: so many problems are at least so good, for every value.

    All levels hold together for the price of one goal. If the values are truncated, say at which cap; nothing is
    claimed there. As its single number the certificate has the median that is certified.

    >>> print(Distribution("stopping_time").certify(np.arange(1000.0), 0.95))
    With 95 % confidence, 50 % need at most 548, 90 % at most 928, 99 % at most 998 iterations, at once, \
over problems drawn like these 1000.
    """

    cap: float | None = None
    measure: ClassVar[str] = "distribution"

    def __post_init__(self):
        if self.cap is not None:
            check_positive("cap", self.cap)

    def find(self, values: Any, delta: float) -> Found:
        values = _up_to(values, self.cap)
        band = tight_band(values, delta)
        last_of_equals = np.append(band.values[1:] > band.values[:-1], True)
        known = last_of_equals & (band.values < (np.inf if self.cap is None else np.asarray(self.cap, values.dtype)))
        points = tuple(zip(band.values[known].tolist(), band.shares[known].tolist(), strict=True))
        median = next((value for value, share in points if share >= 0.5), float("inf"))
        return Found(median, np.quantile(values, 0.5, method="inverted_cdf"), "berk-jones", points)


def certify(
    values: Any,
    *,
    cap: float,
    confidence: float = 0.95,
    functional: str = "performance",
    unit: str = "",
    diverged: Any = None,
    prior_values: Any = None,
) -> Certificate:
    """Certify the mean of the deployed algorithm from its values on held-out problems.

    Arguments:
        values: (problem,) or (problem, replicate), within [0, cap]. Booleans are taken as indicators.
        cap: the largest value there can be, declared beforehand: the horizon, for a stopping time.
        confidence: in (0, 1).
        functional: what the values are, for the sentence.
        diverged: True where a run diverged; its value is ignored and counts as the cap.
        prior_values: values on prior problems; they make the bound slightly better.

    >>> certificate = certify(np.tile([100.0, 300.0], 500), cap=500.0)
    >>> round(certificate.bound, 1)
    204.6
    """
    return Mean(functional, cap, unit).certify(values, confidence, diverged=diverged, prior_values=prior_values)


def _up_to(values: Any, cap: float | None) -> Array:
    """One value per problem, none above the cap if there is one."""
    values = one_per_problem(values)
    if cap is not None:
        shares_of_cap(values, cap)
    return values
