"""Numbers that JSON does not have, as texts: every reader accepts the files, and nothing is lost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

TEXTS = ("NaN", "Infinity", "-Infinity")


def encoded(value: Any) -> Any:
    """Plain values for JSON: sequences as lists, and NaN and infinity as the texts "NaN", "Infinity", "-Infinity".

    >>> encoded({"bound": float("inf"), "band": ((1.0, 0.5),)})
    {'bound': 'Infinity', 'band': [[1.0, 0.5]]}
    """
    if isinstance(value, Real) and not math.isfinite(float(value)):
        return "NaN" if math.isnan(float(value)) else "Infinity" if float(value) > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {name: encoded(each) for name, each in value.items()}
    return [encoded(each) for each in value] if isinstance(value, Sequence) and not isinstance(value, str) else value


def decoded(value: Any) -> Any:
    """The inverse of `encoded`, but for sequences, which stay lists.

    >>> decoded({"bound": "Infinity", "band": [[1.0, 0.5]]})
    {'bound': inf, 'band': [[1.0, 0.5]]}
    """
    if isinstance(value, str) and value in TEXTS:
        return float(value)
    if isinstance(value, Mapping):
        return {name: decoded(each) for name, each in value.items()}
    return [decoded(each) for each in value] if isinstance(value, list) else value
