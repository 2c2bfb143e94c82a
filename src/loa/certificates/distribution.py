r"""Lower bounds on the whole distribution function: on the share of problems that stay below a value, for every value.

`simple_band`: \(F(x) \ge F_N(x) - \varepsilon\) for all x, with the exact one-sided Kolmogorov–Smirnov width ε.
`tight_band`: the one-sided Berk–Jones band. The k-th of N uniform order statistics has a Beta(k, N-k+1) distribution;
every one is bounded by its quantile at the same small level γ, and γ is such that all hold together with probability
\(1-\delta\). It is much tighter in both tails, where the simple one says nothing.

Assumptions: independent problems, one value for each (checked: no replicates). No cap is needed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from .inputs import Array, check_fraction, one_per_problem

LARGEST_EXACT = 4096
SMALLEST_EXACT = 1e-6


class Band(NamedTuple):
    """For all k simultaneously, at least the share `shares[k]` of all problems has a value of at most `values[k]`."""

    values: Array
    shares: Array

    def at(self, value: float) -> float:
        """The share of problems that are certified to have at most this value.

        >>> round(simple_band(np.arange(100.0), delta=0.05).at(89.0), 3)
        0.779
        """
        rank = int(np.searchsorted(self.values, value, side="right"))
        return float(self.shares[rank - 1]) if rank else 0.0


def simple_band(values: Any, delta: float) -> Band:
    """The empirical distribution function, lowered by the Kolmogorov–Smirnov width.

    Arguments:
        values: values on held-out problems, one per problem.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        The band, at the sorted values.
    """
    ordered = np.sort(one_per_problem(values))
    width = band_width(ordered.size, delta)
    return Band(ordered, np.maximum(np.arange(1, ordered.size + 1) / ordered.size - width, 0.0))


def tight_band(values: Any, delta: float) -> Band:
    """The Berk–Jones band; exact for up to 4096 problems, beyond which a cruder level is used.

    Arguments:
        values: values on held-out problems, one per problem.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        The band, at the sorted values.

    >>> band = tight_band(np.arange(100.0), delta=0.05)
    >>> round(band.at(89.0), 3), round(band.at(99.0), 3)
    (0.788, 0.942)
    """
    ordered = np.sort(one_per_problem(values))
    check_fraction("delta", delta)
    return Band(ordered, _lower_quantiles(ordered.size, berk_jones_level(ordered.size, float(delta))))


def certified_points(values: Any, delta: float, cap: float | None) -> tuple[tuple[float, float], ...]:
    """Pairs (value, share) of the tight band: at least that share of all problems has at most that value.

    Nothing is claimed at the cap, where truncated values hide what is larger.

    >>> certified_points([1.0, 1.0, 2.0], 0.5, cap=2.0)[0][0]
    1.0
    """
    band = tight_band(values, delta)
    last_of_equals = np.append(band.values[1:] > band.values[:-1], True)
    known = last_of_equals & (band.values < (np.inf if cap is None else cap))
    return tuple(zip(band.values[known].tolist(), band.shares[known].tolist(), strict=True))


def median_of(points: tuple[tuple[float, float], ...]) -> float:
    """The first value that at least half of the problems are certified not to exceed; infinite if there is none."""
    return next((value for value, share in points if share >= 0.5), float("inf"))


def band_width(num_problems: int, delta: float) -> float:
    r"""ε with \(P(\sup_x F_N(x) - F(x) \ge \varepsilon) \le \delta\): exact, or Massart's \(\sqrt{\log(1/\delta)/2N}\).

    >>> round(band_width(100, 0.05), 4), round(float(np.log(20) / 200) ** 0.5, 4)
    (0.1207, 0.1224)
    """
    check_fraction("delta", delta)
    massart = np.sqrt(np.log(1 / min(delta, 0.5)) / (2 * num_problems))
    if num_problems > LARGEST_EXACT:
        return float(massart)
    return float(min(special.smirnovi(num_problems, delta) * (1 + 1e-9), massart, 1.0))


@lru_cache(maxsize=64)
def berk_jones_level(num_problems: int, delta: float) -> float:
    r"""The largest γ found at which all order statistics keep above their γ-quantiles, but for δ.

    By false position between δ/N, the union bound, and δ, for the logarithm of \(-\log(1 - \text{probability})\),
    nearly linear in that of γ. A very small δ would be lost in the rounding of the probability, so that the union bound
    is used.
    """
    low, high = delta / num_problems, delta
    if num_problems > LARGEST_EXACT or num_problems == 1 or delta < SMALLEST_EXACT:
        return low

    def rate(level: float) -> float:
        return -np.log(max(never_below(_lower_quantiles(num_problems, level)), 1e-300))

    allowed = -np.log1p(-delta) * (1 - 1e-6)
    below, above = rate(low), rate(high)
    for _ in range(6):
        slope = np.log(above / below) / np.log(high / low)
        middle = float(low * (allowed * (1 - 3e-4) / below) ** (1 / slope))
        found = rate(middle)
        if found <= allowed:
            low, below = middle, found
        else:
            high, above = middle, found
        if below / allowed > 1 - 6e-4:
            break
    return low


def never_below(boundaries: Array) -> float:
    r"""\(P(U_{(k)} \ge l_k \text{ for all } k)\) for the order statistics of as many uniform variables.

    The number of variables below t grows like a Poisson process of rate N conditioned to end at N (Moscovich and
    Nadler 2017): between two boundaries its distribution is convolved with Poisson weights, and cut off where there
    would be too many.

    >>> round(never_below(np.array([0.1, 0.2])), 6)
    0.8
    """
    count = len(boundaries)
    numbers = np.arange(count + 1)
    factorials = special.gammaln(numbers + 1)
    distribution = np.ones(1)
    steps = np.diff(boundaries, prepend=0.0, append=1.0) * count
    for allowed, step in enumerate(steps):
        reach = int(step + 12 * np.sqrt(step) + 30)
        weights = np.exp(special.xlogy(numbers[:reach], step) - step - factorials[:reach])
        distribution = np.convolve(distribution, weights)[: allowed + 1]
    final = np.exp(special.xlogy(count, count) - count - factorials[count])
    return float(min(distribution[-1] / final, 1.0)) if len(distribution) > count else 0.0


def _lower_quantiles(count: int, level: float) -> Array:
    ranks = np.arange(1, count + 1)
    return special.betaincinv(ranks, count - ranks + 1, level) * (1 - 1e-10)
