"""Intervals of what was measured on the test problems."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..certificates.bounds.betting import betting_bound, lower_betting_bound

MISS = 0.05
"""The probability with which an interval misses."""

Ends = tuple[float | None, float | None]
"""The ends of an interval; None where it is unbounded."""


def mean_interval(values: Any, cap: float) -> Ends:
    """An interval for the mean of values up to a cap that covers with 95% confidence, however few there are.

    >>> low, high = mean_interval([0.0] * 100, cap=1.0)
    >>> low, round(high, 3)
    (0.0, 0.036)
    """
    averages = np.minimum(np.asarray(values, float), cap)
    averages = averages.mean(axis=1) if averages.ndim == 2 else averages
    return _mean_interval(averages.tobytes(), float(cap)) if (averages >= 0).all() else (None, None)


@lru_cache(maxsize=1024)
def _mean_interval(averages: bytes, cap: float) -> Ends:
    """Kept, because comparisons ask for the same again."""
    values = np.frombuffer(averages)
    return lower_betting_bound(values, MISS / 2, cap), betting_bound(values, MISS / 2, cap)


def bounded(number: float) -> float | None:
    """An end of an interval; None if it is not finite."""
    return float(number) if np.isfinite(number) else None
