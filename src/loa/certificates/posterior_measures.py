r"""CVaR, quantiles and tail probabilities under a posterior, from the problems that the posterior has seen.

They are measures of the distribution of \(\varphi(\theta, \xi)\) for a new problem and \(h \sim \rho\), the randomized
algorithm of `loa.randomized`. Each follows from a bound on a mean over the posterior: the CVaR from that of
\((\varphi - c)_+\) by the product bound, a tail from that of \(1[\varphi > c]\) by the paper's theorem on trajectory
properties, and a quantile from the tails at a few c, which are paid for.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from ..messages.arguments import any_number, positive_number
from .bounds.inputs import Array, check_fraction, check_positive
from .bounds.posterior_tails import posterior_cvar, posterior_quantile, posterior_tail, quantile_lambda
from .posterior import BEFOREHAND, PosteriorFound, PosteriorGoal


@dataclasses.dataclass(frozen=True)
class PosteriorCVaR(PosteriorGoal):
    r"""An upper bound on the mean of the worst 1 - level of the problems, for an algorithm drawn from a posterior.

    \(\mathrm{CVaR}_\alpha \le c + \rho[\mathbb E(\varphi - c)_+] / (1 - \alpha)\) for every c.

    Arguments:
        level: α in (0, 1), fixed beforehand.
        threshold: c in [0, cap), from `cvar_threshold` on prior problems.
        cap: the largest possible value.
        lam: λ in (0, 1) of the product bound, fixed beforehand.

    >>> values = np.tile(np.arange(100.0), (2, 10)).T
    >>> goal = PosteriorCVaR("stopping_time", 0.9, threshold=90.0, cap=100.0, lam=0.6)
    >>> round(goal.certify(values, [0.9, 0.1], [0.5, 0.5], 0.95).bound, 1)
    96.2
    """

    level: float
    threshold: float
    cap: float
    lam: float
    lam_origin: str = BEFOREHAND
    unit: str = ""
    measure: ClassVar[str] = "cvar"

    def __post_init__(self):
        check_fraction("level", self.level)
        check_fraction("lam", self.lam)
        if not 0 <= any_number("threshold", self.threshold) < positive_number("cap", self.cap):
            raise ValueError(f"threshold must lie in [0, cap) = [0, {self.cap:.6g}), got {self.threshold}.")

    def find(self, values: Any, posterior: Any, kl: float, delta: float) -> PosteriorFound:
        bound = posterior_cvar(values, posterior, kl, self.lam, delta, self.level, self.threshold, self.cap)
        return PosteriorFound(bound, "product", float(self.lam), self.lam_origin)

    def empirical(self, values: Array, weights: Array) -> float:
        values, masses = _mixture(values, weights)
        edge = _quantile(values, masses, self.level)
        return float(edge + masses @ np.maximum(values - edge, 0.0) / (1 - self.level))


@dataclasses.dataclass(frozen=True)
class PosteriorTail(PosteriorGoal):
    """An upper bound on how often values are above a threshold, for an algorithm drawn from a posterior.

    Arguments:
        threshold: fixed beforehand, below the cap.
        cap: the largest possible value.
        lam: λ > 0, fixed beforehand, from `catoni_lambda` on prior problems.

    >>> values = np.tile(np.arange(100.0), (2, 10)).T
    >>> goal = PosteriorTail("stopping_time", threshold=95.0, cap=100.0, lam=900.0)
    >>> round(goal.certify(values, [0.9, 0.1], [0.5, 0.5], 0.95).bound, 3)
    0.065
    """

    threshold: float
    cap: float
    lam: float
    lam_origin: str = BEFOREHAND
    measure: ClassVar[str] = "tail"

    def __post_init__(self):
        check_positive("lam", self.lam)
        if not any_number("threshold", self.threshold) < positive_number("cap", self.cap):
            raise ValueError(f"threshold must lie below the cap {self.cap:.6g}, got {self.threshold}.")

    def find(self, values: Any, posterior: Any, kl: float, delta: float) -> PosteriorFound:
        bound = posterior_tail(values, posterior, kl, self.lam, delta, self.threshold, self.cap)
        return PosteriorFound(bound, "paper", float(self.lam), self.lam_origin)

    def empirical(self, values: Array, weights: Array) -> float:
        return float(((values > self.threshold) @ weights).mean())


@dataclasses.dataclass(frozen=True)
class PosteriorQuantile(PosteriorGoal):
    """An upper bound on a quantile for an algorithm drawn from a posterior: the smallest of some values that is one.

    Arguments:
        level: in (0, 1), fixed beforehand.
        thresholds: the values to try, from prior problems; the probability of failure is shared among them.
        cap: the largest possible value, which is the bound if no threshold is one.

    >>> values = np.tile(np.arange(100.0), (2, 10)).T
    >>> goal = PosteriorQuantile("stopping_time", 0.9, thresholds=(89.0, 92.0, 95.0, 98.0), cap=100.0)
    >>> goal.certify(values, [0.9, 0.1], [0.5, 0.5], 0.95).bound
    92.0
    """

    level: float
    thresholds: tuple[float, ...]
    cap: float
    unit: str = ""
    measure: ClassVar[str] = "quantile"

    def __post_init__(self):
        check_fraction("level", self.level)
        positive_number("cap", self.cap)
        if not self.thresholds or any(not any_number("a threshold", each) <= self.cap for each in self.thresholds):
            raise ValueError(f"thresholds must be at least one number up to the cap {self.cap:.6g}.")

    def find(self, values: Any, posterior: Any, kl: float, delta: float) -> PosteriorFound:
        count = len(self.thresholds)
        lam = quantile_lambda(self.level, len(values), delta / count)
        bound = posterior_quantile(values, posterior, kl, lam, delta / count, self.level, self.thresholds, self.cap)
        return PosteriorFound(bound, "paper", lam, f"for the level; one of {count} thresholds fixed beforehand")

    def empirical(self, values: Array, weights: Array) -> float:
        return _quantile(*_mixture(values, weights), self.level)


def _mixture(values: Array, weights: Array) -> tuple[Array, Array]:
    """All values with their masses under the mixture of candidates."""
    return np.ravel(values).astype(float), np.broadcast_to(weights / len(values), np.shape(values)).ravel()


def _quantile(values: Array, masses: Array, level: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(masses[order]) >= level * (1 - 1e-12)
    return float(values[order][np.argmax(reached)] if reached.any() else values.max())
