"""Shares of what was seen, as percentages."""

from __future__ import annotations

import math


def percent_seen(share: float, decimals: int = 1) -> str:
    """A share as a percentage, rounded to the nearest; only all is 100% and only nothing is 0%.

    >>> percent_seen(0.654), percent_seen(0.9998), percent_seen(1.0), percent_seen(1e-6), percent_seen(0.0)
    ('65.4%', '99.9%', '100.0%', '0.1%', '0.0%')
    """
    share, last = float(share), 10.0**-decimals
    if math.isnan(share) or share in (0.0, 1.0):
        return f"{100 * share:.{decimals}f}%"
    return f"{min(max(100 * share, last), 100 - last):.{decimals}f}%"
