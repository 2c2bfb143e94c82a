r"""The product bound: the default for a posterior (not in the paper; it is sharper than the paper's two theorems).

For values \(X_i(h) \in [0, 1]\) (divided by the cap) with mean \(\mu_h\) and a fixed \(\lambda \in (0, 1)\),
the product \(\prod_i (1-\lambda X_i(h)) / (1-\lambda\mu_h)\) is a non-negative martingale of mean one for each
candidate h. Mixing over the prior, Markov's inequality, the Donsker–Varadhan formula and the convexity of
\(-\log(1-\lambda\mu)\) give, with probability at least \(1-\delta\) and for all posteriors ρ simultaneously,

\[ R(\rho) \le \frac1\lambda\Big[1 - \exp\Big(\frac1N\sum_i \mathbb E_\rho\log(1-\lambda X_i) - \frac LN\Big)\Big],
   \qquad L = \mathrm{KL}(\rho\|\pi) + \log\tfrac1\delta. \]

By Ville's inequality the same λ and δ serve for all N simultaneously. On indicators it is Catoni's bound with
\(\lambda_{\text{Catoni}} = -N\log(1-\lambda)\), elsewhere it is smaller.

Assumptions: independent problems; candidates, prior, λ and cap fixed without them; values within [0, cap] (checked).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from ...algorithms.weights import as_distribution, reweighed
from ...problems.problem_class import whole_number
from .inputs import Array, check_fraction, check_kl, one_per_candidate, per_candidate
from .lambda_grid import Choice, best_on_grid
from .rounding import round_up

LARGEST_LOG_ODDS = 14.0
"""λ is chosen from a range whose ends have these log odds."""


def product_bound(values: Any, posterior: Any, kl: float, lam: float, delta: float, cap: float) -> float:
    """The bound on the mean over unseen problems and over the posterior.

    Arguments:
        values: (problem, candidate), on the posterior problems.
        posterior: ρ, one probability per candidate; it may depend on the values.
        kl: KL(ρ‖π), from `kl_divergence`.
        lam: λ in (0, 1), fixed beforehand, for example by `choose_lambda` on prior problems.
        delta: the probability of failure allowed.
        cap: the largest value there can be.

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> values = np.tile([[100.0], [300.0]], (500, 1))
    >>> round(product_bound(values, [1.0], kl=0.0, lam=0.2, delta=0.05, cap=500.0), 1)
    209.0
    """
    shares = per_candidate(values, cap)
    posterior = one_per_candidate("posterior", posterior, shares)
    check_kl(kl)
    check_fraction("delta", delta)
    check_fraction("lam", lam)
    return _bound(_mean_logarithm(shares, posterior, lam), kl, len(shares), lam, delta, cap)


def product_bound_on_grid(
    values: Any, posterior: Any, kl: float, grid: Sequence[float], delta: float, cap: float
) -> Choice:
    """The smallest product bound over a grid of λ that was fixed beforehand, at the price log K.

    Arguments:
        values: (problem, candidate), on the posterior problems.
        posterior: one probability per candidate.
        kl: the divergence of posterior from prior.
        grid: values of λ, fixed beforehand.
        delta: the probability of failure allowed, in (0, 1).
        cap: the largest possible value.

    Returns:
        The smallest bound and its λ.

    >>> values = np.tile([[100.0], [300.0]], (500, 1))
    >>> choice = product_bound_on_grid(values, [1.0], 0.0, (0.05, 0.1, 0.2, 0.4), 0.05, 500.0)
    >>> round(choice.bound, 1), choice.lam
    (209.3, 0.4)
    """
    shares = per_candidate(values, cap)
    posterior = one_per_candidate("posterior", posterior, shares)
    check_kl(kl)

    def bound(lam: float, share: float) -> float:
        check_fraction("lam", lam)
        return _bound(_mean_logarithm(shares, posterior, lam), kl, len(shares), lam, share, cap)

    return best_on_grid(bound, grid, delta)


def gibbs_posterior(values: Any, prior: Any, lam: float, cap: float) -> Array:
    r"""The posterior at which the product bound is smallest.

    It is \(\rho \propto \pi \prod_i (1-\lambda X_i)\).

    Arguments:
        values: (problem, candidate), on the posterior problems.
        prior: one probability per candidate.
        lam: λ in (0, 1), fixed beforehand.
        cap: the largest possible value.

    Returns:
        One probability per candidate.

    >>> gibbs_posterior([[1.0, 2.0], [1.0, 2.0]], [0.5, 0.5], lam=0.5, cap=2.0).round(3)
    array([0.692, 0.308])
    """
    shares = per_candidate(values, cap)
    prior = one_per_candidate("prior", prior, shares)
    check_fraction("lam", lam)
    return reweighed(prior, np.log1p(-lam * shares).sum(axis=0))


def kl_divergence(posterior: Any, prior: Any) -> float:
    r"""The divergence of a posterior from a prior, refused where it is infinite.

    \(\mathrm{KL}(\rho\|\pi) = \sum_h \rho(h)\log\frac{\rho(h)}{\pi(h)}\).

    Arguments:
        posterior: one probability per candidate.
        prior: one probability per candidate.

    Returns:
        The divergence, rounded up.

    >>> round(kl_divergence([1.0, 0.0], [0.25, 0.75]), 4)
    1.3863
    """
    posterior, prior = as_distribution(posterior, name="posterior"), as_distribution(prior, name="prior")
    if posterior.shape != prior.shape:
        raise ValueError(f"posterior and prior need the same candidates, got {posterior.size} and {prior.size}.")
    outside = (posterior > 0) & (prior == 0)
    if outside.any():
        raise ValueError(
            f"the posterior puts mass {posterior[outside].sum():.3g} where the prior has none, so KL is infinite and "
            "nothing can be certified: give every candidate some prior mass, or drop those candidates."
        )
    return round_up(max(special.rel_entr(posterior, prior).sum(), 0.0))


def choose_lambda(values: Any, kl: float, num_problems: int, delta: float, cap: float, weights: Any = None) -> float:
    """The λ that would be best if the posterior problems looked like these prior problems.

    Arguments:
        values: (problem, candidate), on prior problems only.
        kl: the divergence anticipated. A guess is enough: the bound is flat around its best λ.
        num_problems: how many posterior problems there will be.
        delta: the probability of failure allowed, in (0, 1).
        cap: the largest possible value.
        weights: the posterior anticipated; equal weights if not given.

    Returns:
        λ in (0, 1).

    >>> lam = choose_lambda(np.tile([[100.0], [300.0]], (50, 1)), 2.0, 1000, 0.05, 500.0)
    >>> 0.2 < lam < 0.5
    True
    """
    shares = per_candidate(values, cap)
    count = shares.shape[1]
    weights = one_per_candidate("weights", np.full(count, 1 / count) if weights is None else weights, shares)
    check_kl(kl)
    whole_number("num_problems", num_problems)
    check_fraction("delta", delta)

    def bound(log_odds: float) -> float:
        lam = special.expit(log_odds)
        return _bound(_mean_logarithm(shares, weights, lam), kl, num_problems, lam, delta, np.inf)

    best, reach = 0.0, LARGEST_LOG_ODDS
    for _ in range(4):
        candidates = np.clip(np.linspace(best - reach, best + reach, 17), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        best, reach = min(candidates, key=bound), reach / 8
    return float(special.expit(best))


def _mean_logarithm(shares: Array, weights: Array, lam: float) -> float:
    """The average over problems and candidates of log(1 - λX)."""
    support = weights > 0
    return float(np.log1p(-lam * shares[:, support]).mean(axis=0) @ weights[support])


def _bound(mean_logarithm: float, kl: float, num_problems: int, lam: float, delta: float, cap: float) -> float:
    complexity = (kl - np.log(delta)) / num_problems
    unscaled = -np.expm1(mean_logarithm - complexity) / lam
    return round_up(unscaled if np.isinf(cap) else unscaled * cap, cap)
