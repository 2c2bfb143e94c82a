r"""Statistical performance measures \(\Phi\): what a distribution of values amounts to (section 3.4).

Values come as `(problem,)` or `(problem, replicate)`, as `loa.evaluate` returns them. Problems are independent,
replicates on the same problem are not: intervals count problems, not values. The intervals describe the sample (they
are asymptotic, except where exact ones exist); for a guarantee use a certificate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import special

from ..algorithms.weights import as_distribution
from ..messages.arguments import any_number, array_of_numbers
from . import quantiles
from .proportions import check_fraction, lower_limit, upper_limit

Values = Float[np.ndarray, "problem replicate"]


class Estimate(float):
    """A number with a confidence interval: use it like any float, or read `low`, `high` and `confidence`.

    >>> Estimate(3.0, 2.5, 3.5, 0.95)
    3 [2.5, 3.5]
    """

    low: float
    high: float
    confidence: float

    def __new__(cls, value: float, low: float, high: float, confidence: float) -> Estimate:
        estimate = super().__new__(cls, value)
        estimate.low, estimate.high, estimate.confidence = float(low), float(high), float(confidence)
        return estimate

    def __repr__(self) -> str:
        return f"{float(self):.4g} [{self.low:.4g}, {self.high:.4g}]"

    __str__ = __repr__

    def __getnewargs__(self) -> tuple[float, float, float, float]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return float(self), self.low, self.high, self.confidence


class Summary(NamedTuple):
    """The four measures that are read first."""

    mean: Estimate
    median: Estimate
    q95: Estimate
    cvar95: Estimate


def summary(values: Any, *, confidence: float = 0.95) -> Summary:
    """Mean, median, 95% quantile and 95% CVaR."""
    return Summary(
        mean(values, confidence=confidence),
        quantile(values, 0.5, confidence=confidence),
        quantile(values, 0.95, confidence=confidence),
        cvar(values, 0.95, confidence=confidence),
    )


def mean(values: Any, *, confidence: float = 0.95) -> Estimate:
    r"""The mean, with Student's interval over problems.

    \(\Phi_{\mathrm{exp}} = \mathbb E\,\varphi\) (eq. 8).

    >>> mean([1.0, 2.0, 3.0])
    2 [-0.4841, 4.484]
    """
    values = _checked(values, confidence)
    return _average(values, confidence)


def probability(values: Any, *, confidence: float = 0.95) -> Estimate:
    """Probability of a property from its indicator. The interval is exact (Clopper–Pearson) without replicates.

    >>> probability([1, 1, 1, 1, 0])
    0.8 [0.2836, 0.9949]
    """
    values = _checked(values, confidence)
    if not np.isin(values, (0, 1)).all():
        raise ValueError(
            "an indicator has the values 0 and 1 only; for the mean of other values use loa.measures.mean."
        )
    return _share(values, confidence)


def tail_probability(values: Any, threshold: float, *, confidence: float = 0.95) -> Estimate:
    r"""The probability that values are at most a threshold.

    \(\Phi_{\mathrm{tail}} = P(\varphi \le \alpha)\). The interval is exact (Clopper–Pearson) without replicates.
    """
    values = _checked(values, confidence)
    return _share((values <= any_number("threshold", threshold)).astype(float), confidence)


def quantile(values: Any, level: float, *, confidence: float = 0.95) -> Estimate:
    r"""The smallest value that a given share of the values does not exceed.

    \(\Phi_{q_\beta} = \inf\{\alpha : P(\varphi \le \alpha) \ge \beta\}\), the paper's left-continuous quantile.

    The interval is between order statistics: exact without replicates, infinite where there are too few problems.
    """
    values = _checked(values, confidence)
    check_fraction("level", level)
    ordered = np.sort(values, axis=None)
    value = quantiles.quantile(ordered, level)
    lowest, highest = _levels_around(values, value, level, confidence)
    low = -np.inf if lowest < 1 else ordered[lowest - 1]
    high = np.inf if highest > ordered.size else ordered[highest - 1]
    return Estimate(value, low, high, confidence)


def cvar(values: Any, level: float, *, confidence: float = 0.95) -> Estimate:
    r"""Conditional value at risk, the mean of the worst values.

    Of the worst 1 - β: \(q_\beta + \mathbb E(\varphi-q_\beta)_+ / (1-\beta)\).

    The interval is asymptotic, from the variance of this sum at the estimated quantile: it misses more often than it
    says while fewer than about a hundred problems lie beyond the quantile.
    """
    values = _checked(values, confidence)
    check_fraction("level", level)
    if np.isposinf(values).any():
        return Estimate(np.inf, np.inf, np.inf, confidence)
    return _average(_beyond(values, level), confidence)


def _beyond(values: Values, level: float) -> Values:
    """Numbers whose mean is the CVaR: those of `beyond_quantile`, also where the quantile is -∞."""
    if not np.isneginf(quantiles.quantile(values, level)):
        return quantiles.beyond_quantile(values, level)
    finite = values > -np.inf
    if finite.mean() < (1 - level) * (1 - 4 * np.finfo(float).eps):
        return np.full_like(values, -np.inf)  # which is part of the worst 1 - level
    threshold = values[finite].min()
    return threshold + np.maximum(values - threshold, 0.0) / (1 - level)


def performance(values: Any, weights: Any, *, confidence: float = 0.95) -> Estimate:
    r"""Performance of a distribution ρ on a finite set of parameters (section 5.1).

    Its value is the empirical performance \(\hat R(\rho) = \frac1N \sum_n \rho[\varphi(\theta_n, \xi_n)]\); its
    interval is for the population performance \(R(\rho)\), if the problems were not used to choose ρ.

    Arguments:
        values: (candidate, problem) or (candidate, problem, replicate).
        weights: ρ, one number per candidate.
    """
    values = array_of_numbers("values", values).astype(float)
    if values.ndim not in (2, 3):
        raise ValueError(f"values must be (candidate, problem) or (candidate, problem, replicate), got {values.shape}.")
    distribution = as_distribution(weights, values.shape[0])
    return mean(np.tensordot(distribution, values, axes=1), confidence=confidence)


def _checked(values: Any, confidence: float) -> Values:
    """As an array (problem, replicate) without NaN."""
    values = array_of_numbers("values", values).astype(float)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.size == 0:
        raise ValueError(f"values must be (problem,) or (problem, replicate) and not empty, got shape {values.shape}.")
    if np.isnan(values).any():
        raise ValueError("values must not be NaN: an unsolved or diverged problem counts at the cap, or as infinity.")
    check_fraction("confidence", confidence)
    return values


def _average(values: Values, confidence: float) -> Estimate:
    """Mean over problems with Student's interval."""
    per_problem = values.mean(axis=1)
    center, count = per_problem.mean(), per_problem.size
    if not np.isfinite(center):
        return Estimate(center, center, center, confidence)
    if count == 1:
        return Estimate(center, -np.inf, np.inf, confidence)
    half = special.stdtrit(count - 1, 0.5 + confidence / 2) * per_problem.std(ddof=1) / np.sqrt(count)
    return Estimate(center, center - half, center + half, confidence)


