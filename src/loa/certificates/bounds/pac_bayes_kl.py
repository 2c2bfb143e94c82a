r"""The PAC-Bayes-kl bound of Seeger and Maurer, the classical comparison, and the binary divergence it inverts.

Needs no λ. Assumptions: independent problems, values in [0, cap], prior fixed without them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from ...messages.arguments import array_of_numbers, shown
from .inputs import Array, check_fraction, check_kl, check_positive, check_whole
from .rounding import plain, round_up


def kl_bound(empirical: Any, kl: Any, num_problems: Any, delta: float, cap: float = 1.0) -> Any:
    r"""The PAC-Bayes-kl bound on the mean over a posterior.

    It is the cap times the largest r with

    \[ \mathrm{kl}(\hat R/\varphi_{\max}\,\|\,r)
       \le \frac1N\Big(\mathrm{KL}(\rho\|\pi) + \log\frac{2\sqrt N}\delta\Big). \]

    \(\mathrm{kl}(p\|q)\) is the divergence between two coins. Maurer (2004) for values in [0, 1]: the constant
    \(\sum_k \binom Nk (k/N)^k (1-k/N)^{N-k} \le 2\sqrt N\) holds for every N ≥ 1.

    Arguments:
        empirical: the average over problems and posterior.
        kl: the divergence of posterior from prior.
        num_problems: the number of problems N.
        delta: the probability of failure allowed, in (0, 1).
        cap: the largest possible value.

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> round(kl_bound(250.0, kl=2.0, num_problems=1000, delta=0.05, cap=500.0), 2)
    283.65
    """
    check_positive("cap", cap)
    check_whole("num_problems", num_problems)
    empirical = array_of_numbers("empirical", empirical)
    if not ((empirical >= 0) & (empirical <= cap)).all():
        raise ValueError(f"empirical must lie between 0 and the cap {cap:.6g}, got {empirical}.")
    complexity = check_kl(kl) + np.log(2 * np.sqrt(num_problems) / check_fraction("delta", delta))
    return round_up(np.multiply(kl_inverse(empirical / cap, np.divide(complexity, num_problems)), cap), cap)


def binary_kl(p: Any, q: Any) -> Any:
    r"""\(\mathrm{kl}(p\|q) = p\log\frac pq + (1-p)\log\frac{1-p}{1-q}\).

    >>> float(binary_kl(0.5, 0.5))
    0.0
    """
    p, q = np.asarray(p, float), np.asarray(q, float)
    return special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)


def kl_inverse(p: Any, divergence: Any) -> Any:
    r"""The largest q whose binary divergence from p is at most a given one.

    The q in [p, 1] with \(\mathrm{kl}(p\|q) \le\) the divergence, by bisection, rounded outward.

    Arguments:
        p: in [0, 1].
        divergence: what the binary divergence may be.

    Returns:
        The q, as an array if the arguments are arrays.

    >>> round(kl_inverse(0.0, -np.log(0.9)), 6)
    0.1
    """
    p, divergence = np.broadcast_arrays(array_of_numbers("p", p), array_of_numbers("divergence", divergence))
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p must be a probability, got {shown(p)}.")
    if not (divergence >= 0).all():
        raise ValueError(f"divergence must be a number that is not negative, got {shown(divergence)}.")
    allowed = divergence * (1 + 1e-12) + 1e-15
    low: Array = p.copy()
    high: Array = np.ones_like(p)
    for _ in range(100):
        middle = (low + high) / 2
        inside = binary_kl(p, middle) <= allowed
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return plain(high)
