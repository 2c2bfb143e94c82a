"""Slips that can be seen in the numbers: what is certainly wrong is refused, what looks wrong gets a warning.

What cannot be seen is an assumption of the certificate, in words.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from ..messages.arguments import array_of_numbers
from ..messages.warning import warn
from .bounds.inputs import Array
from .bounds.product import LARGEST_LOG_ODDS, choose_lambda
from .bounds.rounding import number_exact

BY_CHANCE = 1e-9
FEWEST = 20
"""A smaller sample arouses no suspicion."""
TINY = 1e-4
"""Values that are all below this share of the cap may have another unit."""


def check_sample(values: Any, cap: float | None) -> None:
    """Refuse numbers that wrapped around or are flattened replicates, and warn of a cap that does not fit.

    >>> check_sample(np.arange(100, dtype=np.uint8), cap=500.0)
    Traceback (most recent call last):
    ...
    ValueError: values have the type uint8, in which no number exceeds 255, but the cap is 500: larger ones have \
wrapped around; compute them in a larger type.
    """
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        _check_width(dtype, cap)
    values = array_of_numbers("values", values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.dtype == bool or values.size < FEWEST or np.isnan(values.astype(float)).any():
        return
    if values.ndim == 1:
        _check_flattened(values)
        _check_copied(values)
    if cap is not None:
        _warn_of_cap(values.ravel(), cap)


def check_prior(prior: Array) -> bool:
    """Whether the whole prior lies on one of several candidates, as if it had been chosen before; with a warning."""
    one_hot = len(prior) > 1 and float(np.max(prior)) == 1.0
    if one_hot:
        warn(
            f"the prior has all its mass on one of {len(prior)} candidates: if this one was chosen on these problems, "
            "the certificate is false; give every candidate its share beforehand."
        )
    return one_hot


def check_lambda(lam: float, values: Any, posterior: Any, kl: float, delta: float, cap: float) -> None:
    """Warn of a λ that is said to be fixed beforehand and is the best for these very values.

    An end of the range is the best for many samples, so that it says nothing.
    """
    if np.isclose(abs(special.logit(lam)), LARGEST_LOG_ODDS):
        return
    count = len(values)
    for weights in (posterior, None):
        if np.isclose(choose_lambda(values, kl, count, delta, cap, weights), lam, rtol=1e-9, atol=0.0):
            warn(
                f"λ = {number_exact(lam)} is said to be fixed beforehand, but it is the best one for these very "
                "values: choose it on prior problems, or declare a grid, which is paid for."
            )
            return


def _check_width(dtype: np.dtype, cap: float | None) -> None:
    largest = np.iinfo(dtype).max
    if (cap is None and dtype.itemsize == 1) or (cap is not None and cap > largest):
        declared = "no cap is declared" if cap is None else f"the cap is {number_exact(cap)}"
        raise ValueError(
            f"values have the type {dtype}, in which no number exceeds {largest}, but {declared}: larger ones have "
            "wrapped around; compute them in a larger type."
        )


def _check_flattened(values: Array) -> None:
    """Refuse values of which each comes several times in a row, as flattened replicates of a problem do."""
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    if len(changes) < FEWEST // 2:
        return
    repeated = int(np.gcd.reduce(np.append(changes, len(values))))
    shares = np.unique(values, return_counts=True)[1] / len(values)
    chance = float((shares**2).sum()) ** (len(values) - len(values) // max(repeated, 1))
    if repeated > 1 and chance < BY_CHANCE:
        raise ValueError(
            f"every value comes {repeated} times in a row: replicates of a problem are not independent; give them as "
            f"(problem, replicate), values.reshape(-1, {repeated})."
        )


def _check_copied(values: Array) -> None:
    """Refuse a sample that holds every value several times, in any order, as copies of a table in one another do.

    Where no value is more probable than any other, each comes a multiple of k times with a probability of at most one
    half.
    """
    counts = np.unique(values, return_counts=True)[1]
    copies = int(np.gcd.reduce(counts))
    if copies > 1 and len(counts) * math.log(2) > -math.log(BY_CHANCE):
        raise ValueError(
            f"every value comes {copies} times, or a multiple of that: each problem counts once; if these are several "
            "runs on each problem, give them as (problem, replicate)."
        )


def _warn_of_cap(values: Array, cap: float) -> None:
    largest, at_cap = float(values.max()), int((values == values.max()).sum())
    round_cap = float(f"{cap:.2g}") == cap
    if largest == cap and at_cap == 1 and not round_cap:
        warn(
            f"the cap {number_exact(cap)} is the largest of these values: if it was taken from them, the certificate "
            "is false; declare one beforehand, such as the horizon."
        )
    if 0 < largest < TINY * cap and cap != 1:  # ratios up to 1, such as contraction factors, have no unit
        warn(
            f"all values are below a ten-thousandth of the cap {number_exact(cap)}: if they have another unit than the "
            "cap, the certificate is false."
        )
