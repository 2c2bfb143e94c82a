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

LARGEST_EXACT = 2**14
"""Up to this number of problems every order statistic is bounded."""
LARGEST_SMIRNOV = 4096
"""Up to this number the Kolmogorov–Smirnov width is computed exactly; Massart's is as good beyond."""
LARGEST_LAG = 0.065
"""Beyond it, one at least in each part of a standard deviation of this size."""
SMALLEST_EXACT = 1e-6
NEGLIGIBLE = 1e-18
"""Probabilities that are left out of a distribution, compared to its largest."""


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
    """The Berk–Jones band; exact for up to 16384 problems, and within 2% of that for up to a million.

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
    shares, ranks = _boundaries(ordered.size, berk_jones_level(ordered.size, float(delta)))
    latest = np.searchsorted(ranks, np.arange(1, ordered.size + 1), side="right")
    return Band(ordered, np.append(0.0, shares)[latest])


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
    if num_problems > LARGEST_SMIRNOV:
        return float(massart)
    return float(min(special.smirnovi(num_problems, delta) * (1 + 1e-9), massart, 1.0))


@lru_cache(maxsize=64)
def berk_jones_level(num_problems: int, delta: float) -> float:
    r"""The largest γ found at which the order statistics keep above their γ-quantiles, but for δ.

    By false position, from δ/20 and δ/10, for the logarithm of \(-\log(1 - \text{probability})\), which is nearly
    linear in that of γ. A very small δ would be lost in the rounding of the
    probability, so that the union bound is used.
    """
    low, high = delta / num_problems, delta
    if num_problems == 1 or delta < SMALLEST_EXACT:
        return low

    def rate(level: float) -> float:
        return -np.log(max(never_below(*_boundaries(num_problems, level), num_problems), 1e-300))

    allowed = -np.log1p(-delta) * (1 - 1e-6)
    points = [(level, rate(level)) for level in (delta / 20, delta / 10)]
    for _ in range(8):
        below = max((point for point in points if point[1] <= allowed), default=(0.0, 0.0))
        if below[1] / allowed > 1 - 6e-4:
            break
        (first, at_first), (second, at_second) = sorted(points, key=lambda each: abs(np.log(each[1] / allowed)))[:2]
        slope = np.log(at_second / at_first) / np.log(second / first)
        level = float(np.clip(first * (allowed * (1 - 3e-4) / at_first) ** (1 / slope), low, high))
        points.append((level, rate(level)))
    return max((level for level, found in points if found <= allowed), default=low)


def never_below(boundaries: Array, ranks: Array | None = None, count: int | None = None) -> float:
    r"""\(P(U_{(k)} \ge l_k \text{ for all } k)\) for order statistics of uniform variables.

    The number of variables below t grows like a Poisson process of rate N conditioned to end at N (Moscovich and
    Nadler 2017): between two boundaries its distribution is convolved with Poisson weights, and cut off where there
    would be too many. Improbable numbers are left out as if they were too many, so that the result is not too large.

    Arguments:
        boundaries: l, growing.
        ranks: k for each of them, from 1; all ranks by default.
        count: how many variables there are.

    >>> round(never_below(np.array([0.1, 0.2])), 6)
    0.8
    """
    ranks = np.arange(1, len(boundaries) + 1) if ranks is None else ranks
    count = len(boundaries) if count is None else count
    mass, lowest = np.ones(1), 0
    steps = np.diff(boundaries, prepend=0.0) * count
    for number, (step, rank) in enumerate(zip(steps.tolist(), ranks.tolist(), strict=True)):
        fewest = max(int(step - 9 * np.sqrt(step) - 10), 0)
        mass = np.convolve(mass, _poisson(np.arange(fewest, int(step + 12 * np.sqrt(step) + 30)), step))
        lowest += fewest
        mass = mass[: max(rank - lowest, 0)]
        if number % 16 == 0 and len(mass):
            improbable = int(np.argmax(mass > NEGLIGIBLE * mass.max()))
            mass, lowest = mass[improbable:], lowest + improbable
    missing = count - lowest - np.arange(len(mass))
    reached = float(mass @ _poisson(missing, (1 - float(boundaries[-1])) * count))
    return min(reached / float(_poisson(np.array([count]), float(count))[0]), 1.0)


def _poisson(numbers: Array, mean: float) -> Array:
    return np.exp(special.xlogy(numbers, mean) - mean - special.gammaln(numbers + 1))


def _boundaries(count: int, level: float) -> tuple[Array, Array]:
    """The lower quantiles of the order statistics that are bounded, and their ranks.

    All are up to 16384 problems. Beyond that some are left out where the standard deviation of an order statistic is
    many ranks, so that a band is at most 2% wider than it could be.
    """
    ranks = np.arange(1, count + 1)
    lag = LARGEST_LAG * min(np.log(count / LARGEST_EXACT) / np.log(8), 1.0)
    if lag > 0:
        shares = ranks / (count + 1)
        places = np.cumsum(1 / np.maximum(lag * np.sqrt(count * shares * (1 - shares)), 1.0))
        ranks = ranks[np.diff(np.floor(places), prepend=0.0) > 0]
    return _lower_quantiles(ranks, count, level), ranks


def _lower_quantiles(ranks: Array, count: int, level: float) -> Array:
    return special.betaincinv(ranks, count - ranks + 1, level) * (1 - 1e-10)
