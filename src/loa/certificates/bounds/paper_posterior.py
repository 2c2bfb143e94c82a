r"""The posterior at which the paper's theorems are smallest, in closed form, and the λ that belongs to it (section 5).

At a fixed λ both theorems are smallest at the Gibbs posterior \(\rho \propto \pi \exp(-\lambda \hat R)\), where
\(\hat R(h)\) is the average of a candidate over the posterior problems (for the second theorem: its share of failures).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from ...algorithms.weights import reweighed
from .inputs import Array, check_fraction, check_positive, check_whole, one_per_candidate, per_candidate
from .paper import paper_lambda

WIDEST = 32.0
"""λ is looked for from the best one without divergence to this many times as much."""


def paper_posterior(values: Any, prior: Any, lam: float, cap: float) -> Array:
    r"""The posterior at which the paper's theorem on performance functionals is smallest.

    It is \(\rho \propto \pi \exp(-\lambda \hat R)\). For the theorem on trajectory properties, give failures as values,
    with the cap 1.

    Arguments:
        values: (problem, candidate), on the posterior problems.
        prior: one probability per candidate.
        lam: λ > 0, on the scale of one over the functional, fixed beforehand; see `choose_paper_lambda`.
        cap: the largest possible value.

    Returns:
        One probability per candidate.

    >>> paper_posterior([[10.0, 20.0], [30.0, 40.0]], [0.5, 0.5], lam=0.1, cap=50.0).round(3)
    array([0.731, 0.269])
    """
    shares = per_candidate(values, cap)
    prior = one_per_candidate("prior", prior, shares)
    check_positive("lam", lam)
    return reweighed(prior, -lam * cap * shares.mean(axis=0))


def choose_paper_lambda(
    values: Any, num_problems: int, delta: float, cap: float, prior: Any = None, *, sharp: bool = False
) -> float:
    r"""The λ at which the paper's bound would be smallest if the posterior problems looked like these prior problems.

    At its own Gibbs posterior the bound is \(-\frac1\lambda \log \pi[\exp(-\lambda \hat R)] +
    \frac{\lambda}{2N}\varphi_{\max}^2 + \frac1\lambda\log\frac1\delta\); this is minimized over λ.

    Arguments:
        values: (problem, candidate), on prior problems only.
        num_problems: how many posterior problems there will be.
        delta: the probability of failure allowed, in (0, 1).
        cap: the largest possible value.
        prior: one probability per candidate; equal ones by default.
        sharp: whether Hoeffding's lemma is used with its sharp constant.

    Returns:
        λ.

    >>> values = np.tile([[100.0, 110.0], [300.0, 310.0]], (50, 1))
    >>> 0.15 < choose_paper_lambda(values, 1000, 0.05, 500.0) < 0.17
    True
    """
    shares = per_candidate(values, cap)
    count = shares.shape[1]
    prior = one_per_candidate("prior", np.full(count, 1 / count) if prior is None else prior, shares)
    check_whole("num_problems", num_problems)
    check_fraction("delta", delta)
    averages, constant = cap * shares.mean(axis=0), 1 / 8 if sharp else 1 / 2
    lowest = paper_lambda(0.0, num_problems, delta, cap, sharp=sharp)

    def bound(lam: float) -> float:
        free = -np.log(delta) - np.asarray(special.logsumexp(-lam * averages, b=prior))
        return float(free / lam + constant * lam * cap * cap / num_problems)

    best, reach = 0.5 * np.log(WIDEST), 0.5 * np.log(WIDEST)
    for _ in range(4):
        candidates = np.clip(np.linspace(best - reach, best + reach, 17), 0.0, np.log(WIDEST))
        best, reach = min(candidates, key=lambda power: bound(lowest * np.exp(power))), reach / 8
    return float(lowest * np.exp(best))
