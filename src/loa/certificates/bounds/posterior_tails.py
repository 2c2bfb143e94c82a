"""Bounds on tails under a posterior, from bounds on means; `posterior_measures` has the goals that they belong to."""

from __future__ import annotations

from typing import Any

import numpy as np

from .inputs import one_per_candidate, per_candidate
from .paper import catoni_bound
from .product import product_bound
from .rounding import round_up

ANTICIPATED_DIVERGENCE = 0.5
"""The divergence of posterior from prior for which λ is chosen; a guess is enough."""


def posterior_cvar(
    values: Any, posterior: Any, kl: float, lam: float, delta: float, level: float, threshold: float, cap: float
) -> float:
    """The bound of `PosteriorCVaR`."""
    room = cap - threshold
    beyond = np.clip(cap * per_candidate(values, cap) - threshold, 0.0, room)
    return round_up(threshold + product_bound(beyond, posterior, kl, lam, delta, room) / (1 - level), cap)


def posterior_tail(
    values: Any, posterior: Any, kl: float, lam: float, delta: float, threshold: float, cap: float
) -> float:
    """The bound of `PosteriorTail`."""
    shares = per_candidate(values, cap)
    above = (np.asarray(values) > threshold) @ one_per_candidate("posterior", posterior, shares)
    return catoni_bound(float(np.clip(above.mean(), 0.0, 1.0)), kl, len(above), lam, delta)


def posterior_quantile(
    values: Any,
    posterior: Any,
    kl: float,
    lam: float,
    delta: float,
    level: float,
    thresholds: tuple[float, ...],
    cap: float,
) -> float:
    """The bound of `PosteriorQuantile`, with what is left of delta for each threshold."""
    enough = (
        each for each in sorted(thresholds) if posterior_tail(values, posterior, kl, lam, delta, each, cap) <= 1 - level
    )
    return float(next(enough, cap))


def quantile_lambda(level: float, num_problems: int, delta: float) -> float:
    r"""The λ at which the largest share of values may exceed the bound on a quantile.

    The theorem gives \(P \le 1 - \beta\) for shares up to
    \(\Phi_{\lambda/N}(1-\beta) - (\mathrm{KL} + \log\frac1\delta)/\lambda\), with a divergence as anticipated.

    Arguments:
        level: β in (0, 1).
        num_problems: N.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        λ, which depends on no values.

    >>> round(quantile_lambda(0.9, 1000, 0.05) / 1000, 1)
    0.3
    """
    ratios = np.geomspace(1e-3, 20.0, 400)
    largest = -np.log1p(np.expm1(-ratios) * (1 - level)) / ratios
    shares = largest - (ANTICIPATED_DIVERGENCE - np.log(delta)) / (ratios * num_problems)
    return float(num_problems * ratios[np.argmax(shares)])
