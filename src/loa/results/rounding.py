"""Rounding of bounds to few digits, so that what is read is never better than what holds."""

from __future__ import annotations

import math


def outward(bound: float, *, up: bool = True, digits: int = 4) -> float:
    """The bound with few digits, rounded up, or down for a lower bound.

    >>> outward(68.40736), outward(0.99984, up=False), outward(118.0), outward(float("inf"))
    (68.41, 0.9998, 118.0, inf)
    """
    if bound == 0 or not math.isfinite(bound):
        return bound
    exponent = math.floor(math.log10(abs(bound))) - (digits - 1)
    steps = (math.ceil if up else math.floor)(round(bound / 10.0**exponent, 6))
    return steps * 10.0**exponent if exponent >= 0 else steps / 10.0**-exponent
