"""What fresh problems say about a certificate: whether they contradict it, at a stated rate of error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..messages.arguments import array_of_numbers
from ..statistics.quantiles import beyond_quantile, quantile
from .bounds.betting import betting_bound, lower_betting_bound
from .bounds.binomial import clopper_pearson_lower, clopper_pearson_upper
from .bounds.cvar import lower_cvar_bound
from .bounds.distribution import tight_band
from .bounds.inputs import Array, check_fraction, fingerprint, one_per_problem
from .bounds.rounding import number_down, number_up, percent_exact
from .known_samples import recognized

if TYPE_CHECKING:
    from .certificate import Certificate


class Verdict(NamedTuple):
    """The outcome of testing a certificate on fresh values.

    Fields:
        contradicted: whether the certificate is refuted; wrongly so with a probability of at most `error_rate`.
        limit: what the fresh values alone show with confidence 1 - error_rate, on the other side of the bound; for a
            quantile, the share of problems that can be below the bound, to be compared with the level.
        fresh: the measure on the fresh values.
        bound: what is certified. For a distribution, the three are shares at the value where it fares worst.
        error_rate: the largest probability with which a true certificate is contradicted.
        n: the number of fresh problems.
        is_upper: whether the bound is an upper one.
    """

    contradicted: bool
    limit: float
    fresh: float
    bound: float
    error_rate: float
    n: int
    is_upper: bool = True

    def sentence(self) -> str:
        """The verdict in plain words.

        >>> print(Verdict(True, limit=120.0, fresh=131.8, bound=111.93, error_rate=0.01, n=500))
        Contradicted by 500 fresh problems, which give 131.8 where at most 112 is certified; this test contradicts a \
true certificate at most 1% of the time.
        """
        word = "Contradicted" if self.contradicted else "Not contradicted"
        certified = f"at most {number_up(self.bound)}" if self.is_upper else f"at least {number_down(self.bound)}"
        problems = "1 fresh problem, which gives" if self.n == 1 else f"{self.n} fresh problems, which give"
        return (
            f"{word} by {problems} {self.fresh:.4g} where {certified} is certified; this test contradicts a true "
            f"certificate at most {percent_exact(self.error_rate)} of the time."
        )

    __str__ = sentence


def verify(certificate: Certificate, values: Any, error_rate: float) -> Verdict:
    """Bound the same measure from the other side on fresh values; the certificate fails if the bounds cross."""
    check_fraction("error_rate", error_rate)
    values = array_of_numbers("values", values)
    if certificate.data and fingerprint(values) == certificate.data:
        raise ValueError("these are the values that the certificate was made from: verify it on fresh problems.")
    if (known := recognized(certificate.memory, values)) is not None:
        raise ValueError(f"these are {known} as in the sample of the certificate: verify it on fresh problems.")
    if certificate.posterior is not None and values.ndim == 2 and certificate.measure not in ("mean", "probability"):
        raise ValueError(
            f"for the {certificate.measure} of an algorithm drawn from the posterior, give one value per problem: that "
            "of loa.randomized(posterior)."
        )
    if certificate.posterior is not None and values.ndim == 2:
        if values.shape[1] != len(certificate.posterior):
            raise ValueError(
                f"values must be (problem, candidate) with {len(certificate.posterior)} candidates, got {values.shape}."
            )
        values = values @ np.asarray(certificate.posterior)
    if certificate.band is not None:
        limit, fresh, bound = _worst_share(certificate.band, one_per_problem(values), error_rate)
        return Verdict(limit < bound, limit, fresh, bound, error_rate, len(values), is_upper=False)
    limit, fresh, contradicted = _confront(certificate, values, error_rate)
    is_upper = certificate.measure != "probability"
    return Verdict(bool(contradicted), float(limit), float(fresh), certificate.bound, error_rate, len(values), is_upper)


def _worst_share(band: tuple[tuple[float, float], ...], values: Array, error_rate: float) -> tuple[float, float, float]:
    """Where fresh values fare worst against a certified distribution: the share there can be, that is, and should be.

    The Berk–Jones band turned around: where k of N values are larger, the share of all problems that are larger is at
    least the k-th lower quantile, at all places together.
    """
    certified, shares = np.array(band).T
    larger = len(values) - np.searchsorted(np.sort(values), certified, side="right")
    at_least = tight_band(np.arange(len(values)), error_rate).shares
    possible = 1 - np.append(0.0, at_least)[larger]
    worst = int(np.argmin(possible - shares))
    return float(possible[worst]), float(1 - larger[worst] / len(values)), float(shares[worst])


def _confront(certificate: Certificate, values: Array, error_rate: float) -> tuple[float, float, bool]:
    """What the fresh values show, their own measure, and whether that contradicts the certificate."""
    bound, level = certificate.bound, certificate.level or 0.0
    if certificate.beyond is not None:
        return _confront_capped(certificate, one_per_problem(values), error_rate)
    if certificate.measure == "mean" and certificate.moment is not None:
        level = certificate.threshold or 1.0
        limit = lower_betting_bound(np.minimum(one_per_problem(values), level), error_rate, level)
        return limit, values.mean(), limit > bound
    if certificate.measure == "mean":
        limit = lower_betting_bound(values, error_rate, certificate.cap or 1.0)
        return limit, values.mean(), limit > bound
    if certificate.measure == "cvar":
        limit = lower_cvar_bound(values, level, error_rate)
        return limit, beyond_quantile(one_per_problem(values), level).mean(), limit > bound
    if certificate.measure == "probability" and certificate.posterior is not None:
        limit = betting_bound(values, error_rate, 1.0)
        return limit, values.mean(), limit < bound
    values = one_per_problem(values)
    if certificate.measure == "probability":
        if not np.isin(values, (0, 1)).all():
            raise ValueError(f"{certificate.functional} must be 0 or 1 on every problem.")
        limit = clopper_pearson_upper(int(values.sum()), len(values), error_rate)
        return limit, values.mean(), limit < bound
    if certificate.measure == "tail":
        above = values > certificate.threshold
        limit = clopper_pearson_lower(int(above.sum()), len(values), error_rate)
        return limit, above.mean(), limit > bound
    reached = clopper_pearson_upper(int((values <= bound).sum()), len(values), error_rate)
    return reached, quantile(values, level), reached < level


def _confront_capped(certificate: Certificate, values: Array, error_rate: float) -> tuple[float, float, bool]:
    """The same for a mean up to a cap: either of its two parts may contradict it."""
    cap = certificate.cap or 1.0
    counted, reached = np.minimum(values, cap), int((values >= cap).sum())
    limit = lower_betting_bound(counted, error_rate / 2, cap)
    often = clopper_pearson_lower(reached, len(values), error_rate / 2)
    return limit, counted.mean(), limit > certificate.bound or often > (certificate.beyond or 0.0)
