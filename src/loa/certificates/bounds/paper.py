r"""The paper's two theorems (section 5, proofs in appendix G), exactly as stated, and the first with a sharp constant.

All hold with probability at least \(1-\delta\) over the draw of N problems, simultaneously for all posteriors
\(\rho \ll \pi\). Assumptions: the problems are independent draws of one distribution; the prior π, the parameter λ
and the cap were fixed without them. Of these the code checks only what it is given: ranges and finiteness.

Arguments may be arrays that broadcast; a number comes back for numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...messages.arguments import array_of_numbers
from .inputs import check_fraction, check_kl, check_positive, check_whole
from .rounding import round_up


def paper_bound(empirical: Any, kl: Any, num_problems: Any, lam: Any, delta: float, cap: float) -> Any:
    r"""Generalization of performance functionals (theorem of section 5.1; stopping time, contraction: its corollaries).

    \[ R(\rho) \le \hat R(\rho) + \frac{\mathrm{KL}(\rho\|\pi) + \frac{\lambda^2}{2N}\varphi_{\max}^2
       + \log\frac1\delta}{\lambda} \]

    It is not cut off at the cap: a value above the cap says that the theorem says nothing.

    Arguments:
        empirical: \(\hat R(\rho) \in [0, \varphi_{\max}]\), the average over problems and posterior.
        kl: the divergence of posterior from prior.
        num_problems: the number of problems N.
        lam: λ > 0, fixed beforehand, on the scale of one over the functional; see `paper_lambda`.
        delta: the probability of failure allowed, in (0, 1).
        cap: the largest possible value, \(\varphi_{\max}\).

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> round(paper_bound(250.0, kl=2.0, num_problems=1000, lam=0.2, delta=0.05, cap=500.0), 2)
    299.98
    """
    return _hoeffding(empirical, kl, num_problems, lam, delta, cap, 1 / 2)


def sharp_bound(empirical: Any, kl: Any, num_problems: Any, lam: Any, delta: float, cap: float) -> Any:
    r"""The paper's bound with the sharp constant of Hoeffding's lemma.

    The lemma is used on \([0, \varphi_{\max}]\), half the length that the paper's proof uses.

    \[ R(\rho) \le \hat R(\rho) + \frac{\mathrm{KL}(\rho\|\pi) + \frac{\lambda^2}{8N}\varphi_{\max}^2
       + \log\frac1\delta}{\lambda} \]

    Arguments:
        empirical: the average over problems and posterior.
        kl: the divergence of posterior from prior.
        num_problems: the number of problems N.
        lam: λ, fixed beforehand.
        delta: the probability of failure allowed, in (0, 1).
        cap: the largest possible value.

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> round(sharp_bound(250.0, kl=2.0, num_problems=1000, lam=0.4, delta=0.05, cap=500.0), 2)
    274.99
    """
    return _hoeffding(empirical, kl, num_problems, lam, delta, cap, 1 / 8)


def catoni_bound(empirical: Any, kl: Any, num_problems: Any, lam: Any, delta: float) -> Any:
    r"""Generalization of trajectory properties (theorem of section 5.4), for indicators.

    \[ P(\rho) \le \Phi^{-1}_{\lambda/N}\!\Big(\hat P(\rho) + \frac{\mathrm{KL}(\rho\|\pi)
       + \log\frac1\delta}{\lambda}\Big), \qquad \Phi_a^{-1}(q) = \frac{1-e^{-aq}}{1-e^{-a}} \]

    \(\Phi_a\) maps the unit interval onto itself; beyond it the bound is 1. It bounds the probability of an event from
    above: for success, bound that of failure.

    Arguments:
        empirical: the average over problems and posterior.
        kl: the divergence of posterior from prior.
        num_problems: the number of problems N.
        lam: λ, fixed beforehand.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> round(catoni_bound(0.01, kl=2.0, num_problems=1000, lam=1000.0, delta=0.05), 4)
    0.0235
    """
    empirical = array_of_numbers("empirical", empirical)
    if not ((empirical >= 0) & (empirical <= 1)).all():
        raise ValueError(f"empirical must be a probability, got {empirical}.")
    check_whole("num_problems", num_problems)
    check_positive("lam", lam)
    complexity = check_kl(kl) - np.log(check_fraction("delta", delta))
    scale = np.divide(lam, num_problems)
    return round_up(np.expm1(-(scale * empirical + complexity / num_problems)) / np.expm1(-scale), 1.0)


def paper_lambda(kl: float, num_problems: int, delta: float, cap: float, *, sharp: bool = False) -> float:
    r"""The λ at which the paper's bound is smallest for an anticipated divergence.

    It is \(\sqrt{2 N L} / \varphi_{\max}\).

    Here \(L = \mathrm{KL} + \log\frac1\delta\) with a divergence guessed beforehand (from prior problems), never the
    one that results: λ must not depend on the posterior problems. With the sharp constant it is twice as large.

    Arguments:
        kl: the divergence of posterior from prior.
        num_problems: the number of problems N.
        delta: the probability of failure allowed, in (0, 1).
        cap: the largest possible value.
        sharp: whether Hoeffding's lemma is used with its sharp constant.

    Returns:
        λ.

    >>> round(paper_lambda(2.0, 1000, 0.05, 500.0), 3)
    0.2
    """
    check_whole("num_problems", num_problems)
    check_positive("cap", cap)
    complexity = check_kl(kl) - np.log(check_fraction("delta", delta))
    return float(np.sqrt(2 * num_problems * complexity) / cap * (2 if sharp else 1))


def catoni_lambda(empirical: float, kl: float, num_problems: int, delta: float) -> float:
    """The λ at which the bound on a property is smallest when share and divergence are as anticipated.

    Arguments:
        empirical: the share of problems with the property that is expected, from prior problems.
        kl: the divergence expected. A guess is enough: the bound is flat around its best λ.
        num_problems: the number of problems N.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        λ.

    >>> lam = catoni_lambda(0.01, kl=2.0, num_problems=1000, delta=0.05)
    >>> 800 < lam < 900
    True
    """
    best, reach = 0.0, 9.0
    for _ in range(4):
        candidates = np.clip(np.linspace(best - reach, best + reach, 17), -9.0, 3.0)
        bounds = catoni_bound(empirical, kl, num_problems, num_problems * np.exp(candidates), delta)
        best, reach = float(candidates[np.argmin(bounds)]), reach / 8
    return float(num_problems * np.exp(best))


def _hoeffding(empirical: Any, kl: Any, num_problems: Any, lam: Any, delta: float, cap: float, constant: float) -> Any:
    empirical = array_of_numbers("empirical", empirical)
    check_positive("cap", cap)
    check_positive("lam", lam)
    check_whole("num_problems", num_problems)
    if not ((empirical >= 0) & (empirical <= cap)).all():
        raise ValueError(f"empirical must lie between 0 and the cap {cap:.6g}, got {empirical}.")
    complexity = check_kl(kl) - np.log(check_fraction("delta", delta))
    return round_up(empirical + complexity / lam + constant * np.multiply(lam, cap) / num_problems * cap)
