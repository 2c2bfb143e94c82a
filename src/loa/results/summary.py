"""What a run found, in typed numbers: the content of `summary.json`.

A `RunSummary` is built once, by the run. Tables, figures, the report and the documentation read from it and compute
nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..storage.plain_json import CHECKSUM, decoded, digest, encoded
from .algorithm_summary import AlgorithmSummary, FunctionalSummary
from .certificate_summary import CertificateSummary
from .choice import NONE, Choice
from .field_types import check_types
from .names import CLOCKED, COSTS, TIMES, Cost

RESERVED = (
    "family", "solved", "solved_interval", "milliseconds", "seconds",  # numbers of an algorithm
    "outcome", "gap", "features", "band_value", "band_share",  # variables of performance.nc
    "log_stopping_time", "log_place", "log_role",  # variables of performance.nc, for a log
    "algorithm", "problem", "replicate", "time", "statistic", "feature", "band", "instance",  # its axes
    "success", "distribution",  # certificates of every run
)  # fmt: skip
"""Names of something else in the results, which no functional may have."""

NUMBERS = ("certificates", "published", "seconds")
"""Parts of a summary in which a number may be infinite or NaN, which JSON can only hold as text."""

LATER = ("log", "look", "earlier_seeds")
"""Parts that earlier summaries do not have, and that are left out where there is nothing to say."""


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """All numbers of a run, as in `summary.json`."""

    experiment: str
    title: str
    preset: str
    pretrained: bool
    seed: int
    t_max: float
    """The largest number of iterations, or of seconds of a solver that is not JAX."""
    criterion: str
    dimension: int
    algorithm: str
    sizes: Mapping[str, int]
    confidence: float
    functionals: tuple[FunctionalSummary, ...]
    learned: AlgorithmSummary
    baselines: Mapping[str, AlgorithmSummary]
    certificates: tuple[CertificateSummary, ...]
    candidates: int
    choice: Choice = NONE
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    more_tests: Mapping[str, AlgorithmSummary] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    claims: tuple[Mapping[str, Any], ...] = ()
    log: Mapping[str, Any] = field(default_factory=dict)
    plan: str = ""
    look: int = 0
    """Which look at this problem class it is, by the ledger of the directory; 0 if it is not known."""
    earlier_seeds: tuple[int, ...] = ()
    """The seeds of the looks before."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def time(self) -> FunctionalSummary:
        """What says how long a problem takes: iterations, or the seconds of a solver that is not JAX."""
        return next(self.functional(name) for name in TIMES if self.has(name))

    @property
    def clocked(self) -> bool:
        """Whether it is a solver that is not JAX, which was tuned and not learned."""
        return self.time.name == "seconds"

    @property
    def costs(self) -> dict[str, Cost]:
        """The costs in which algorithms are compared, by name."""
        return CLOCKED if self.clocked else COSTS

    @property
    def own(self) -> str:
        """The name of the deployed algorithm in tables."""
        return "tuned" if self.clocked else "learned"

    @property
    def who(self) -> str:
        """The deployed algorithm in a sentence."""
        return "the tuned solver" if self.clocked else "the learned algorithm"

    @property
    def algorithms(self) -> dict[str, AlgorithmSummary]:
        """The deployed algorithm, under its name, and the baselines."""
        return {self.own: self.learned, **self.baselines}

    @property
    def heading(self) -> str:
        """The title of the experiment, or its name, with a capital letter."""
        title = self.title or self.experiment
        return title[:1].upper() + title[1:]

    @property
    def seen_before(self) -> bool:
        """Whether an earlier look in the same directory had the same seed, and so the same problems."""
        return self.seed in self.earlier_seeds

    def looks(self) -> str:
        """Which look at the problem class this is, and what that means for the certificates."""
        if self.look == 0:
            return ""
        if self.look == 1:
            return "look 1 at this problem class in this directory"
        seeds = ", ".join(map(str, self.earlier_seeds))
        same = " These very problems were seen before." * self.seen_before
        return (
            f"look {self.look} at this problem class in this directory; earlier looks had the seed"
            f"{'s' * (self.look > 2)} {seeds}.{same} The confidence stated is that of one look: whoever picks the best "
            f"of {self.look} looks has less."
        )

    def has(self, functional: str) -> bool:
        """Whether a functional was measured."""
        return any(each.name == functional for each in self.functionals)

    def functional(self, name: str) -> FunctionalSummary:
        """How a functional is called; a property such as "solved", which is not one, is called by its name."""
        unknown = FunctionalSummary(name, name, "", "", None)
        return next((each for each in self.functionals if each.name == name), unknown)

    def certified_mean(self, functional: str) -> CertificateSummary | None:
        """The certified mean of a functional: of the deployed algorithm, or else of the posterior."""
        fitting = [each for each in self.certificates if each.together and _is_mean(each, functional)]
        return min(fitting, key=lambda each: each.target != "deployed", default=None)

    def paper_bound(self, functional: str) -> CertificateSummary | None:
        """The bound that the paper's own theorem gives for the mean of a functional on the same data."""
        return next((each for each in self.certificates if each.kind == "paper" and _is_mean(each, functional)), None)

    def to_json(self) -> dict[str, Any]:
        """Plain values for `summary.json`, with a checksum; what is not finite becomes text."""
        content = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        content |= {
            "functionals": [dataclasses.asdict(each) for each in self.functionals],
            "learned": self.learned.to_json(),
            "choice": self.choice.to_json(),
            "baselines": {name: each.to_json() for name, each in self.baselines.items()},
            "certificates": [dataclasses.asdict(each) for each in self.certificates],
            "more_tests": {name: each.to_json() for name, each in self.more_tests.items()},
        }
        content = encoded({name: each for name, each in content.items() if name not in LATER or each})
        return {**content, CHECKSUM: digest(content)}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> RunSummary:
        """The inverse of `to_json`. What is no summary, or was edited, gets one sentence that says so."""
        try:
            content = dict(saved)
            if content.pop(CHECKSUM) != digest(content):
                raise ValueError("it was edited after it was made, so its checksum is wrong")
            summary = cls._from_json(content)
            check_types(summary)
            return summary
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"this is not the summary of a run: {reason}.") from error

    @classmethod
    def _from_json(cls, saved: Mapping[str, Any]) -> RunSummary:
        content = dict(saved) | {name: decoded(saved[name]) for name in NUMBERS}
        content |= {
            "functionals": tuple(FunctionalSummary(**each) for each in content["functionals"]),
            "learned": AlgorithmSummary.from_json(content["learned"]),
            "choice": Choice.from_json(decoded(content["choice"])) if "choice" in content else NONE,
            "baselines": {name: AlgorithmSummary.from_json(each) for name, each in content["baselines"].items()},
            "certificates": tuple(CertificateSummary(**each) for each in content["certificates"]),
            "more_tests": {name: AlgorithmSummary.from_json(each) for name, each in content["more_tests"].items()},
            "notes": tuple(content["notes"]),
            "claims": tuple(content["claims"]),
            "earlier_seeds": tuple(content.get("earlier_seeds", ())),
        }
        return cls(**content)


def _is_mean(certificate: CertificateSummary, functional: str) -> bool:
    return (certificate.functional, certificate.measure) == (functional, "mean")
