"""Numbers as a reader wants them: four digits, no computer notation, and a dash where there is none."""

from __future__ import annotations

import math
from typing import Any

from ...certificates.bounds.rounding import number_down, number_up, percent_down, percent_up

NONE = "–"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def real(value: Any) -> float:
    """As a float; what is missing is NaN."""
    return math.nan if value is None else float(value)


def number(value: Any, digits: int = 4, pad: bool = False) -> str:
    """Rounded to significant digits; padded with zeros if wanted, except whole numbers.

    >>> number(59.01666), number(12345.6), number(0.5), number(0.00001234), number(None), number(float("inf"))
    ('59.02', '12 346', '0.5', '1.234 × 10⁻⁵', '–', '∞')
    """
    value = real(value)
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value != 0 and not 1e-3 <= abs(value) < 1e7:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa} × 10{str(int(exponent)).translate(SUPERSCRIPTS)}".replace("-", "−")
    form = "#" if pad and value != round(value) else ""
    shown = f"{value:,.0f}".replace(",", " ") if abs(value) >= 10**digits else f"{value:{form}.{digits}g}"
    return shown.rstrip(".").replace("-", "−")


def bound(value: Any, up: bool = True) -> str:
    """Four digits, rounded so that what is read is never better than what is certified.

    >>> bound(174.1358), bound(0.70358, up=False), bound(float("inf"))
    ('174.2', '0.7035', '∞')
    """
    return number(float((number_up if up else number_down)(real(value))))


def percent(share: Any, direction: int = 0) -> str:
    """A share, rounded up (1), down (-1) or to the nearest (0); only all or nothing is shown as 100% or 0%.

    >>> percent(0.65), percent(0.99999), percent(1.0), percent(0.991666, -1), percent(None)
    ('65%', '99.99%', '100%', '99.16%', '–')
    """
    share = real(share)
    if not math.isfinite(share):
        return number(share)
    if direction:
        return (percent_up if direction > 0 else percent_down)(share)
    shown = round(100 * share, 2)
    return f"{shown if share in (0.0, 1.0) else min(max(shown, 0.01), 99.99):.4g}%"


def change(bound: Any, reference: Any) -> str:
    """How far a bound lies above what was measured.

    >>> change(110.0, 100.0), change(95.0, 100.0), change(None, 3.0)
    ('+10%', '−5%', '–')
    """
    bound, reference = real(bound), real(reference)
    if not math.isfinite(bound) or not math.isfinite(reference) or reference == 0:
        return NONE
    return f"{100 * (bound - reference) / abs(reference):+.3g}%".replace("-", "−")


def interval(ends: Any, shown: Any = number) -> str:
    """An interval; an end that is missing is infinite.

    >>> interval([1.5, 2.0]), interval([None, 2.0]), interval([1.5, None]), interval([None, None])
    ('1.5 to 2', 'up to 2', 'from 1.5', 'unbounded')
    """
    low, high = (real(end) for end in (ends or (None, None)))
    if math.isfinite(low) and math.isfinite(high):
        return f"{shown(low)} to {shown(high)}"
    if math.isfinite(high):
        return f"up to {shown(high)}"
    return f"from {shown(low)}" if math.isfinite(low) else "unbounded"


def seconds(duration: Any) -> str:
    """A duration.

    >>> seconds(0.25), seconds(95.0), seconds(7300)
    ('0.25 s', '1 min 35 s', '2 h 1 min')
    """
    duration = real(duration)
    if not math.isfinite(duration) or duration < 60:
        return number(duration, 3) + (" s" if math.isfinite(duration) else "")
    minutes, rest = divmod(round(duration), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def words(entries: list[str]) -> str:
    """An enumeration.

    >>> words(["a"]), words(["a", "b"]), words(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(entries[:-1]), entries[-1]] if len(entries) > 1 else entries)


def few(entries: list[str]) -> str:
    """An enumeration, or only how many if there are more than three.

    >>> few(["a", "b"]), few(list("abcd"))
    ('a and b', '4 baselines')
    """
    return words(entries) if len(entries) <= 3 else f"{len(entries)} baselines"
