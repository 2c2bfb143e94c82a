"""What can be certified of the deployed algorithm: each goal is fixed before the data and then makes a certificate.

Means by betting, indicators and tails by Clopper–Pearson, quantiles by order statistics, CVaR by betting beyond a
threshold. Held-out problems are needed: problems that neither training nor selection has seen.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from .betting import betting_bound
from .binomial import clopper_pearson_lower, clopper_pearson_upper, one_per_problem, quantile_bound, tail_bound
from .certificate import Certificate
from .cvar import cvar_bound
from .inputs import check_fraction, check_positive, failure_probability, fingerprint

INDEPENDENT = "the problems are independent draws of the distribution that later problems come from"
HELD_OUT = "the algorithm was fixed without these problems"
BEFOREHAND = "cap, level and threshold were fixed without these problems"


@dataclasses.dataclass(frozen=True)
class Goal(ABC):
    """A measure of a functional that is to be certified."""

    functional: str

    @abstractmethod
    def certify(self, values: Any, confidence: float, *, draws: Mapping[str, str] | None = None) -> Certificate:
        """The certificate from values on held-out problems, (problem,) or (problem, replicate)."""


@dataclasses.dataclass(frozen=True)
class Mean(Goal):
    """The mean is at most so much.

    >>> print(Mean("stopping_time", cap=500.0).certify(np.tile([100.0, 300.0], 500), 0.95))
    With 95 % confidence, at most 204.7 iterations on average, over problems drawn like these 1000.
    """

    cap: float
    unit: str = ""

    def __post_init__(self):
        check_positive("cap", self.cap)

    def certify(
        self,
        values: Any,
        confidence: float,
        *,
        draws: Mapping[str, str] | None = None,
        diverged: Any = None,
        prior_values: Any = None,
    ) -> Certificate:
        delta = failure_probability(confidence)
        values = np.asarray(values)
        values = values if values.dtype == bool or np.issubdtype(values.dtype, np.floating) else values.astype(float)
        if diverged is not None:
            values = np.where(np.asarray(diverged, bool), np.asarray(self.cap, values.dtype), values)
        if values.dtype == bool and self.cap == 1 and values.ndim <= 2 and values.size == len(values) > 0:
            kind, bound = "clopper-pearson", clopper_pearson_upper(int(values.sum()), values.size, delta)
        else:
            kind, bound = "betting", betting_bound(values, delta, self.cap, prior_values)
        return Certificate(
            functional=self.functional,
            measure="mean",
            kind=kind,
            bound=bound,
            empirical=float(values.mean()),
            confidence=float(confidence),
            n=len(values),
            cap=float(self.cap),
            at_cap=float((values >= np.asarray(self.cap, values.dtype)).mean()) if values.dtype != bool else None,
            draws=dict(draws or {}),
            data=fingerprint(values),
            assumptions=(INDEPENDENT, HELD_OUT, BEFOREHAND),
            unit=self.unit,
        )


@dataclasses.dataclass(frozen=True)
class Probability(Goal):
    """At least so many problems have a property: values are 1 (or True) where it holds, else 0.

    >>> print(Probability("solved").certify(np.arange(1000) >= 5, 0.95))
    With 95 % confidence, at least 98.95 % are solved, over problems drawn like these 1000.
    """

    def certify(self, values: Any, confidence: float, *, draws: Mapping[str, str] | None = None) -> Certificate:
        delta = failure_probability(confidence)
        values = one_per_problem(values)
        if not np.isin(values, (0, 1)).all():
            raise ValueError(f"{self.functional} must be 0 or 1 on every problem; certify its mean instead.")
        bound = clopper_pearson_lower(int(values.sum()), values.size, delta)
        return _certificate(self, "probability", "clopper-pearson", bound, values.mean(), confidence, values, draws)


@dataclasses.dataclass(frozen=True)
class Tail(Goal):
    """At most so many problems are above a threshold.

    >>> print(Tail("stopping_time", threshold=400.0).certify(np.arange(1000.0) % 402, 0.95))
    With 95 % confidence, at most 0.63 % need more than 400 iterations, over problems drawn like these 1000.
    """

    threshold: float

    def certify(self, values: Any, confidence: float, *, draws: Mapping[str, str] | None = None) -> Certificate:
        bound = tail_bound(values, self.threshold, failure_probability(confidence))
        values = one_per_problem(values)
        share = (values > self.threshold).mean()
        return _certificate(self, "tail", "clopper-pearson", bound, share, confidence, values, draws)


@dataclasses.dataclass(frozen=True)
class Quantile(Goal):
    """A quantile is at most so much: an order statistic, infinite if there are too few problems.

    >>> print(Quantile("stopping_time", level=0.9).certify(np.arange(1000.0), 0.95))
    With 95 % confidence, 90 % need at most 915 iterations, over problems drawn like these 1000.
    """

    level: float

    def __post_init__(self):
        check_fraction("level", self.level)

    def certify(self, values: Any, confidence: float, *, draws: Mapping[str, str] | None = None) -> Certificate:
        bound = quantile_bound(values, self.level, failure_probability(confidence))
        values = one_per_problem(values)
        empirical = np.sort(values)[max(int(np.ceil(self.level * values.size * (1 - 1e-12))) - 1, 0)]
        return _certificate(self, "quantile", "order statistics", bound, empirical, confidence, values, draws)


@dataclasses.dataclass(frozen=True)
class CVaR(Goal):
    """The mean of the worst 1 - level is at most so much; the threshold comes from `cvar_threshold` on prior problems.

    >>> print(CVaR("stopping_time", 0.9, threshold=900.0, cap=1000.0).certify(np.arange(1000.0), 0.95))
    With 95 % confidence, the worst 10 % need at most 960.5 iterations on average, over problems drawn like these 1000.
    """

    level: float
    threshold: float
    cap: float

    def __post_init__(self):
        check_fraction("level", self.level)
        if not 0 <= self.threshold < self.cap:
            raise ValueError(f"threshold must lie in [0, cap) = [0, {self.cap:.6g}), got {self.threshold}.")

    def certify(self, values: Any, confidence: float, *, draws: Mapping[str, str] | None = None) -> Certificate:
        bound = cvar_bound(values, self.level, self.threshold, failure_probability(confidence), self.cap)
        values = one_per_problem(values)
        beyond = np.maximum(values - np.quantile(values, self.level, method="inverted_cdf"), 0.0).mean()
        empirical = np.quantile(values, self.level, method="inverted_cdf") + beyond / (1 - self.level)
        return _certificate(self, "cvar", "betting", bound, empirical, confidence, values, draws)


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


def _certificate(
    goal: Any, measure: str, kind: str, bound: float, empirical: Any, confidence: float, values: Any, draws: Any
) -> Certificate:
    return Certificate(
        functional=goal.functional,
        measure=measure,
        kind=kind,
        bound=bound,
        empirical=float(empirical),
        confidence=float(confidence),
        n=len(values),
        cap=getattr(goal, "cap", None),
        level=getattr(goal, "level", None),
        threshold=getattr(goal, "threshold", None),
        draws=dict(draws or {}),
        data=fingerprint(values),
        assumptions=(INDEPENDENT, HELD_OUT, BEFOREHAND),
    )
