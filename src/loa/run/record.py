"""How often the results on the problems of a class were seen in a directory, by its ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..certificates import Certificate, Draw, Plan
from ..problems.role import Role
from ..storage.ledger import Entry, Ledger

LOOKS = (Role.posterior.text, Role.held_out.text, Role.test.text)
"""Roles whose results have been seen once their problems were drawn and measured."""


class Looks(NamedTuple):
    """Which look at a problem class this is, and the seeds of the earlier ones."""

    number: int = 1
    earlier_seeds: tuple[int, ...] = ()


UNKNOWN = Looks(0)


class RunRecord:
    """Writes what a run does into the ledger of its directory; what was noted before an interruption stays noted once.

    Arguments:
        ledger: of the directory.
        identity: of the run.
    """

    def __init__(self, ledger: Ledger, identity: Mapping[str, Any]):
        known = {name: each.get("is", each) if isinstance(each, Mapping) else each for name, each in identity.items()}
        self.ledger, self.seed = ledger, int(identity.get("seed", 0))
        self.problem_class = str(identity.get("problem class", {}).get("fingerprint", ""))
        self.about = {name: str(known.get(name, "")) for name in ("experiment", "criterion", "horizon", "seed")}
        self.about |= {"problem class": self.problem_class, "version": str(known.get("versions", {}).get("loa", ""))}

    def begin(self, *, resumed: bool) -> None:
        """A run begins, unless it is one that was interrupted."""
        if not (resumed and self._own()):
            self.ledger.append("run", seed=self.seed, problem_class=self.problem_class)

    def plan(self, plan: Plan) -> None:
        self._note("plan", fingerprint=plan.fingerprint, sizes=dict(plan.sizes), confidence=plan.confidence)

    def draw(self, role: str, size: int, draw: Draw | None = None) -> None:
        """Problems are drawn, to be measured."""
        fingerprint = {} if draw is None else {"fingerprint": draw.fingerprint}
        self._note("draw", role=role, size=size, **fingerprint)

    def bounds(self, certificates: Mapping[str, Certificate]) -> None:
        for name, each in certificates.items():
            self._note("bound", name=name, bound=repr(each.bound), confidence=each.confidence, data=each.data)

    def looks(self) -> Looks:
        """Which look this is: one more than there were runs before that drew problems to measure."""
        runs: list[list[Entry]] = []
        for entry in self.ledger.entries():
            runs = [*runs, [entry]] if entry.event == "run" else [*runs[:-1], [*runs[-1], entry]] if runs else runs
        earlier = tuple(run[0].content["seed"] for run in runs[:-1] if self._looked(run))
        return Looks(len(earlier) + 1, earlier)

    def _looked(self, run: list[Entry]) -> bool:
        same = run[0].content["problem_class"] == self.problem_class
        return same and any(each.event == "draw" and each.content["role"] in LOOKS for each in run)

    def _own(self) -> list[Entry]:
        """The entries of the last run, if it is of this class and seed."""
        entries = self.ledger.entries()
        begins = [place for place, entry in enumerate(entries) if entry.event == "run"]
        own = entries[begins[-1] :] if begins else []
        described = {"seed": self.seed, "problem_class": self.problem_class}
        return own if own and dict(own[0].content) == described else []

    def _note(self, event: str, **content: Any) -> None:
        if not any((each.event, dict(each.content)) == (event, content) for each in self._own()):
            self.ledger.append(event, **content)
