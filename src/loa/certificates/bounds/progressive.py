r"""Choose and certify on the same problems, for few of them: each problem is solved by what earlier ones have chosen.

Splitting a few hundred problems into some to choose by and others to certify on wastes both parts. Instead, let
\(h_t\) be the candidate that was best on the first t - 1 problems, and \(X_t = \varphi(h_t, \theta_t) / \varphi_{\max}
\in [0, 1]\). Problem t has had no part in the choice of \(h_t\), so that \(X_t\) has the conditional mean \(R(h_t)\),
and for a fixed \(\lambda \in (0, 1)\) the product \(\prod_t (1-\lambda X_t) / (1-\lambda R(h_t))\) is a non-negative
martingale. By Markov's inequality and the convexity of \(-\log(1-\lambda\mu)\), with probability at least
\(1-\delta\),
\[ \frac1n\sum_t R(h_t) \le \frac1\lambda\Big[1 - \exp\Big(\frac1n\sum_t\log(1-\lambda X_t)
   - \frac1n\log\tfrac1\delta\Big)\Big]: \]
the product bound without a divergence, whatever the number of candidates and however they were chosen. The left side is
the mean of an algorithm that is drawn from \(h_1, \dots, h_n\) for each problem (Blum, Kalai and Langford, 1999,
progressive validation). The first problems only choose, \(h_1\) among them, and λ.

Assumptions: independent problems, in an order that does not depend on their values; candidates, the number of first
problems and the cap fixed without them; values within [0, cap] (checked).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .betting import shuffled
from .inputs import Array, per_candidate
from .product import choose_lambda, product_bound


class Progress(NamedTuple):
    """What problem after problem has chosen, and what came of it.

    Fields:
        chosen: the candidate that each problem but the first ones was solved by.
        values: its values there, as shares of the cap.
        lam: λ, from the first problems.
    """

    chosen: Array
    values: Array
    lam: float


def progressive_bound(values: Any, cap: float, first: int, delta: float) -> float:
    """The bound on the mean over unseen problems and over what was chosen.

    Arguments:
        values: (problem, candidate).
        cap: the largest possible value.
        first: how many problems only choose.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> values = np.tile([[100.0, 120.0], [300.0, 320.0]], (500, 1))
    >>> round(progressive_bound(values, cap=500.0, first=100, delta=0.05), 1)
    208.8
    """
    found = progress(values, cap, first, delta)
    return product_bound(found.values[:, None] * cap, [1.0], 0.0, found.lam, delta, cap)


def progress(values: Any, cap: float, first: int, delta: float) -> Progress:
    """Choose the best candidate so far before every problem, in the fixed shuffled order of `betting`."""
    shares = shuffled(per_candidate(values, cap))
    best = np.argmin(np.cumsum(shares, axis=0), axis=1)[first - 1 : -1]
    lam = choose_lambda(shares[:first, best[:1]], 0.0, len(best), delta, 1.0)
    return Progress(best, shares[first:][np.arange(len(best)), best], lam)
