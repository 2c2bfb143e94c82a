"""The paper's own theorems and the classical bound as certificates, beside ours: same data, same confidence.

All three kinds of λ that the paper allows for: fixed, chosen on prior problems (`choose_paper_lambda`,
`catoni_lambda`), or the best of a grid that is paid for (its remark on uniformity in λ). The default grid depends on
the number of problems, the confidence and the cap only. As references, the paper's theorems stand at the posterior at
which they are smallest, `paper_posterior`, and not at that of another bound.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..messages.arguments import positive_number
from .bounds.inputs import Array, check_positive, failure_probability, one_per_candidate, per_candidate
from .bounds.lambda_grid import geometric_grid
from .bounds.pac_bayes_kl import kl_bound
from .bounds.paper import catoni_bound, paper_bound, paper_lambda, sharp_bound
from .bounds.paper_posterior import paper_posterior
from .bounds.product import kl_divergence
from .bounds.rounding import complement
from .certificate import Certificate
from .names import UNNAMED
from .posterior import BEFOREHAND, Lambda, PosteriorFound, PosteriorGoal, PosteriorMean, best_lambda

GRID_SIZE = 8
LARGEST_RATIO = 5.0

CHOSEN = "best on the prior problems"
"""Where a λ comes from that was chosen without the posterior problems."""


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

    def best_posterior(self, values: Any, prior: Any, delta: float) -> Array:
        """The Gibbs posterior of the theorem; with a grid of λ, that at which the bound is smallest."""
        lam = self._grid(len(values), delta) if self.lam is None else self.lam
        return _best_posterior(self, values, values, prior, lam, delta, self.cap)

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

    def best_posterior(self, values: Any, prior: Any, delta: float) -> Array:
        """The Gibbs posterior of the theorem; with a grid of λ, that at which the bound is smallest."""
        lam = _property_grid(len(values), delta) if self.lam is None else self.lam
        failures = 1.0 - np.asarray(values, float)
        return _best_posterior(self, values, failures, prior, lam, delta, 1.0)


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
    functional: str = UNNAMED,
    unit: str = "",
    lam: float | None = None,
    draws: Mapping[str, str] | None = None,
) -> tuple[Certificate, ...]:
    """The paper's theorem, the same with the sharp constant, and PAC-Bayes-kl, for the mean over a posterior.

    The first two are bounds for the posterior at which they are smallest. Each of the three has the confidence to
    itself: report one.

    Arguments:
        values: (problem, candidate), on the posterior problems.
        posterior: one probability per candidate, for PAC-Bayes-kl.
        prior: one probability per candidate.
        cap: the largest possible value.
        confidence: in (0, 1).
        functional, unit: whose mean it is, and what its values count, for the sentences.
        lam: λ of the paper's theorem, chosen on prior problems by `choose_paper_lambda`; without it, a grid is paid
            for. With the sharp constant λ is twice as large.
        draws: fingerprints of the draws by role, for the record.

    Returns:
        Three certificates.

    >>> values = np.tile([[100.0, 150.0], [300.0, 350.0]], (500, 1))
    >>> for certificate in reference_certificates(values, [0.9, 0.1], [0.5, 0.5], cap=500.0, lam=0.17):
    ...     print(certificate.kind, round(certificate.bound, 1))
    paper 242.9
    paper with sharp constant 221.5
    pac-bayes-kl 235.5
    """
    delta, origin = failure_probability(confidence), CHOSEN if lam is not None else BEFOREHAND
    found = []
    for sharp in (False, True):
        goal = PaperMean(functional, cap, None if lam is None else lam * (1 + sharp), origin, sharp, unit)
        own = goal.best_posterior(values, prior, delta)
        found.append(goal.certify(values, own, prior, confidence, draws=draws))
    kl = KLMean(functional, cap, unit).certify(values, posterior, prior, confidence, draws=draws)
    return (*found, kl)


def references_of(
    goal: PosteriorGoal,
    values: Any,
    posterior: Any,
    prior: Any,
    confidence: float,
    *,
    lam: float | None = None,
    draws: Mapping[str, str] | None = None,
) -> tuple[Certificate, ...]:
    """What to print beside a goal for a posterior: the paper's theorem for it, and its relatives.

    Arguments:
        goal: a goal for a posterior.
        values: (problem, candidate), on the posterior problems.
        posterior: one probability per candidate.
        prior: one probability per candidate.
        confidence: in (0, 1).
        lam: λ of the paper's theorem, chosen on prior problems; without it, a grid is paid for.
        draws: the draws to compare.

    Returns:
        Certificates to compare with; none for measures that the paper has no theorem on.

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
            lam=lam,
            draws=draws,
        )
    if goal.measure != "probability":
        return ()
    theorem = PosteriorProbability(goal.functional, lam, CHOSEN if lam is not None else BEFOREHAND)
    own = theorem.best_posterior(values, prior, failure_probability(confidence))
    return (theorem.certify(values, own, prior, confidence, draws=draws),)


def _best_posterior(
    goal: PosteriorGoal, values: Any, losses: Any, prior: Any, lam: Lambda, delta: float, cap: float
) -> Array:
    """Of the Gibbs posteriors of a grid, the one with the smallest bound on the losses."""
    grid = lam if isinstance(lam, tuple) else (float(lam),)
    posteriors = [paper_posterior(losses, prior, each, cap) for each in grid]
    if len(grid) == 1:
        return posteriors[0]
    sign = -1.0 if goal.measure == "probability" else 1.0
    bounds = [sign * goal.find(values, each, kl_divergence(each, prior), delta).bound for each in posteriors]
    return posteriors[int(np.argmin(bounds))]


def _averages(values: Any, posterior: Any, cap: float) -> Array:
    """The posterior's average on each problem, as a share of the cap."""
    shares = per_candidate(values, cap)
    return shares @ one_per_candidate("posterior", posterior, shares)


def _property_grid(count: int, delta: float) -> tuple[float, ...]:
    lowest = np.sqrt(8 * np.log(GRID_SIZE / delta) / count)
    return tuple(ratio * count for ratio in geometric_grid(min(lowest, LARGEST_RATIO / 2), LARGEST_RATIO, GRID_SIZE))
