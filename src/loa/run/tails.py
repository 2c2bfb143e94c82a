"""Certificates of what a run minimizes, where that is a CVaR, a quantile or a tail instead of a mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..algorithms.algorithm import Stack
from ..certificates import (
    CVaR,
    Goal,
    PosteriorCVaR,
    PosteriorGoal,
    PosteriorQuantile,
    PosteriorTail,
    Quantile,
    Tail,
    catoni_lambda,
)
from ..learning import lambda_on
from ..learning.cost import Cost
from ..learning.prior import ANTICIPATED_DIVERGENCE
from ..statistics.quantiles import quantile

ORIGIN = "best on the prior problems"
TRIED = 8
"""The number of values among which the bound on a quantile under the posterior is looked for."""


def tail_numbers(
    cost: Cost, values: np.ndarray, knee: float, cap: float, weighted: Stack, size: int, share: float
) -> tuple[float | None, tuple[float, ...]]:
    """What must be fixed on the prior problems: λ of a CVaR or a tail, or the thresholds of a quantile.

    Arguments:
        cost: what is minimized.
        values: of its functional, (candidate, problem, replicate), on the prior problems.
        knee: its threshold, or its quantile on these problems.
        cap: the largest value.
        weighted: the candidates with their prior weights.
        size: the number of posterior problems.
        share: the failure probability of the certificate.
    """
    if cost.measure == "cvar" and knee < cap:
        beyond = np.maximum(values - knee, 0.0)
        return lambda_on(weighted, beyond, cap=cap - knee, num_posterior=size, failure_probability=share), ()
    if cost.measure == "tail" and knee < cap:
        expected = float((values > knee).mean())
        return catoni_lambda(expected, ANTICIPATED_DIVERGENCE, size, share), ()
    if cost.measure != "quantile" or cost.level is None:
        return None, ()
    levels = cost.level + (1 - cost.level) * np.arange(TRIED) / TRIED
    return None, tuple(sorted({quantile(values, float(level)) for level in levels}))


def tail_goals(
    cost: Cost, cap: float, knee: float | None, lam: Mapping[str, float], thresholds: Sequence[float]
) -> tuple[dict[str, Goal], dict[str, PosteriorGoal]]:
    """Goals for the deployed algorithm and for the posterior, of the very measure that is minimized.

    Arguments:
        cost: what is minimized.
        cap: the largest value of its functional.
        knee, lam, thresholds: as the prior problems gave them.
    """
    name, words = cost.functional, str(cost)
    posterior, known = f"posterior {words}", lam.get(words)
    if cost.measure == "quantile" and cost.level is not None:
        tried = tuple(thresholds)
        under: Any = {posterior: PosteriorQuantile(name, cost.level, tried, cap)} if tried else {}
        return {words: Quantile(name, cost.level, cap)}, under
    if knee is None or not knee < cap:
        return {}, {}
    if cost.measure == "cvar" and cost.level is not None:
        under = {} if known is None else {posterior: PosteriorCVaR(name, cost.level, knee, cap, known, ORIGIN)}
        return {words: CVaR(name, cost.level, knee, cap)}, under
    if cost.measure == "tail":
        under = {} if known is None else {posterior: PosteriorTail(name, knee, cap, known, ORIGIN)}
        return {words: Tail(name, knee, cap)}, under
    return {}, {}
