"""What a certificate can say at all: content that no bound can have produced is refused."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.weights import as_distribution
from ..messages.arguments import shown
from .names import CERTIFIED, TARGETS

if TYPE_CHECKING:
    from .certificate import Certificate

NEEDED = {"tail": "threshold", "quantile": "level", "cvar": "level", "distribution": "band"}
"""The field without which a measure has no meaning."""


def check_content(certificate: Certificate) -> None:
    """Refuse a certificate that cannot be one, with a sentence that names the field."""
    for name in ("functional", "measure", "kind", "target", "lam_origin", "data", "unit"):
        _require(isinstance(getattr(certificate, name), str), name, "a text", certificate)
    _require(certificate.measure in CERTIFIED, "measure", f"one of {', '.join(CERTIFIED)}", certificate)
    _require(certificate.target in TARGETS, "target", f"one of {', '.join(TARGETS)}", certificate)
    n = certificate.n
    _require(isinstance(n, Integral) and not isinstance(n, bool) and n >= 1, "n", "a whole number from 1", certificate)
    _check_numbers(certificate)
    _check_parts(certificate)
    if (needed := NEEDED.get(certificate.measure)) and getattr(certificate, needed) is None:
        raise ValueError(f"a certificate with the measure {certificate.measure} needs a {needed}.")


def _check_numbers(certificate: Certificate) -> None:
    """Numbers within what they can be."""
    zero, one, infinity = 0.0, 1.0, np.inf
    lowest = zero if certificate.measure in ("mean", "cvar") or certificate.cap or certificate.unit else -infinity
    limits = (zero, one) if certificate.measure in ("probability", "tail") else (lowest, infinity)
    for name in ("bound", "empirical"):
        _within(certificate, name, *limits)
    _within(certificate, "confidence", zero, one, strictly=True)
    for name, low, high, strictly in (
        ("cap", zero, infinity, True),
        ("at_cap", zero, one, False),
        ("level", zero, one, True),
        ("threshold", -infinity, infinity, False),
        ("kl", zero, infinity, False),
        ("lam", zero, infinity, True),
        ("beyond", zero, one, False),
        ("moment", zero, infinity, True),
        ("power", one, infinity, True),
    ):
        if getattr(certificate, name) is not None:
            _within(certificate, name, low, high, strictly)


def _check_parts(certificate: Certificate) -> None:
    """The band, the posterior and the texts."""
    if certificate.band is not None:
        pairs = isinstance(certificate.band, tuple) and all(
            isinstance(pair, tuple) and len(pair) == 2 and all(map(_is_number, pair)) for pair in certificate.band
        )
        _require(pairs, "band", "pairs (value, share)", certificate)
        values, shares = np.array(certificate.band, float).reshape(-1, 2).T
        growing = not (np.diff(values) <= 0).any() and not (np.diff(shares) < 0).any()
        inside = bool(((shares >= 0) & (shares <= 1)).all())
        _require(growing and inside, "band", "growing values with growing shares from 0 to 1", certificate)
    weights = certificate.posterior
    if weights is not None:
        _require(isinstance(weights, tuple) and all(map(_is_number, weights)), "posterior", "weights", certificate)
        as_distribution(weights, name="posterior")
    draws = certificate.draws
    texts = isinstance(draws, Mapping) and all(isinstance(each, str) for pair in draws.items() for each in pair)
    _require(texts, "draws", "fingerprints by role", certificate)
    about = certificate.about
    texts = isinstance(about, Mapping) and all(isinstance(each, str) for pair in about.items() for each in pair)
    _require(texts, "about", "texts by name", certificate)
    memory = certificate.memory
    hashes = isinstance(memory, Mapping) and all(
        isinstance(each, tuple) and all(isinstance(one, str) for one in each) for each in memory.values()
    )
    _require(hashes, "memory", "hashes by name", certificate)
    for name in ("assumptions", "checked"):
        lines = getattr(certificate, name)
        texts = isinstance(lines, tuple) and all(isinstance(line, str) for line in lines)
        _require(texts, name, "a list of texts", certificate)


def _within(certificate: Certificate, name: str, low: float, high: float, strictly: bool = False) -> None:
    number = getattr(certificate, name)
    inside = _is_number(number) and (low < number < high if strictly else low <= number <= high)
    between = "strictly between" if strictly else "between"
    _require(inside, name, f"a number {between} {low:g} and {high:g}", certificate)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and not np.isnan(float(value))


def _require(fulfilled: bool, name: str, admissible: str, certificate: Certificate) -> None:
    if not fulfilled:
        raise ValueError(
            f"no certificate has this {name}: {name} must be {admissible}, got {shown(getattr(certificate, name))}."
        )
