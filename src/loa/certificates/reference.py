"""The paper's own theorems and the classical bound as certificates, beside ours: same data, same confidence.

All three kinds of λ that the paper allows for: fixed, chosen on prior problems (`paper_lambda`, `catoni_lambda`), or
the best of a grid that is paid for (its remark on uniformity in λ). The grid used if nothing is said depends on the
number of problems, the confidence and the cap only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from .certificate import Certificate
from .inputs import Array, check_positive, check_weights, complement, failure_probability, per_candidate
from .lambda_grid import geometric_grid
from .pac_bayes_kl import kl_bound
from .paper import catoni_bound, paper_bound, paper_lambda, sharp_bound
from .posterior import Lambda, PosteriorFound, PosteriorGoal, PosteriorMean, best_lambda, posterior_certificate
from .product import kl_divergence

GRID_SIZE = 8
LARGEST_RATIO = 5.0


@dataclasses.dataclass(frozen=True)
class PaperMean(PosteriorGoal):
    """The paper's theorem on performance functionals, and its corollaries on stopping times and contraction factors.

    With the stopping time truncated at the horizon and `cap` the horizon it is the corollary on expected stopping
    times, with the contraction factor and its cap that on contraction factors.

    Arguments:
        cap: φ_max.
        lam: λ > 0, on the scale of one over the functional; a grid; or none, for a grid that begins with the best λ for
            no divergence and ends with four times as much, the best for a divergence of 15 log 1/δ.
        sharp: whether Hoeffding's lemma is used with its sharp constant.

    >>> values = np.tile([[100.0, 150.0], [300.0, 350.0]], (500, 1))
    >>> print(PaperMean("stopping_time", cap=500.0).certify(values, [0.9, 0.1], [0.5, 0.5], 0.95))
    With 95 % confidence, at most 257.3 iterations on average, over problems drawn like these 1000 and over the \