def _share(hits: Values, confidence: float) -> Estimate:
    """Share of hits: exact without replicates, else Student's, widened near 0 and 1, where that is too narrow."""
    problems, replicates = hits.shape
    share = hits.mean()
    exact = _clopper_pearson(share * problems, problems, confidence)
    if replicates == 1:
        return Estimate(share, *exact, confidence)
    average = _average(hits, confidence)
    low, high = max(average.low, 0.0), min(average.high, 1.0)
    if min(share, 1 - share) * problems < 10:
        low, high = min(low, exact[0]), max(high, exact[1])
    return Estimate(share, low, high, confidence)


def _clopper_pearson(successes: float, trials: int, confidence: float) -> tuple[float, float]:
    """The exact interval for a probability."""
    tail = (1 - confidence) / 2
    return float(lower_limit(successes, trials, tail)), float(upper_limit(successes, trials, tail))


def _levels_around(values: Values, value: float, level: float, confidence: float) -> tuple[int, int]:
    """Ranks of the order statistics that enclose a quantile with the given confidence."""
    problems, replicates = values.shape
    alpha = 1 - confidence
    if replicates == 1:
        cumulative = special.bdtr(np.arange(problems + 1), problems, level)
        low, high = np.searchsorted(cumulative, [alpha / 2, 1 - alpha / 2])
        return int(low), int(high) + 1
    spread = (values <= value).mean(axis=1).std(ddof=1) / np.sqrt(problems) if problems > 1 else np.inf
    half = special.ndtri(1 - alpha / 2) * spread
    count = values.size
    return int(np.floor(max(count * (level - half), 0))), int(np.ceil(min(count * (level + half), count))) + 1
