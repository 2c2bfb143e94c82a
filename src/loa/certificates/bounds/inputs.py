"""What a bound may be computed from.

Everything that would make a certificate invalid is refused here with one sentence that says what to do instead.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ...algorithms.weights import as_distribution
from ...messages.arguments import array_of_numbers, is_number, positive_number, shown
from ...messages.warning import warn
from ...problems.problem_class import whole_number
from ...statistics.proportions import check_fraction as check_fraction
from .rounding import number_exact, percent_up, plain

Array = np.ndarray

MOST_ALIKE = 0.03
"""The share of values that may have the maximum in common without arousing suspicion."""


def failure_probability(confidence: float) -> float:
    """δ = 1 - confidence.

    >>> failure_probability(0.95)
    0.05
    """
    if not (is_number(confidence) and 0 < confidence < 1):
        raise ValueError(f"confidence must lie strictly between 0 and 1 (such as 0.95), got {shown(confidence)}.")
    return float(np.round(1 - confidence, 15))


def check_positive(name: str, numbers: Any) -> Any:
    """Refuse what is not a positive finite number (or an array of them)."""
    array = array_of_numbers(name, numbers)
    if array.dtype == bool or not np.all(np.isfinite(array) & (array > 0)):
        raise ValueError(f"{name} must be positive and finite, got {shown(numbers)}.")
    return numbers


def check_whole(name: str, number: Any) -> Any:
    """Refuse what is not a whole number of at least one (or an array of them)."""
    for each in np.ravel(number):
        whole_number(name, each)
    return number


def check_kl(kl: Any) -> Any:
    """Refuse a divergence that no posterior can have, or that makes every bound vacuous."""
    kl = array_of_numbers("kl", kl)
    if np.any(np.isnan(kl)) or np.any(np.asarray(kl) < 0):
        raise ValueError(
            f"kl must not be negative or NaN, got {shown(kl)}: it is the divergence of posterior from prior."
        )
    if np.any(np.isinf(kl)):
        raise ValueError("kl is infinite: the posterior puts mass where the prior has none, so nothing is certified.")
    return plain(kl)


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
    positive_number("cap", cap)
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


def up_to(values: Any, cap: float | None) -> Array:
    """One value per problem, none above the cap if there is one; a cap in single precision becomes the cap.

    >>> up_to(np.float32([0.5, 0.9]), cap=0.9)
    array([0.5, 0.9])
    """
    values = one_per_problem(values)
    if cap is None:
        warn_of_truncation(values, cap)
        return values
    shares_of_cap(values, cap)
    return np.where(values >= np.asarray(cap, values.dtype), cap, values.astype(float))


def one_per_problem(values: Any) -> Array:
    """Values as (problem,), refusing replicates: these are not independent."""
    values = finite_or_infinite(values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"need one value per problem, got shape {values.shape}: replicates of a problem are not independent, so "
            "take one of them, chosen without looking (values[:, 0])."
        )
    return values


def finite_or_infinite(values: Any) -> Array:
    """As a floating-point array that is not empty and has no NaN."""
    values = array_of_numbers("values", values)
    values = values.astype(float) if values.dtype == bool else values
    if values.size == 0:
        raise ValueError("values are empty: a certificate needs at least one problem.")
    if np.isnan(values).any():
        raise ValueError(
            f"{int(np.isnan(values).sum())} values are NaN: a diverged run counts as the cap (a property fails) and is "
            "never dropped; give such values for it, or mark it by certify(…, diverged=…)."
        )
    return values


def warn_of_truncation(values: Any, cap: float | None) -> None:
    """Warn when values look truncated below the cap, or look truncated at all if they were declared not to be.

    Truncated values have a heap at their maximum: at least 3% of them share it, and no other value is half as common.
    """
    values = array_of_numbers("values", values)
    if values.size == 0 or np.isnan(values.astype(float)).any():
        return
    distinct, counts = np.unique(values, return_counts=True)
    largest, heap, others = float(distinct[-1]), int(counts[-1]), counts[:-1]
    known = largest <= 0 or not np.isfinite(largest) or (cap is not None and largest >= np.asarray(cap, values.dtype))
    if known or heap < max(MOST_ALIKE * values.size, 3) or 2 * others.max(initial=0) > heap:
        return
    below = "and they were declared to have no cap" if cap is None else f"which is below the cap {number_exact(cap)}"
    warn(
        f"{percent_up(heap / values.size)} of the values share the maximum {number_exact(largest)}, {below}: if runs "
        f"were stopped there, the cap must be {number_exact(largest)}, or the certificate is false.",
    )


def fingerprint(values: Any) -> str:
    """A hash of numbers, to tell later whether they are the same.

    >>> fingerprint([[1.0], [2.0]]) == fingerprint(np.float32([1.0, 2.0]))
    True
    """
    numbers = np.ascontiguousarray(np.ravel(values), dtype="<f8")
    return hashlib.blake2b(numbers.tobytes(), digest_size=16).hexdigest()


def one_per_candidate(name: str, weights: Any, shares: Array) -> Array:
    """Probabilities of the candidates that the columns of (problem, candidate) stand for."""
    weights = as_distribution(weights, name=name)
    if weights.size != shares.shape[1]:
        raise ValueError(
            f"values must be (problem, candidate) and {name} one probability per candidate, got {shares.shape[1]} "
            f"columns and {weights.size} probabilities (of loa.evaluate's result take the mean over replicates and "
            "transpose: values.mean(axis=-1).T)."
        )
    return weights
