"""Numbers that JSON does not have, as texts: every reader accepts the files, and nothing is lost."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

TEXTS = ("NaN", "Infinity", "-Infinity")

CHECKSUM = "checksum"
"""The field under which a file holds the digest of all its other fields."""


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


def digest(content: Mapping[str, Any]) -> str:
    """A hash of encoded content that depends on neither the order of fields nor the layout of numbers.

    >>> digest({"n": 2, "bound": 0.5}) == digest({"bound": 0.50, "n": 2.0})
    True
    """

    def canonical(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: canonical(part) for name, part in value.items()}
        if isinstance(value, list):
            return [canonical(part) for part in value]
        return repr(float(value)) if isinstance(value, Real) and not isinstance(value, bool) else value

    return hashlib.sha256(json.dumps(canonical(content), sort_keys=True).encode()).hexdigest()[:32]
