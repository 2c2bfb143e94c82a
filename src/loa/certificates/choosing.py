"""Certify what is chosen among candidates, on the very problems that it is chosen on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..messages.arguments import array_of_numbers, positive_number
from ..problems.problem_class import whole_number
from .bounds.inputs import failure_probability, fingerprint, per_candidate, warn_of_truncation
from .bounds.progressive import progress, progressive_bound
from .certificate import Certificate
from .goal import CAPPED, COMPLETE, INDEPENDENT, WITHIN_CAP
from .known_samples import remembered
from .names import UNNAMED

FIRST = 20
"""One in this many problems only chooses, by default: a twentieth, or ten if that is more, but no more than a tenth."""
FEW = 10

CANDIDATES_FIRST = "candidates, cap and how many problems only choose were fixed without these problems"


def certify_while_choosing(
    values: Any,
    functional: str = UNNAMED,
    *,
    cap: float,
    confidence: float = 0.95,
    first: int | None = None,
    unit: str = "",
) -> Certificate:
    """Certify the mean of the best of several candidates, from the same problems on which it is chosen.

    The certificate speaks of an algorithm that is drawn from the `posterior` for each problem: how often each candidate
    was the best so far. Mostly that is one candidate. With a few hundred problems this is better than to choose on some
    and to certify on the others, and better than to pay for the number of candidates.

    Arguments:
        values: (problem, candidate), of candidates that were fixed without these problems.
        functional: its name.
        cap: the largest possible value, declared beforehand.
        confidence: in (0, 1).
        first: how many problems only choose, at least 1; by default a twentieth of them, or ten if that is more (but no
            more than a tenth).
        unit: what the values count, for the sentence.

    Returns:
        A `Certificate` whose `posterior` holds the weights to deploy, as in `loa.stack(algorithms, weights)`.

    >>> rng = np.random.default_rng(0)
    >>> values = np.minimum(rng.gamma(4.0, 15.0, (300, 1)) * [1.0, 1.2, 1.5], 600.0)
    >>> certificate = certify_while_choosing(values, "stopping_time", cap=600.0)
    >>> certificate.posterior, round(certificate.bound / 60, 2)
    ((1.0, 0.0, 0.0), 1.08)
    """
    values, delta = array_of_numbers("values", values), failure_probability(confidence)
    positive_number("cap", cap)
    count = len(per_candidate(values, cap))
    usual = max(count // FIRST, min(count // FEW, FEW), 1)
    first = usual if first is None else whole_number("first", first, most=max(count - 1, 1))
    if count < 2:
        raise ValueError(f"at least two problems are needed, one to choose by and one to certify on, got {count}.")
    warn_of_truncation(values, cap)
    found = progress(values, cap, first, delta)
    weights = np.bincount(found.chosen, minlength=values.shape[1]) / len(found.chosen)
    return Certificate(
        functional=functional,
        measure="mean",
        kind="progressive",
        target="posterior",
        bound=progressive_bound(values, cap, first, delta),
        empirical=float(found.values.mean()) * cap,
        confidence=float(confidence),
        n=count - first,
        cap=float(cap),
        at_cap=float((found.values >= 1).mean()),
        kl=0.0,
        lam=found.lam,
        lam_origin=f"best on the first {first} problems",
        posterior=tuple(float(weight) for weight in weights),
        data=fingerprint(values),
        memory=remembered(values),
        assumptions=(INDEPENDENT, CANDIDATES_FIRST, CAPPED),
        checked=(COMPLETE, WITHIN_CAP),
        unit=unit,
    )
