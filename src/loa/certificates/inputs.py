"""What a bound may be computed from, and how its last digits are rounded.

Everything that would make a certificate invalid is refused here with one sentence that says what to do instead.
"""

from __future__ import annotations

import hashlib
from numbers import Real
from typing import Any

import numpy as np

Array = np.ndarray


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


def check_fraction(name: str, number: float) -> float:
    """Refuse what is not strictly between 0 and 1."""
    if not (isinstance(number, Real) and 0 < number < 1):
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {number}.")
    return float(number)


def failure_probability(confidence: float) -> float:
    """δ = 1 - confidence.

    >>> failure_probability(0.95)
    0.05
    """
    if not (isinstance(confidence, Real) and 0 < confidence < 1):
        raise ValueError(f"confidence must lie strictly between 0 and 1 (such as 0.95), got {confidence}.")
    return float(np.round(1 - confidence, 15))


def check_positive(name: str, number: Any) -> Any:
    """Refuse what is not a positive finite number (or an array of them)."""
    if number is None or not np.all(np.isfinite(number) & (np.asarray(number) > 0)):
        raise ValueError(f"{name} must be positive and finite, got {number}.")
    return number


def check_whole(name: str, number: Any) -> Any:
    """Refuse what is not a whole number of at least one (or an array of them)."""
    if not np.all(np.isfinite(number) & (np.asarray(number) >= 1) & (np.asarray(number) == np.floor(number))):
        raise ValueError(f"{name} must be a whole number and at least 1, got {number}.")
    return number


def check_kl(kl: Any) -> Any:
    """Refuse a divergence that no posterior can have, or that makes every bound vacuous."""
    if np.any(np.isnan(kl)) or np.any(np.asarray(kl) < 0):
        raise ValueError(f"kl must not be negative or NaN, got {kl}: it is the divergence of posterior from prior.")
    if np.any(np.isinf(kl)):
        raise ValueError("kl is infinite: the posterior puts mass where the prior has none, so nothing is certified.")
    return kl


def per_problem(values: Any, cap: float) -> Array:
    """Values in [0, 1], one per problem: divided by the cap, replicates of a problem averaged.

    Problems are independent, replicates of one problem are not, so that only their average counts.

    >>> per_problem([[1.0, 3.0], [4.0, 4.0]], cap=4.0)
    array([0.5, 1. ])
    """
    shares = shares_of_cap(values, cap)
    if shares.ndim == 2:
        shares = np.minimum(shares.mean(axis=1), 1.0)
    if shares.ndim != 1:
        raise ValueError(f"values must be (problem,) or (problem, replicate), got shape {shares.shape}.")
    return shares


def per_candidate(values: Any, cap: float) -> Array:
    """Values in [0, 1] by (problem, candidate): divided by the cap."""
    shares = shares_of_cap(values, cap)
    if shares.ndim != 2:
        raise ValueError(f"values must be (problem, candidate), got shape {shares.shape}.")
    return shares


def shares_of_cap(values: Any, cap: float) -> Array:
    """Values divided by the cap, after refusing those that are empty, not a number or outside [0, cap].

    The comparison is made in the precision of the values, so that a cap that was applied in float32 is respected.
    """
    check_positive("cap", cap)
    values = finite_or_infinite(values)
    if (values < 0).any():
        raise ValueError(
            f"values must not be negative, but the smallest is {values.min():.6g}: shift the functional so that it "
            "lies between 0 and its cap."
        )
    if (values > np.asarray(cap, values.dtype)).any():
        raise ValueError(
            f"values must not exceed the cap {cap:.6g}, but the largest is {values.max():.6g}: truncate the functional "
            "itself (a certificate then is about the truncated one) or declare a larger cap before drawing problems."
        )
    return np.minimum(values.astype(float) / cap, 1.0)


def finite_or_infinite(values: Any) -> Array:
    """As a floating-point array that is not empty and has no NaN."""
    values = np.asarray(values)
    if not np.issubdtype(values.dtype, np.floating):
        values = values.astype(float)
    if values.size == 0:
        raise ValueError("values are empty: a certificate needs at least one problem.")
    if np.isnan(values).any():
        raise ValueError(
            f"{int(np.isnan(values).sum())} values are NaN: a diverged run counts as the cap (a property fails) and is "
            "never dropped; give such values for it, or mark it by certify(…, diverged=…)."
        )
    return values


def fingerprint(values: Any) -> str:
    """A hash of numbers, to tell later whether they are the same.

    >>> fingerprint([[1.0], [2.0]]) == fingerprint(np.float32([1.0, 2.0]))
    True
    """
    numbers = np.ascontiguousarray(np.ravel(values), dtype="<f8")
    return hashlib.blake2b(numbers.tobytes(), digest_size=16).hexdigest()


def check_weights(name: str, weights: Any) -> Array:
    """A probability vector: non-negative, of sum one (then normalized to the last digit).

    >>> check_weights("posterior", [0.25, 0.75])
    array([0.25, 0.75])
    """
    weights = np.asarray(weights, float)
    if weights.ndim != 1 or weights.size == 0:
        raise ValueError(f"{name} must be one probability per candidate, got shape {weights.shape}.")
    if not (weights >= 0).all():
        raise ValueError(f"{name} must not be negative or NaN, but its smallest entry is {weights.min():.6g}.")
    if not abs(weights.sum() - 1) <= 1e-6:
        raise ValueError(f"{name} must sum to one, but it sums to {weights.sum():.6g}: divide it by its sum.")
    return weights / weights.sum()
