"""Outward rounding: of bounds in their last digits, and of numbers where people read them.

What is printed never claims more than is certified. A bound is rounded away from what would be better, a confidence is
rounded down, and what was declared beforehand (a threshold, a level, a cap) is printed exactly. The texts are made in
decimal arithmetic from the shortest decimal that denotes the number, so that no rounding error decides.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

DIGITS = 4
"""Significant digits of a bound."""
PERCENT_STEP = Decimal("0.01")
"""The last digit of a percentage."""


def round_up(bound: Any, cap: float | None = None) -> Any:
    """Move a non-negative bound outward by more than its own rounding error, but never past the cap.

    >>> bool(round_up(0.1) > 0.1)
    True
    >>> round_up(1.0, cap=1.0)
    1.0
    """
    upward = np.asarray(bound, float) * (1 + 64 * np.finfo(float).eps) + np.finfo(float).tiny
    return plain(upward if cap is None else np.minimum(upward, cap))


def complement(share: float) -> float:
    """1 - share, rounded down: a lower bound on a probability from an upper bound on that of the opposite.

    >>> complement(0.25) < 0.75
    True
    """
    return max(float(np.nextafter(1 - round_up(share), 0.0)), 0.0)


def plain(number: Any) -> Any:
    """A float where the result is a single number, else the array."""
    return float(number) if np.ndim(number) == 0 else number


def number_up(number: float) -> str:
    """A number with four digits, rounded up.

    >>> number_up(111.93), number_up(0.93001), number_up(12341.0), number_up(112.00000001)
    ('112', '0.9301', '12350', '112.1')
    """
    return _significant(number, ROUND_CEILING)


def number_down(number: float) -> str:
    """A number with four digits, rounded down.

    >>> number_down(0.93009), number_down(12349.0)
    ('0.93', '12340')
    """
    return _significant(number, ROUND_FLOOR)


def two_digits_up(number: float) -> str:
    """A margin, with two digits, rounded up.

    >>> two_digits_up(0.1412), two_digits_up(38.2), two_digits_up(412.0)
    ('0.15', '39', '420')
    """
    return _significant(number, ROUND_CEILING, digits=2)


def number_exact(number: float) -> str:
    """A number in full, in the shortest form that denotes it.

    >>> number_exact(12345.0), number_exact(0.1), number_exact(1e-7)
    ('12345', '0.1', '1e-07')
    """
    return repr(float(number)).removesuffix(".0")


def percent_up(share: float) -> str:
    """A share as a percentage with at most two decimals, rounded up.

    >>> percent_up(0.00011), percent_up(0.07)
    ('0.02%', '7%')
    """
    return _percent(_decimal(share), ROUND_CEILING)


def percent_down(share: float) -> str:
    """A share as a percentage with at most two decimals, rounded down.

    >>> percent_down(0.99999), percent_down(0.95)
    ('99.99%', '95%')
    """
    return _percent(_decimal(share), ROUND_FLOOR)


def percent_exact(share: float) -> str:
    """A share as a percentage, in full.

    >>> percent_exact(0.99997), percent_exact(0.9)
    ('99.997%', '90%')
    """
    return _percent(_decimal(share), None)


def percent_rest(share: float) -> str:
    """What is left of one, as a percentage, in full: 0.9 leaves 10%, whatever 1 - 0.9 is in binary.

    >>> percent_rest(0.9), percent_rest(0.99997)
    ('10%', '0.003%')
    """
    return _percent(1 - _decimal(share), None)


def _decimal(number: float) -> Decimal:
    return Decimal(repr(float(number)))


def _significant(number: float, rounding: str, digits: int = DIGITS) -> str:
    if number == 0 or not math.isfinite(number):
        return number_exact(number)
    exact = _decimal(number)
    last = Decimal((0, (1,), exact.adjusted() - digits + 1))
    return f"{float(exact.quantize(last, rounding=rounding)):.12g}"


def _percent(share: Decimal, rounding: str | None) -> str:
    percentage = 100 * share
    if rounding is not None:
        percentage = percentage.quantize(PERCENT_STEP, rounding=rounding)
    text = f"{percentage:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "%"
