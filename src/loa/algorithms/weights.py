"""Weights of a finite set of candidates, checked and changed in one way for stacks, measures and certificates."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import special

from ..messages.arguments import array_of_numbers


def as_distribution(weights: Any, size: int | None = None, name: str = "weights") -> Float[np.ndarray, " candidate"]:
    """Check that weights are probabilities, and normalize them to the last digit.

    Arguments:
        weights: one number per candidate, non-negative, with a sum within 1e-6 of one.
        size: the number of candidates, if it is known.
        name: what an error message calls the weights.

    Returns:
        The weights as a float array whose sum is one.

    >>> as_distribution([0.25, 0.75])
    array([0.25, 0.75])
    """
    weights = array_of_numbers(name, weights).astype(float)
    if weights.ndim != 1 or weights.size == 0 or weights.size != (weights.size if size is None else size):
        expected = "one probability per candidate" if size is None else f"{size} probabilities, one per candidate"
        raise ValueError(f"{name} must be {expected}, got an array of shape {weights.shape}.")
    if not (weights >= 0).all():
        raise ValueError(f"{name} must not be negative or NaN, but the smallest entry is {weights.min():.6g}.")
    if not abs(weights.sum() - 1) <= 1e-6:
        raise ValueError(f"{name} must sum to one, but the sum is {weights.sum():.6g}: divide by it.")
    return weights / weights.sum()


def reweighed(weights: Float[np.ndarray, " candidate"], logarithms: Float[np.ndarray, " candidate"]) -> np.ndarray:
    """Multiply weights by the exponentials of some numbers, and normalize them: a Gibbs distribution.

    Arguments:
        weights: probabilities, which may be zero.
        logarithms: one number per candidate.

    Returns:
        Probabilities, which are zero where they were.

    >>> reweighed(np.array([0.5, 0.5, 0.0]), np.log([1.0, 3.0, 9.0]))
    array([0.25, 0.75, 0.  ])
    """
    with np.errstate(divide="ignore"):
        changed = special.softmax(np.log(weights) + logarithms)
    return changed / changed.sum()
