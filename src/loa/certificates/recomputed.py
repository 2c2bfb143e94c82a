"""A certificate's bound, recomputed from the values that it claims to be made from."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ..messages.arguments import array_of_numbers
from .bounds.anytime import anytime_bounds
from .bounds.anytime_ranks import anytime_points, anytime_quantile_bound
from .bounds.betting import betting_bound
from .bounds.binomial import clopper_pearson_lower, clopper_pearson_upper, quantile_bound, tail_bound
from .bounds.cvar import beyond_threshold, cvar_bound
from .bounds.distribution import certified_points, median_of
from .bounds.inputs import Array, failure_probability, fingerprint, one_per_problem, per_candidate, per_problem, up_to
from .bounds.moments import capped_bounds, moment_bound
from .bounds.pac_bayes_kl import kl_bound
from .bounds.paper import catoni_bound, paper_bound, sharp_bound
from .bounds.posterior_tails import posterior_cvar, posterior_quantile, posterior_tail
from .bounds.product import product_bound
from .bounds.progressive import progressive_bound
from .bounds.rounding import complement, round_up

if TYPE_CHECKING:
    from .certificate import Certificate

TOLERANCE = 1e-9
"""The relative difference that another machine's arithmetic may make."""

KNOWN = (
    "betting",
    "betting up to a cap",
    "betting under a moment",
    "clopper-pearson",
    "order statistics",
    "berk-jones",
    "occam",
    "any-time",
)
"""Methods for the deployed algorithm that can be recomputed."""

UNKNOWN = "a bound by {!r} cannot be recomputed here: use the goal that it was made by."


def check(certificate: Certificate, values: Any, prior_values: Any = None) -> None:
    """Refuse a certificate that these values do not give; see `Certificate.check`."""
    values = array_of_numbers("values", values)
    if certificate.data and fingerprint(values) != certificate.data:
        raise ValueError(
            "these are not the values that the certificate was made from: give all of them, in the order in which the "
            "problems were drawn."
        )
    if certificate.kind != "progressive" and certificate.n != len(values):
        raise ValueError(f"the certificate speaks of {certificate.n} problems, but there are {len(values)} values.")
    delta = failure_probability(certificate.confidence)
    if certificate.target == "posterior":
        bound = _posterior_bound(certificate, values, delta)
    elif certificate.kind not in KNOWN:
        raise ValueError(UNKNOWN.format(certificate.kind))
    else:
        bound = _bound(certificate, values, delta, prior_values)
    if not _agrees(certificate, bound):
        raise ValueError(
            f"the certificate says {certificate.bound!r}, but its values give {bound!r}: it was not made from them in "
            "the way that it says (if prior values improved its bets, give them as prior_values)."
        )


def _bound(certificate: Certificate, values: Array, delta: float, prior_values: Any) -> float:
    """The bound for one algorithm, by the method that the certificate names."""
    cap, level, threshold = certificate.cap, certificate.level or 0.0, certificate.threshold or 0.0
    if certificate.kind == "any-time":
        return _anytime_bound(certificate, values, delta)
    if certificate.kind == "occam":
        delta *= math.exp(-(certificate.kl or 0.0))
    if certificate.beyond is not None:
        mean, reached = capped_bounds(values, delta, cap or 1.0)
        return mean if math.isclose(reached, certificate.beyond, rel_tol=TOLERANCE) else math.nan
    if certificate.moment is not None:
        return moment_bound(values, delta, certificate.moment, certificate.power or 2.0, threshold)
    if certificate.measure == "mean" and values.dtype == bool:
        return clopper_pearson_upper(int(values.sum()), values.size, delta)
    if certificate.measure == "mean":
        return betting_bound(values, delta, cap or 1.0, prior_values)
    if certificate.measure == "cvar":
        return cvar_bound(values, level, threshold, delta, cap or 1.0)
    if certificate.measure == "probability":
        holds = one_per_problem(values)
        return clopper_pearson_lower(int(holds.sum()), len(holds), delta)
    if certificate.measure == "tail":
        return tail_bound(up_to(values, cap), threshold, delta)
    if certificate.measure == "quantile":
        return quantile_bound(up_to(values, cap), level, delta)
    points, band = certified_points(up_to(values, cap), delta, cap), certificate.band or ()
    alike = np.shape(points) == np.shape(band) and np.allclose(points, band, rtol=TOLERANCE)
    return median_of(points) if alike else math.nan