posterior.
    """

    cap: float
    lam: Lambda | None = None
    lam_origin: str = "fixed beforehand"
    sharp: bool = False
    unit: str = ""

    def __post_init__(self):
        check_positive("cap", self.cap)
        if self.lam is not None:
            check_positive("lam", self.lam)

    def certify(
        self, values: Any, posterior: Any, prior: Any, confidence: float, *, draws: Mapping[str, str] | None = None
    ) -> Certificate:
        kl, delta = kl_divergence(posterior, prior), failure_probability(confidence)
        shares = _averages(values, posterior, self.cap)
        count, empirical = len(shares), min(shares.mean(), 1.0) * self.cap
        theorem, kind = (sharp_bound, "paper with sharp constant") if self.sharp else (paper_bound, "paper")
        found = best_lambda(
            lambda lam, share: theorem(empirical, kl, count, lam, share, self.cap),
            self._grid(count, delta) if self.lam is None else self.lam,
            self.lam_origin,
            delta,
            kind,
        )
        return posterior_certificate(self, found, values, posterior, kl, confidence, self.cap, draws, self.unit)

    def _grid(self, count: int, delta: float) -> tuple[float, ...]:
        lowest = paper_lambda(0.0, count, delta / GRID_SIZE, self.cap, sharp=self.sharp)
        return geometric_grid(lowest, 4 * lowest, GRID_SIZE)


@dataclasses.dataclass(frozen=True)
class PosteriorProbability(PosteriorGoal):
    r"""At least so many problems have a property, on average over a posterior: the paper's theorem on such properties.

    It bounds the probability of failure, \(\Phi^{-1}_{\lambda/N}\) of the posterior's share of failures and its
    divergence. On indicators this is the product bound, so that nothing sharper stands beside it.

    Arguments:
        lam: λ > 0, between the number of problems and a few times as much where failures are rare; a grid; or none, for
            a grid from the best λ for a failure rate of one half up to five times the number of problems.

    >>> values = np.ones((1000, 2))
    >>> print(PosteriorProbability("solved").certify(values, [0.9, 0.1], [0.5, 0.5], 0.95))
    With 95 % confidence, at least 99.45 % are solved, over problems drawn like these 1000 and over the posterior.
    """

    lam: Lambda | None = None
    lam_origin: str = "fixed beforehand"

    def __post_init__(self):
        if self.lam is not None:
            check_positive("lam", self.lam)

    def certify(
        self, values: Any, posterior: Any, prior: Any, confidence: float, *, draws: Mapping[str, str] | None = None
    ) -> Certificate:
        kl, delta = kl_divergence(posterior, prior), failure_probability(confidence)
        holds = _averages(values, posterior, 1.0)
        count, failures = len(holds), float(np.clip(1 - holds.mean(), 0.0, 1.0))
        found = best_lambda(
            lambda lam, share: catoni_bound(failures, kl, count, lam, share),
            _property_grid(count, delta) if self.lam is None else self.lam,
            self.lam_origin,
            delta,
            "paper",
        )
        found = found._replace(bound=complement(found.bound))
        return posterior_certificate(self, found, values, posterior, kl, confidence, 1.0, draws, measure="probability")


@dataclasses.dataclass(frozen=True)
class KLMean(PosteriorGoal):
    """The mean over a posterior by PAC-Bayes-kl, the classical comparison; it has no λ."""

    cap: float
    unit: str = ""

    def __post_init__(self):
        check_positive("cap", self.cap)

    def certify(
        self, values: Any, posterior: Any, prior: Any, confidence: float, *, draws: Mapping[str, str] | None = None
    ) -> Certificate:
        kl, delta = kl_divergence(posterior, prior), failure_probability(confidence)
        shares = _averages(values, posterior, self.cap)
        bound = kl_bound(min(shares.mean(), 1.0) * self.cap, kl, len(shares), delta, self.cap)
        found = PosteriorFound(bound, "pac-bayes-kl")
        return posterior_certificate(self, found, values, posterior, kl, confidence, self.cap, draws, self.unit)


def reference_certificates(
    values: Any,
    posterior: Any,
    prior: Any,
    *,
    cap: float,
    confidence: float = 0.95,
    functional: str = "performance",
    unit: str = "",
    draws: Mapping[str, str] | None = None,
) -> tuple[Certificate, ...]:
    """The paper's theorem, the same with the sharp constant, and PAC-Bayes-kl, for the mean over a posterior.

    Each of the three has the confidence to itself: report one.

    Arguments:
        values: (problem, candidate), on the posterior problems.
        posterior, prior: one probability per candidate.

    >>> values = np.tile([[100.0, 150.0], [300.0, 350.0]], (500, 1))
    >>> for certificate in reference_certificates(values, [0.9, 0.1], [0.5, 0.5], cap=500.0):
    ...     print(certificate.kind, round(certificate.bound, 1))
    paper 257.2
    paper with sharp constant 231.1
    pac-bayes-kl 235.5
    """
    goals = (
        PaperMean(functional, cap, unit=unit),
        PaperMean(functional, cap, sharp=True, unit=unit),
        KLMean(functional, cap, unit),
    )
    return tuple(goal.certify(values, posterior, prior, confidence, draws=draws) for goal in goals)


def references_of(
    goal: PosteriorGoal,
    values: Any,
    posterior: Any,
    prior: Any,
    confidence: float,
    *,
    draws: Mapping[str, str] | None = None,
) -> tuple[Certificate, ...]:
    """What to print beside a goal for a posterior: the paper's theorem for it, and its relatives.

    >>> goal = PosteriorProbability("solved")
    >>> [certificate.kind for certificate in references_of(goal, np.ones((50, 1)), [1.0], [1.0], 0.95)]
    ['paper']
    """
    if isinstance(goal, PosteriorMean | PaperMean | KLMean):
        return reference_certificates(
            values,
            posterior,
            prior,
            cap=goal.cap,
            confidence=confidence,
            functional=goal.functional,
            unit=goal.unit,
            draws=draws,
        )
    return (PosteriorProbability(goal.functional).certify(values, posterior, prior, confidence, draws=draws),)


def _averages(values: Any, posterior: Any, cap: float) -> Array:
    """The posterior's average on each problem, as a share of the cap."""
    shares, weights = per_candidate(values, cap), check_weights("posterior", posterior)
    if weights.size != shares.shape[1]:
        raise ValueError(
            f"values must be (problem, candidate) with one column for each of the {weights.size} candidates, got "
            f"{shares.shape[1]} columns."
        )
    return shares @ weights


def _property_grid(count: int, delta: float) -> tuple[float, ...]:
    lowest = np.sqrt(8 * np.log(GRID_SIZE / delta) / count)
    return tuple(ratio * count for ratio in geometric_grid(min(lowest, LARGEST_RATIO / 2), LARGEST_RATIO, GRID_SIZE))
