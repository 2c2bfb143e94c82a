r"""An upper bound for the mean of a bounded variable by betting: the default for the deployed algorithm.

For a hypothetical mean m, a gambler with wealth one bets that the values (in [0, 1]) lie below m: his wealth is
multiplied by \(1 + b_t (m - X_t)\), with a bet \(0 \le b_t \le 1/(1-m)\) that depends on earlier values only. If the
mean is m or larger, wealth is a non-negative supermartingale, so that \(P(W_N(m) \ge 1/\delta) \le \delta\) by Markov's
inequality, *whatever the rule for the bets*. A hypothesis that has made the gambler so rich is rejected.

**The rule for the bets** is the sequential target recalculation of Voráček and Orabona (STaR-Bets, 2025): with s values
still to come and a second moment \(S_t\) of \(X - m\) as estimated so far,
\[ b_t = \sqrt{2\,(\log\tfrac1\delta - \log W_t) / (s\,S_t)}, \]
which would just reach the target if all went as expected. Their estimate of \(S_t\) is replaced by the empirical one
plus a Bernstein margin, never more than the largest possible m(1-m); this is tighter on all the examples of our
tests. They randomize the last step; we do not, so that the same values always give the same bound.

**From hypotheses to a bound.** m runs over one fixed grid \(0 = m_0 < \dots < m_K = 1\), independent of the data (and
finest, like \(\sin^2\), near 0 and 1). Let \(m_k \le \mu < m_{k+1}\): only the true hypothesis "the mean is at least
\(m_k\)" must survive, and then the point of the grid after the largest survivor is above μ. One hypothesis is at stake,
so nothing is lost to the number of them, and monotonicity of \(W_N(m)\) is not needed.

**Fewer points to look at.** One percent of δ is spent on Chernoff's bound
\(\mathrm{kl}(\bar X\|\mu) \le \frac1N\log\frac{100}\delta\), above which no point of the grid need be tried, and one
percent on betting with every 64th point of the grid, which lowers this limit further; betting on all points is done
with the rest. By the union bound the three hold together with probability \(1-\delta\).

**The order of the values** matters to the gambler. They are taken in one fixed shuffled order that depends on their
number only: this changes nothing for independent values, and saves those who sorted them first.

Assumptions: independent problems of one distribution; their number and the cap fixed beforehand; values within [0, cap]
(checked).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .inputs import Array, check_fraction, per_problem
from .pac_bayes_kl import kl_inverse
from .rounding import round_up

GRID_SIZE = 2**15
STRIDE = 64
SHARES = {"chernoff": 0.01, "coarse": 0.01, "fine": 0.98}
LARGEST_BET = 1 - 1e-6
MOST_BETS = 4096


def betting_bound(values: Any, delta: float, cap: float, prior_values: Any = None) -> float:
    """The smallest bound on the mean that the gambler can defend, valid with probability 1 - delta.

    Arguments:
        values: (problem,) or (problem, replicate), held-out; replicates of a problem are averaged.
        delta: the probability of failure allowed.
        cap: the largest value there can be.
        prior_values: values on prior problems, disjoint from the others; they make the first bets better.

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> values = np.tile([100.0, 300.0], 500)
    >>> round(betting_bound(values, delta=0.05, cap=500.0), 1)
    204.6
    """
    check_fraction("delta", delta)
    shares = shuffled(per_problem(values, cap))
    known = np.zeros(0) if prior_values is None else per_problem(prior_values, cap)
    if shares.mean() >= 1:
        return float(cap)
    highest = kl_inverse(shares.mean(), -np.log(SHARES["chernoff"] * delta) / len(shares))
    highest = _lowered(highest, STRIDE, shares, known, SHARES["coarse"] * delta)
    highest = _lowered(highest, 1, shares, known, SHARES["fine"] * delta)
    return round_up(highest * cap, cap)


def lower_betting_bound(values: Any, delta: float, cap: float, prior_values: Any = None) -> float:
    """A lower bound on the mean, valid with probability 1 - delta: the upper bound of what is missing to the cap.

    Arguments:
        values: values on held-out problems, one per problem.
        delta: the probability of failure allowed, in (0, 1).
        cap: the largest possible value.
        prior_values: values on prior problems, disjoint from the others; they make the first bets better.

    Returns:
        The bound, which holds with probability 1 - delta.

    >>> values = np.tile([100.0, 300.0], 500)
    >>> round(lower_betting_bound(values, delta=0.05, cap=500.0), 1)
    194.0
    """
    missing = 1 - per_problem(values, cap)
    known = None if prior_values is None else 1 - per_problem(prior_values, cap)
    return max(0.0, (1 - betting_bound(missing, delta, 1.0, known)) * cap * (1 - 1e-12))


def grid_point(index: Any) -> Any:
    r"""\(m_k = \sin^2(\frac\pi2 \frac kK)\), the grid of hypothetical means."""
    return np.sin(np.pi / 2 * np.minimum(index, GRID_SIZE) / GRID_SIZE) ** 2


def log_wealth(values: Array, means: Array, delta: float, known: Array) -> Array:
    """The logarithm of the gambler's final wealth, for each hypothetical mean in (0, 1).

    For very many values a bet is kept for several rounds, which is as valid and saves time.

    Arguments:
        values: shares of the cap, (problem, 1), or (problem, hypothesis) for as many samples as hypotheses.
        means: (hypothesis,).
        known: shares of the cap on other problems, known beforehand, (problem,).
    """
    target = -np.log(delta)
    largest_bet = LARGEST_BET / (1 - means)
    possible = means * (1 - means)
    wealth = np.zeros_like(means)
    squares, seen = ((known[:, None] - means) ** 2).sum(axis=0), len(known)
    length = -(-len(values) // MOST_BETS)
    for start in range(0, len(values), length):
        moment = _second_moment(squares, seen, means, possible)
        missing = np.maximum(target - wealth, 0.0)
        bet = np.minimum(np.sqrt(2 * missing / ((len(values) - start) * moment)), largest_bet)
        distance = means - values[start : start + length]
        wealth += np.log1p(bet * distance).sum(axis=0)
        squares += (distance**2).sum(axis=0)
        seen += len(distance)
    return wealth


def shuffled(shares: Array) -> Array:
    """In one fixed order for each number of values (of a generator whose numbers never change)."""
    return shares[np.random.RandomState(0).permutation(len(shares))]


def _second_moment(squares: Array, seen: int, means: Array, possible: Array) -> Array:
    """What the second moment of X - m may well be, from the sum of squares so far."""
    if seen == 0:
        return possible
    average, margin = squares / seen, (1 - means) ** 2 / seen
    return np.minimum(average + np.sqrt(2 * average * margin) + margin, possible)


def _lowered(highest: float, stride: int, shares: Array, known: Array, delta: float) -> float:
    """The point after the largest survivor among every stride-th point of the grid up to `highest`, if that is lower.

    The points are tried downward, some at a time, until one survives; the point 0 always does.
    """
    rejected_from = -np.log(delta) * (1 + 1e-9) + 1e-9
    last = GRID_SIZE // stride - 1
    top = min(int(np.arcsin(np.sqrt(highest)) / (np.pi / 2) * GRID_SIZE / stride) + 1, last)
    some = int(np.clip(2**21 // len(shares), 32, 512))
    while top > 0:
        indices = np.arange(max(top - some, 0) + 1, top + 1)
        survives = log_wealth(shares[:, None], grid_point(stride * indices), delta, known) < rejected_from
        if survives.any():
            return min(highest, float(grid_point(stride * (indices[survives].max() + 1))))
        top = int(indices[0]) - 1
    return min(highest, float(grid_point(stride)))
