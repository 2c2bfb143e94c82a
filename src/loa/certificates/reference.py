"""The paper's own theorems and the classical bound as certificates, beside ours: same data, same confidence.

All three kinds of λ that the paper allows for: fixed, chosen on prior problems (`paper_lambda`, `catoni_lambda`), or
the best of a grid that is paid for (its remark on uniformity in λ). The default grid depends on the
number of problems, the confidence and the cap only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..problems.arguments import positive_number
from .certificate import Certificate
from .inputs import Array, check_positive, one_per_candidate, per_candidate
from .lambda_grid import geometric_grid
from .pac_bayes_kl import kl_bound
from .paper import catoni_bound, paper_bound, paper_lambda, sharp_bound
from .posterior import Lambda, PosteriorFound, PosteriorGoal, PosteriorMean, best_lambda
from .rounding import complement

GRID_SIZE = 8
LARGEST_RATIO = 5.0


@dataclasses.dataclass(frozen=True)
class PaperMean(PosteriorGoal):
    """The paper's theorem on performance functionals, and its corollaries on stopping times and contraction factors.

    With the stopping time truncated at the horizon and `cap` the horizon it is the corollary on expected stopping
    times, with the contraction factor and its cap that on contraction factors.

    Arguments:
        cap: φ_max.
        lam: λ > 0, on the scale of one over the functional; a grid; or None, for a grid from the best λ for no
            divergence to four times this λ, the best for a divergence of 15 log 1/δ.
        sharp: whether Hoeffding's lemma is used with its sharp constant.

    >>> values = np.tile([[100.0, 150.0], [300.0, 350.0]], (500, 1))
    >>> print(PaperMean("stopping_time", cap=500.0).certify(values, [0.9, 0.1], [0.5, 0.5], 0.95))
    With 95% confidence, an algorithm drawn from the posterior for each problem needs at most 257.3 iterations on \
average on new problems drawn like these 1000.
    """

    cap: float
    lam: Lambda | None = None
    lam_origin: str = "fixed beforehand"
    sharp: bool = False
    unit: str = ""

    def __post_init__(self):
        positive_number("cap", self.cap)
        if self.lam is not None:
            check_positive("lam", self.lam)

    def find(self, values: Any, posterior: Any, kl: float, delta: float) -> PosteriorFound:
        shares = _averages(values, posterior, self.cap)
        count, empirical = len(shares), min(shares.mean(), 1.0) * self.cap
        theorem, kind = (sharp_bound, "paper with sharp constant") if self.sharp else (paper_bound, "paper")
        return best_lambda(
            lambda lam, share: theorem(empirical, kl, count, lam, share, self.cap),
            self._grid(count, delta) if self.lam is None else self.lam,
            self.lam_origin,
            delta,
            kind,
        )

    def _grid(self, count: int, delta: float) -> tuple[float, ...]:
        lowest = paper_lambda(0.0, count, delta / GRID_SIZE, self.cap, sharp=self.sharp)
        return geometric_grid(lowest, 4 * lowest, GRID_SIZE)


@dataclasses.dataclass(frozen=True)
class PosteriorProbability(PosteriorGoal):
    r"""A lower bound on the probability of a property under a posterior: the paper's theorem on trajectory properties.

    It bounds the probability of failure, \(\Phi^{-1}_{\lambda/N}\) of the posterior's share of failures and its
    divergence. On indicators this is the product bound, so that nothing sharper stands beside it.

    Arguments:
        lam: λ > 0, between the number of problems and a few times as much where failures are rare; a grid; or None, for
            a grid from the best λ for a failure rate of one half up to five times the number of problems.

    >>> values = np.ones((1000, 2))
    >>> print(PosteriorProbability("solved").certify(values, [0.9, 0.1], [0.5, 0.5], 0.95).claim())
    An algorithm drawn from the posterior for each problem solves at least 99.45% of new problems drawn like these 1000.
    """

    lam: Lambda | None = None
    lam_origin: str = "fixed beforehand"
    measure: ClassVar[str] = "probability"

    def __post_init__(self):
        if self.lam is not None:
            check_positive("lam", self.lam)

    def find(self, values: Any, posterior: Any, kl: float, delta: float) -> PosteriorFound:
        holds = _averages(values, posterior, 1.0)
        count, failures = len(holds), float(np.clip(1 - holds.mean(), 0.0, 1.0))
        found = best_lambda(
            lambda lam, share: catoni_bound(failures, kl, count, lam, share),
            _property_grid(count, delta) if self.lam is None else self.lam,
            self.lam_origin,
            delta,
            "paper",
        )
        return found._replace(bound=complement(found.bound))


@dataclasses.dataclass(frozen=True)
class KLMean(PosteriorGoal):
    """The mean over a posterior by PAC-Bayes-kl, the classical comparison; it has no λ."""

    cap: float
    unit: str = ""

    def __post_init__(self):
        positive_number("cap", self.cap)

    def find(self, values: Any, posterior: Any, kl: float, delta: float) -> PosteriorFound:
        shares = _averages(values, posterior, self.cap)
        bound = kl_bound(min(shares.mean(), 1.0) * self.cap, kl, len(shares), delta, self.cap)
        return PosteriorFound(bound, "pac-bayes-kl")


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

    Returns:
        Three certificates.

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

    Arguments:
        goal: a goal for a posterior.
        values: values on held-out problems, one per problem.
        posterior: one probability per candidate.
        prior: one probability per candidate.
        confidence: in (0, 1).
        draws: the draws to compare.

    Returns:
        Certificates to compare with.

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
    shares = per_candidate(values, cap)
    return shares @ one_per_candidate("posterior", posterior, shares)


def _property_grid(count: int, delta: float) -> tuple[float, ...]:
    lowest = np.sqrt(8 * np.log(GRID_SIZE / delta) / count)
    return tuple(ratio * count for ratio in geometric_grid(min(lowest, LARGEST_RATIO / 2), LARGEST_RATIO, GRID_SIZE))
