"""What a goal is: a measure of a functional, fixed before the data, that makes a certificate of values."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..messages.arguments import check_type, is_number, shown
from ..trajectory.units import TIMED
from .bounds.inputs import Array, failure_probability, fingerprint
from .certificate import Certificate
from .known_samples import remembered
from .misuse import check_sample
from .sentences import EXCHANGEABLE

INDEPENDENT = "the problems are independent draws of the distribution that later problems come from"
SEQUENCES = "sequences begin with independent draws of the distribution that later ones, of the same length, begin with"
HELD_OUT = "the algorithm was fixed without these problems"
BEFOREHAND = "their number, cap, level and threshold were fixed without these problems"
PRIOR_FIRST = "candidates, prior, λ (or its grid) and cap were fixed without these problems"
ANY_TIME = "cap, level and threshold were fixed without these problems; when to stop was decided without later ones"
NOT_TRUNCATED = "no value is truncated: a run that was stopped early counts as infinite"
CAPPED = "a run that exceeds the cap counts as the cap, which was not taken from the values and has their unit"
ALL_MASS = "the prior had all its mass on one candidate, which was chosen without these problems"
SAME_MACHINE = "the machine, its load and the number of threads are as they were when these times were measured"
OTHER_PROBLEMS = "the values that improve the first bets come from other problems"
"""What a certificate rests on and the code cannot check."""

COMPLETE = "no value is missing or NaN"
WITHIN_CAP = "every value lies between 0 and the cap"
INDICATORS = "every value is 0 or 1"
ONE_EACH = "there is one value per problem"
FINITE_KL = "prior and posterior are probabilities, and the prior has mass where the posterior has"
DISJOINT = "no problem is in two draws whose roles must be disjoint"
"""What a certificate rests on and the code has checked."""


class Found(NamedTuple):
    """A bound, the same measure on the sample, and by which method."""

    bound: float
    empirical: float
    kind: str
    band: tuple[tuple[float, float], ...] | None = None
    beyond: float | None = None
    threshold: float | None = None


@dataclasses.dataclass(frozen=True)
class Goal(ABC):
    """A measure of a functional that is to be certified for the deployed algorithm."""

    functional: str
    measure: ClassVar[str]
    ranked: ClassVar[bool] = False

    def __post_init__(self):
        check_type("functional", self.functional, str, "the name of a functional")

    @abstractmethod
    def find(self, values: Any, delta: float) -> Found:
        """The bound that holds with probability 1 - delta for an algorithm fixed without these values."""

    def certify(
        self,
        values: Any,
        confidence: float,
        *,
        draws: Mapping[str, str] | None = None,
        prior_mass: float | None = None,
    ) -> Certificate:
        r"""The certificate from values, (problem,) or where replicates can be averaged (problem, replicate).

        Arguments:
            values: on held-out problems, which neither training nor selection has seen.
            confidence: in (0, 1).
            draws: fingerprints of the draws by role, for the record.
            prior_mass: π(h), for a candidate that was chosen on these same problems (Occam's razor). It is given
                \(\delta\pi(h)\), which sums to at most δ over all candidates, so that its bound holds whichever was
                chosen: the Dirac posterior, of divergence \(\log 1/\pi(h)\).
        """
        delta = failure_probability(confidence) * checked_mass(prior_mass)
        check_sample(values, getattr(self, "cap", 1.0))
        return self.record(values, self.find(values, delta), confidence, draws=draws, prior_mass=prior_mass)

    def record(
        self,
        values: Any,
        found: Found,
        confidence: float,
        *,
        draws: Mapping[str, str] | None = None,
        prior_mass: float | None = None,
        assumptions: tuple[str, ...] = (INDEPENDENT, HELD_OUT, BEFOREHAND),
    ) -> Certificate:
        """The certificate that says what was found."""
        values, cap = np.asarray(values), getattr(self, "cap", None)
        occam = prior_mass is not None
        rests_on = (INDEPENDENT, PRIOR_FIRST, BEFOREHAND) if occam else assumptions
        rests_on += (ALL_MASS,) if prior_mass == 1 else ()
        return Certificate(
            functional=self.functional,
            measure=self.measure,
            kind="occam" if occam else found.kind,
            bound=float(found.bound),
            empirical=float(found.empirical),
            confidence=float(confidence),
            n=len(values),
            cap=None if cap is None else float(cap),
            at_cap=None if cap is None or values.dtype == bool else share_at_cap(values, cap),
            level=getattr(self, "level", None),
            threshold=getattr(self, "threshold", None) if found.threshold is None else found.threshold,
            beyond=found.beyond,
            moment=getattr(self, "moment", None),
            power=getattr(self, "power", None),
            band=found.band,
            kl=float(-np.log(prior_mass)) if prior_mass is not None else None,
            draws=dict(draws or {}),
            data=fingerprint(values),
            memory=remembered(values),
            assumptions=(*rests_on, *self._declared()),
            checked=self._checked(),
            unit=getattr(self, "unit", ""),
        )

    def _declared(self) -> tuple[str, ...]:
        """What the cap means to the goal, where whoever declares that there is none vouches for it, and the clock."""
        timed = (SAME_MACHINE,) if {self.functional, getattr(self, "unit", "")} & TIMED else ()
        return (*timed, *self._about_cap())

    def _about_cap(self) -> tuple[str, ...]:
        if getattr(self, "cap", 1.0) is None:
            return (NOT_TRUNCATED,)
        return (CAPPED,) if self.measure in ("mean", "cvar") else ()

    def _checked(self) -> tuple[str, ...]:
        if self.measure == "probability":
            return COMPLETE, INDICATORS, ONE_EACH
        within = () if getattr(self, "cap", None) is None else (WITHIN_CAP,)
        return (COMPLETE, *within) if self.measure == "mean" else (COMPLETE, *within, ONE_EACH)

    def shares(self, values: Any) -> Array:
        """One number in [0, 1] per problem, whose mean decides: what an any-time bound is made from."""
        raise self._without_anytime_bound()

    def from_share(self, upper: float) -> float:
        """The bound that an upper bound on the mean of `shares` gives."""
        raise self._without_anytime_bound()

    def so_far(self, values: Any, delta: float) -> Found:
        """The any-time bound from all values so far, for a goal that is `ranked` and not made from `shares`."""
        raise self._without_anytime_bound()

    def _without_anytime_bound(self) -> ValueError:
        return ValueError(
            f"there is no any-time bound for {type(self).__name__}: use Mean, Probability, Tail, CVaR, Quantile or "
            "Distribution, or fix the number of problems beforehand."
        )


def share_at_cap(values: Array, cap: float) -> float:
    """The share of values at the cap, compared in their own precision."""
    floating = values if np.issubdtype(values.dtype, np.floating) else values.astype(float)
    return float((floating >= np.asarray(cap, floating.dtype)).mean())


def with_compared_draws(certificate: Certificate, logged: bool = False) -> Certificate:
    """The certificate with a note that its draws were checked for problems in common."""
    certificate = of_stream(certificate) if logged else certificate
    return dataclasses.replace(certificate, checked=(*certificate.checked, DISJOINT))


def of_stream(certificate: Certificate) -> Certificate:
    """The certificate as one about the stream of problems that instances were logged from."""
    others = tuple(each for each in certificate.assumptions if each != INDEPENDENT)
    return dataclasses.replace(certificate, assumptions=(EXCHANGEABLE, *others))


def of_sequences(certificate: Certificate) -> Certificate:
    """The certificate as one about sequences of problems, of which only the first ones are drawn."""
    others = tuple(each for each in certificate.assumptions if each != INDEPENDENT)
    return dataclasses.replace(certificate, assumptions=(SEQUENCES, *others))


def checked_mass(prior_mass: float | None) -> float:
    """π(h) in (0, 1], or one where there was no choice."""
    if prior_mass is None:
        return 1.0
    if not (is_number(prior_mass) and 0 < prior_mass <= 1):
        raise ValueError(
            f"prior_mass must lie in (0, 1], got {shown(prior_mass)}: a candidate without prior mass has no bound."
        )
    return float(prior_mass)
