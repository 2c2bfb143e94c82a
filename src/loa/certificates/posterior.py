"""Certificates from the posterior problems, which the posterior may have seen: PAC-Bayes; Occam for one candidate."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import special

from ..algorithms.weights import as_distribution
from ..messages.arguments import array_of_numbers, positive_number
from .bounds.inputs import Array, check_fraction, failure_probability, fingerprint, one_per_candidate, per_candidate
from .bounds.lambda_grid import best_on_grid
from .bounds.product import kl_divergence, product_bound, product_bound_on_grid
from .certificate import Certificate
from .goal import ALL_MASS, CAPPED, COMPLETE, FINITE_KL, INDEPENDENT, INDICATORS, PRIOR_FIRST, WITHIN_CAP
from .goals import Mean
from .known_samples import remembered
from .misuse import check_lambda, check_prior
from .names import UNNAMED

Lambda = float | tuple[float, ...]
"""One λ, fixed beforehand, or a grid of them that is paid for."""


BEFOREHAND = "fixed beforehand"


class PosteriorFound(NamedTuple):
    """A bound for a posterior, by which method, and with which λ."""

    bound: float
    kind: str
    lam: float | None = None
    lam_origin: str = ""


@dataclasses.dataclass(frozen=True)
class PosteriorGoal(ABC):
    """What is to be certified of a posterior on candidates; λ (or its grid) and cap are fixed beforehand."""

    functional: str
    measure: ClassVar[str] = "mean"

    @abstractmethod
    def find(self, values: Any, posterior: Any, kl: float, delta: float) -> PosteriorFound:
        """The bound that holds with probability 1 - delta, from values (problem, candidate)."""

    def empirical(self, values: Array, weights: Array) -> float:
        """The same measure on the sample, from values (problem, candidate) and the posterior."""
        cap = float(getattr(self, "cap", 1.0))
        return min(float((per_candidate(values, cap) @ weights).mean()), 1.0) * cap

    def certify(
        self, values: Any, posterior: Any, prior: Any, confidence: float, *, draws: Mapping[str, str] | None = None
    ) -> Certificate:
        """The certificate from values on the posterior problems.

        Arguments:
            values: (problem, candidate).
            posterior, prior: one probability per candidate; the posterior may be any, `gibbs_posterior` is the best.
            confidence: in (0, 1).
            draws: fingerprints of the draws by role, for the record.
        """
        kl, delta = kl_divergence(posterior, prior), failure_probability(confidence)
        assumptions = (INDEPENDENT, PRIOR_FIRST) + (ALL_MASS,) * check_prior(as_distribution(prior, name="prior"))
        found = self.find(values, posterior, kl, delta)
        cap, is_mean = float(getattr(self, "cap", 1.0)), self.measure in ("mean", "cvar")
        shares = per_candidate(values, cap)
        weights = one_per_candidate("posterior", posterior, shares)
        return Certificate(
            functional=self.functional,
            measure=self.measure,
            kind=found.kind,
            target="posterior",
            bound=found.bound,
            empirical=self.empirical(np.asarray(values, float), weights),
            confidence=float(confidence),
            n=len(shares),
            cap=None if self.measure == "probability" else cap,
            at_cap=None if self.measure == "probability" else float(((shares >= 1) @ weights).mean()),
            level=getattr(self, "level", None),
            threshold=getattr(self, "threshold", None),
            kl=kl,
            lam=found.lam,
            lam_origin=found.lam_origin,
            posterior=tuple(float(weight) for weight in weights),
            draws=dict(draws or {}),
            data=fingerprint(values),
            memory=remembered(values),
            assumptions=(*assumptions, CAPPED) if is_mean else assumptions,
            checked=(COMPLETE, INDICATORS if self.measure == "probability" else WITHIN_CAP, FINITE_KL),
            unit=getattr(self, "unit", ""),
        )


@dataclasses.dataclass(frozen=True)
class PosteriorMean(PosteriorGoal):
    """An upper bound on the mean over a posterior, by the product bound.

    >>> values = np.tile([[100.0, 150.0], [300.0, 350.0]], (500, 1))
    >>> goal = PosteriorMean("stopping_time", cap=500.0, lam=0.3)
    >>> round(goal.certify(values, [0.9, 0.1], [0.5, 0.5], 0.95).bound, 1)
    213.4
    """

    cap: float
    lam: Lambda
    lam_origin: str = BEFOREHAND
    unit: str = ""

    def __post_init__(self):
        positive_number("cap", self.cap)
        for lam in self.lam if isinstance(self.lam, tuple | list) else np.ravel(self.lam):
            check_fraction("lam", lam)

    def find(self, values: Any, posterior: Any, kl: float, delta: float) -> PosteriorFound:
        if isinstance(self.lam, tuple):
            choice = product_bound_on_grid(values, posterior, kl, self.lam, delta, self.cap)
            return PosteriorFound(choice.bound, "product", choice.lam, paid_for(self.lam))
        bound = product_bound(values, posterior, kl, self.lam, delta, self.cap)
        if self.lam_origin == BEFOREHAND:
            check_lambda(float(self.lam), values, posterior, kl, delta, self.cap)
        return PosteriorFound(bound, "product", float(self.lam), self.lam_origin)


def best_lambda(
    bound: Callable[[float, float], float], lam: Lambda, lam_origin: str, delta: float, kind: str
) -> PosteriorFound:
    """The bound at a fixed λ, or the best on a grid, which is paid for."""
    if isinstance(lam, tuple):
        choice = best_on_grid(bound, lam, delta)
        return PosteriorFound(choice.bound, kind, choice.lam, paid_for(lam))
    return PosteriorFound(bound(float(lam), delta), kind, float(lam), lam_origin)


def paid_for(grid: Sequence[float]) -> str:
    """How a λ from a grid was chosen, for the record."""
    return f"best of a grid of {len(grid)} declared beforehand and paid for"


def certify_posterior(
    values: Any,
    posterior: Any,
    prior: Any,
    *,
    cap: float,
    lam: float | Sequence[float],
    confidence: float = 0.95,
    functional: str = UNNAMED,
    lam_origin: str = "fixed beforehand",
    draws: Mapping[str, str] | None = None,
    unit: str = "",
) -> Certificate:
    """Certify the mean over a posterior by the product bound.

    Arguments:
        values: (problem, candidate), on the posterior problems.
        posterior, prior: one probability per candidate; the posterior may be any, `gibbs_posterior` is the best.
        cap: the largest possible value.
        lam: λ in (0, 1), or a grid of them, declared beforehand and paid for.
        confidence: in (0, 1).
        functional, unit: whose mean it is, and what its values count, for the sentence.
        lam_origin: how λ was chosen, for the record.
        draws: fingerprints of the draws by role, for the record.

    Returns:
        The certificate.

    >>> values = np.tile([[100.0, 150.0], [300.0, 350.0]], (500, 1))
    >>> round(certify_posterior(values, [0.9, 0.1], [0.5, 0.5], cap=500.0, lam=0.3).bound, 1)
    213.4
    """
    fixed: Lambda = (
        lam if isinstance(lam, (int, float)) else tuple(np.atleast_1d(array_of_numbers("lam", lam)).tolist())
    )
    goal = PosteriorMean(functional, cap, fixed, lam_origin, unit)
    return goal.certify(values, posterior, prior, confidence, draws=draws)


def certify_occam(
    values: Any,
    prior_mass: float,
    *,
    cap: float,
    confidence: float = 0.95,
    functional: str = UNNAMED,
    draws: Mapping[str, str] | None = None,
    unit: str = "",
) -> Certificate:
    """Certify the mean of one candidate from the same problems that it was chosen on (Occam's razor).

    Every other goal can be certified in this way, too: `goal.certify(values, confidence, prior_mass=…)`.

    Arguments:
        values: (problem,) of the chosen candidate, on the posterior problems.
        prior_mass: π(h) in (0, 1].
        cap: the largest possible value.
        confidence: in (0, 1).
        functional, unit: whose mean it is, and what its values count, for the sentence.
        draws: fingerprints of the draws by role, for the record.

    Returns:
        The certificate.

    >>> print(certify_occam(np.tile([100.0, 300.0], 500), 0.01, cap=500.0, functional="stopping_time"))
    With 95% confidence, the algorithm needs at most 210.4 iterations on average on new problems drawn like these 1000.
    """
    return Mean(functional, cap, unit).certify(values, confidence, draws=draws, prior_mass=prior_mass)


def held_out_is_better(share: float, prior_mass: float, delta: float = 0.05) -> bool:
    r"""Whether to certify the deployed algorithm on held-out problems rather than by Occam; decided beforehand.

    Held-out problems win when their share of all problems after the prior ones exceeds
    \((z_{1-\delta} / z_{1-\delta\pi(h)})^2\): 41% for ten candidates of equal mass, 25% for a hundred.

    Arguments:
        share: the share of held-out problems among those after the prior ones.
        prior_mass: π(h) of the chosen candidate.
        delta: the probability of failure allowed, in (0, 1).

    Returns:
        True if held-out problems are better.

    >>> held_out_is_better(0.3, prior_mass=1 / 10), held_out_is_better(0.3, prior_mass=1 / 100)
    (False, True)
    """
    check_fraction("share", share)
    check_fraction("prior_mass", prior_mass)
    check_fraction("delta", delta)
    return bool(share > (special.ndtri(delta) / special.ndtri(delta * prior_mass)) ** 2)
