"""Proportions: which are admissible, and exact limits for one from a number of successes (Clopper and Pearson)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from ..messages.arguments import is_number, shown


def check_fraction(name: str, number: float) -> float:
    """Refuse a number that is not strictly between 0 and 1."""
    if not (is_number(number) and 0 < number < 1):
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {shown(number)}.")
    return float(number)


def upper_limit(successes: Any, trials: Any, delta: float) -> np.ndarray:
    r"""The largest p that few successes do not refute: \(P(\mathrm{Bin}(n,p)\le k)=\delta\); 1 if all succeeded.

    Arguments:
        successes: k, from 0 to n; an average over replicates need not be whole.
        trials: n.
        delta: the probability that the limit is below the truth.

    >>> round(float(upper_limit(0, 100, 0.05)), 5) == round(1 - 0.05 ** (1 / 100), 5)
    True
    """
    successes, trials = np.asarray(successes, float), np.asarray(trials, float)
    failures = trials - successes
    inside = special.betainccinv(successes + 1, np.where(failures > 0, failures, 1.0), delta)
    return np.where(failures > 0, inside, 1.0)


def lower_limit(successes: Any, trials: Any, delta: float) -> np.ndarray:
    r"""The smallest p that many successes do not refute: \(P(\mathrm{Bin}(n,p)\ge k)=\delta\); 0 if none succeeded.

    >>> round(float(lower_limit(100, 100, 0.05)), 5) == round(0.05 ** (1 / 100), 5)
    True
    """
    successes, trials = np.asarray(successes, float), np.asarray(trials, float)
    inside = special.betaincinv(np.where(successes > 0, successes, 1.0), trials - successes + 1, delta)
    return np.where(successes > 0, inside, 0.0)
