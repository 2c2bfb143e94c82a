"""Certificates from the posterior problems, which the posterior may have seen: PAC-Bayes; Occam for one candidate."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import special

from .betting import betting_bound
from .certificate import Certificate
from .goals import INDEPENDENT
from .inputs import check_fraction, check_positive, check_weights, failure_probability, fingerprint, per_candidate
from .product import kl_divergence, product_bound, product_bound_on_grid

PRIOR_FIRST = "candidates, prior, λ (or its grid) and cap were fixed without these problems"


@dataclasses.dataclass(frozen=True)
class PosteriorMean:
    """A goal of a plan: the mean over a posterior is at most so much, with λ (or its grid) fixed beforehand.

    >>> values = np.tile([[100.0, 150.0], [300.0, 350.0]], (500, 1))
    >>> goal = PosteriorMean("stopping_time", cap=500.0, lam=0.3)
    >>> round(goal.certify(values, [0.9, 0.1], [0.5, 0.5], 0.95).bound, 1)
    213.4
    """

    functional: str
    cap: float
    lam: float | tuple[float, ...]
    lam_origin: str = "fixed beforehand"
    unit: str = ""

    def __post_init__(self):
        check_positive("cap", self.cap)
        for lam in np.ravel(self.lam):
            check_fraction("lam", float(lam))

    def certify(
        self, values: Any, posterior: Any, prior: Any, confidence: float, *, draws: Mapping[str, str] | None = None
    ) -> Certificate:
        """The certificate from values on the posterior problems, (problem, candidate)."""
        return certify_posterior(
            values,
            posterior,
            prior,
            cap=self.cap,
            lam=self.lam,
            confidence=confidence,
            functional=self.functional,
            lam_origin=self.lam_origin,
            draws=draws,
            unit=self.unit,
        )


def certify_posterior(
    values: Any,
    posterior: Any,
    prior: Any,
    *,
    cap: float,
    lam: float | Sequence[float],
    confidence: float = 0.95,
    functional: str = "performance",
    lam_origin: str = "fixed beforehand",
    draws: Mapping[str, str] | None = None,
    unit: str = "",
) -> Certificate:
    """Certify the mean over a posterior by the product bound.

    Arguments:
        values: (problem, candidate), on the posterior problems.
        posterior, prior: one probability per candidate; the posterior may be any, `gibbs_posterior` is the best.
        lam: λ in (0, 1), or a grid of them, declared beforehand and paid for.
        lam_origin: how λ was chosen, for the record.

    >>> values = np.tile([[100.0, 150.0], [300.0, 350.0]], (500, 1))
    >>> round(certify_posterior(values, [0.9, 0.1], [0.5, 0.5], cap=500.0, lam=0.3).bound, 1)
    213.4
    """
    delta = failure_probability(confidence)
    kl = kl_divergence(posterior, prior)
    if np.ndim(lam) == 0:
        bound, chosen = product_bound(values, posterior, kl, float(lam), delta, cap), float(lam)  # pyright: ignore
    else:
        grid = tuple(float(number) for number in lam)  # pyright: ignore[reportGeneralTypeIssues]
        bound, chosen = product_bound_on_grid(values, posterior, kl, grid, delta, cap)
        lam_origin = f"best of a grid of {len(grid)} declared beforehand and paid for"
    weights = check_weights("posterior", posterior)
    shares = per_candidate(values, cap)
    return Certificate(
        functional=functional,
        measure="mean",
        kind="product",
        target="posterior",
        bound=bound,
        empirical=float((shares @ weights).mean() * cap),
        confidence=float(confidence),
        n=len(shares),
        cap=float(cap),
        at_cap=float(((shares >= 1) @ weights).mean()),
        kl=kl,
        lam=chosen,
        lam_origin=lam_origin,
        posterior=tuple(float(weight) for weight in weights),
        draws=dict(draws or {}),
        data=fingerprint(values),
        assumptions=(INDEPENDENT, PRIOR_FIRST),
        unit=unit,
    )


def certify_occam(
    values: Any,
    prior_mass: float,
    *,
    cap: float,
    confidence: float = 0.95,
    functional: str = "performance",
    draws: Mapping[str, str] | None = None,
    unit: str = "",
) -> Certificate:
    r"""Certify the mean of one candidate from the very problems it was chosen on (Occam's razor).

    A candidate h is given \(\delta\pi(h)\), which sums to at most δ over all candidates, so that its betting bound
    holds whichever was chosen. This is the Dirac posterior, of divergence \(\log 1/\pi(h)\).

    Arguments:
        values: (problem,) of the chosen candidate, on the posterior problems.
        prior_mass: π(h) in (0, 1].

    >>> print(certify_occam(np.tile([100.0, 300.0], 500), 0.01, cap=500.0, functional="stopping_time"))
    With 95 % confidence, at most 210.4 iterations on average, over problems drawn like these 1000.
    """
    delta = failure_probability(confidence)
    if not 0 < prior_mass <= 1:
        raise ValueError(
            f"prior_mass must lie in (0, 1], got {prior_mass}: a candidate without prior mass has no bound."
        )
    bound = betting_bound(values, delta * prior_mass, cap)
    values = np.asarray(values, float)
    return Certificate(
        functional=functional,
        measure="mean",
        kind="occam",
        bound=bound,
        empirical=float(values.mean()),
        confidence=float(confidence),
        n=len(values),
        cap=float(cap),
        at_cap=float((values >= cap).mean()),
        kl=float(-np.log(prior_mass)),
        draws=dict(draws or {}),
        data=fingerprint(values),
        assumptions=(INDEPENDENT, PRIOR_FIRST),
        unit=unit,
    )


def held_out_is_better(share: float, prior_mass: float, delta: float = 0.05) -> bool:
    r"""Whether to certify the deployed algorithm on held-out problems rather than by Occam; decide before looking.

    Held-out problems win when their share of all problems after the prior ones exceeds
    \((z_{1-\delta} / z_{1-\delta\pi(h)})^2\): 41 % for ten candidates of equal mass, 25 % for a hundred.

    >>> held_out_is_better(0.3, prior_mass=1 / 10), held_out_is_better(0.3, prior_mass=1 / 100)
    (False, True)
    """
    check_fraction("share", share)
    check_fraction("prior_mass", prior_mass)
    check_fraction("delta", delta)
    return bool(share > (special.ndtri(delta) / special.ndtri(delta * prior_mass)) ** 2)