def _anytime_bound(certificate: Certificate, values: Array, delta: float) -> float:
    """The best bound of all times: one that was computed at some of them is no better."""
    measure, cap, threshold = certificate.measure, certificate.cap or 1.0, certificate.threshold or 0.0
    if measure == "quantile":
        sample = up_to(values, certificate.cap)
        times = range(1, len(sample) + 1)
        return min(anytime_quantile_bound(sample[:time], certificate.level or 0.0, delta) for time in times)
    if measure == "distribution":
        return median_of(anytime_points(up_to(values, certificate.cap), delta, certificate.cap))

    def upper(shares: Array) -> float:
        return float(anytime_bounds(shares, delta, 1.0)[-1])

    if measure == "probability":
        return complement(upper(1.0 - one_per_problem(values)))
    if measure == "tail":
        return upper((up_to(values, certificate.cap) > threshold).astype(float))
    if measure == "cvar":
        share = upper(beyond_threshold(values, threshold, cap) / (cap - threshold))
        return round_up(threshold + share * (cap - threshold) / (1 - (certificate.level or 0.0)), cap)
    return round_up(upper(per_problem(values, cap)) * cap, cap)


def _posterior_bound(certificate: Certificate, values: Array, delta: float) -> float:
    """The bound for a posterior, at the λ of the certificate and with what a grid of λ has cost."""
    cap, kl, weights = certificate.cap or 1.0, certificate.kl or 0.0, certificate.posterior
    if certificate.kind == "progressive":
        return progressive_bound(values, cap, len(values) - certificate.n, delta)
    paid = re.match(r"best of a grid of (\d+) declared", certificate.lam_origin)
    delta, lam = delta / (int(paid[1]) if paid else 1), certificate.lam or 0.5
    if certificate.measure == "cvar":
        level, threshold = certificate.level or 0.0, certificate.threshold or 0.0
        return posterior_cvar(values, weights, kl, lam, delta, level, threshold, cap)
    if certificate.kind == "product":
        return product_bound(values, weights, kl, lam, delta, cap)
    if certificate.measure == "tail":
        return posterior_tail(values, weights, kl, lam, delta, certificate.threshold or 0.0, cap)
    if certificate.measure == "quantile":
        return _posterior_quantile(certificate, values, delta)
    average = min(float((per_candidate(values, cap) @ np.asarray(weights)).mean()), 1.0)
    if certificate.measure == "probability":
        return complement(catoni_bound(max(1 - average, 0.0), kl, len(values), lam, delta))
    if certificate.kind == "pac-bayes-kl":
        return kl_bound(average * cap, kl, len(values), delta, cap)
    theorem = {"paper": paper_bound, "paper with sharp constant": sharp_bound}.get(certificate.kind)
    if theorem is None:
        raise ValueError(UNKNOWN.format(certificate.kind))
    return theorem(average * cap, kl, len(values), lam, delta, cap)


def _posterior_quantile(certificate: Certificate, values: Array, delta: float) -> float:
    """The bound itself, if it is one; the other thresholds are in the plan."""
    found = re.search(r"one of (\d+) thresholds", certificate.lam_origin)
    shared, tried = delta / (int(found[1]) if found else 1), (certificate.bound,)
    level, cap = certificate.level or 0.0, certificate.cap or 1.0
    return posterior_quantile(
        values, certificate.posterior, certificate.kl or 0.0, certificate.lam or 1.0, shared, level, tried, cap
    )


def _agrees(certificate: Certificate, bound: float) -> bool:
    if certificate.bound == bound or math.isclose(certificate.bound, bound, rel_tol=TOLERANCE):
        return True
    if certificate.kind != "any-time":
        return False
    return certificate.bound < bound if certificate.measure == "probability" else certificate.bound > bound
