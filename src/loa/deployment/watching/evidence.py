r"""Evidence that a stream is no longer like the sample it began with: a conformal test martingale.

Let \(Z_1, \dots, Z_m\) be the calibration sample and \(Z_{m+1}, \dots\) the stream. With independent \(U_n\) uniform
on [0, 1], the rank among *all* numbers so far,

\[ p_n = \frac{\#\{i \le n : Z_i > Z_n\} + U_n \#\{i \le n : Z_i = Z_n\}}{n}, \]

is uniform on [0, 1] and independent of \(p_{m+1}, \dots, p_{n-1}\) as long as all numbers are exchangeable, whatever m
and the distribution are (Vovk, 2003). A gambler therefore bets with any density \(f_n\) on [0, 1] that depends on
earlier ones only: the wealth \(\prod_n f_n(p_n)\) is a martingale, and by Ville's inequality it *ever* reaches 1/α with
a probability of at most α.

**The density** is a mixture of beta densities: the uniform one, which abstains, and others for numbers that have become
larger, smaller, more extreme or less extreme. Their weights are multiplied by their densities at each \(p_n\), as in
Bayes' rule, and a share 1/(n + 10) of them is given back to where they began, so that a change after a long calm is
noticed as well (Herbster and Warmuth's fixed share).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from .ranks import Ranks

SHAPES = (
    (1.0, 1.0),
    *((a, 1.0) for a in (0.2, 0.4, 0.7)),
    *((1.0, b) for b in (0.2, 0.4, 0.7)),
    *((a, a) for a in (0.4, 0.7)),
    *((a, a) for a in (2.0, 6.0)),
)
"""The shapes of the beta densities. The first is uniform; those with a < 1 are large where p is small."""

LEAST = 1e-12
"""p-values are kept this far from 0 and 1, where some densities are infinite."""

_POWERS, _OTHERS = np.array(SHAPES).T - 1.0
_LOG_SCALES = -special.betaln(*np.array(SHAPES).T)
_PRIOR = np.array([0.5, *[0.5 / (len(SHAPES) - 1)] * (len(SHAPES) - 1)])


class Evidence:
    """The gambler of one quantity: the ranks so far, the weights of the densities and the logarithm of the wealth."""

    def __init__(self, ranks: Ranks, weights: np.ndarray | None = None, log_wealth: float = 0.0, seen: int = 0):
        self.ranks, self.log_wealth, self.seen = ranks, log_wealth, seen
        self.weights = _PRIOR.copy() if weights is None else np.asarray(weights, float)

    def add(self, value: float, uniform: float) -> float:
        """Take in one more number, with a uniform one that decides ties; the p-value."""
        smaller, equal = self.ranks.place(value)
        self.ranks.add(value)
        larger = self.ranks.size - 1 - smaller - equal
        p = (larger + uniform * (equal + 1)) / self.ranks.size
        self._bet(min(max(p, LEAST), 1 - LEAST))
        return p

    def _bet(self, p: float) -> None:
        densities = np.exp(_LOG_SCALES + _POWERS * math.log(p) + _OTHERS * math.log1p(-p))
        won = self.weights * densities
        gain = float(won.sum())
        share = 1.0 / (self.seen + 10)
        self.weights = (1 - share) / gain * won + share * _PRIOR
        self.log_wealth += math.log(gain)
        self.seen += 1
