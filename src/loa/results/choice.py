"""What was chosen to be deployed, against what, and by how much."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Entrant:
    """A family of algorithms in the race of learning, and how far it came.

    Fields:
        kind: "classical", "tuned" or "learned".
        cost: of its best setting, on the training problems of the last round that it was in, or in the final on
            validation problems.
        problems: how many there were.
        came_to: the last round that it was in, or the final.
        setting: the numbers that were found.
    """

    name: str
    kind: str
    cost: float
    problems: int
    came_to: str
    setting: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """What was chosen to be deployed, against what, and by how much.

    Fields:
        minimize: the cost that was to be small, such as "steps".
        chosen: the name of the winner; `own`, or that of a classical method.
        costs: of the learned algorithm and of each classical one, on validation problems.
        problems: how many validation problems there were.
        entrants: the families that raced when the algorithm was learned, best first.
        solved: the share of the validation problems that each of them solves.
        higher: the share on which it solves a problem, but with a clearly higher loss than the chosen one; not 0.
    """

    minimize: str = "steps"
    chosen: str = "learned"
    costs: Mapping[str, float] = field(default_factory=dict)
    problems: int = 0
    entrants: tuple[Entrant, ...] = ()
    solved: Mapping[str, float] = field(default_factory=dict)
    higher: Mapping[str, float] = field(default_factory=dict)

    @property
    def own(self) -> str:
        """The name of what was found in this run: "learned", or "tuned" for a solver that is not JAX."""
        return "tuned" if self.costs and "learned" not in self.costs else "learned"

    @property
    def classical(self) -> str | None:
        """The name of the classical method that is deployed unchanged; None if what was learned is deployed."""
        if self.chosen != self.own:
            return self.chosen
        winner = self.entrants[0] if self.entrants else None
        return winner.name if winner is not None and winner.kind == "classical" else None

    @property
    def rival(self) -> str | None:
        """The best classical method on the validation problems."""
        others = {name: cost for name, cost in self.costs.items() if name != self.own and not math.isnan(cost)}
        return min(others, key=others.__getitem__, default=None)

    def sentence(self) -> str:
        """What is deployed, against what, and by how much; empty if there was no choice.

        >>> Choice("steps", "learned", {"learned": 10.0, "L-BFGS": 40.0}, 250).sentence()
        'The learned algorithm was chosen: on 250 validation problems it has 0.25 × the steps of L-BFGS.'
        >>> Choice("steps", "CG", {"learned": 41.0, "CG": 40.0}, 250).sentence()
        'Nothing that was learned beats CG in steps on 250 validation problems, so CG is deployed.'
        >>> print(Choice("steps", "CG", {"learned": 2.0, "CG": 4.0}, 250, (), {"learned": 0.9, "CG": 1.0}).sentence())
        The learned algorithm has 0.5 × the steps of CG on 250 validation problems, but solves 90% of them instead of \
100%, so CG is deployed.
        >>> print(Choice("steps", "CG", {"learned": 50, "CG": 50}, 250, (), {"learned": 0.0, "CG": 0.0}).sentence())
        None of the algorithms solves any of 250 validation problems: allow more steps, or a larger tolerance. What is \
deployed is CG.
        >>> print(Choice("steps", "CG", {"learned": 2.0, "CG": 4.0}, 9, (), {"learned": 1, "CG": 1}, {"learned": 1})
        ...       .sentence())
        The learned algorithm has 0.5 × the steps of CG on 9 validation problems, but ends with a clearly higher loss \
than CG on 100% of them, so CG is deployed.
        """
        if self.rival is None:
            return ""
        if len(set(self.costs.values())) == 1 and self.solved and not any(self.solved.values()):
            none = f"None of the algorithms solves any of {self.problems} validation problems"
            deployed = self.classical or "the learned algorithm"
            return f"{none}: allow more steps, or a larger tolerance. What is deployed is {deployed}."
        where, words = f"on {self.problems} validation problems", self.minimize
        if self.chosen != self.own and self.costs.get(self.own, math.inf) < self.costs[self.chosen]:
            cheaper = f"The learned algorithm has {self.costs[self.own] / self.costs[self.chosen]:.2g} × the {words}"
            return f"{cheaper} of {self.chosen} {where}, but {self._weakness()}, so {self.chosen} is deployed."
        if self.classical is not None:
            beaten = f"Nothing that was {self.own} beats {self.classical} in {words} {where}"
            return f"{beaten}, so {self.classical} is deployed."
        best, own = self.costs[self.rival], self.costs[self.own]
        who = "The learned algorithm" if self.own == "learned" else "The tuned setting"
        if math.isinf(best):
            return f"{who} was chosen: {where} it has {own:.3g} {words}, and those of {self.rival} are infinite."
        share = f"{own / best:.2g} × the {words}" if best > 0 else f"{own:.3g} instead of {best:.3g} {words}"
        return f"{who} was chosen: {where} it has {share} of {self.rival}."

    def _weakness(self) -> str:
        """Why what costs less was not chosen: the reason that weighs more."""
        own, chosen = (self.solved.get(name, 0.0) for name in (self.own, self.chosen))
        higher = self.higher.get(self.own, 0.0)
        if higher > chosen - own:
            return f"ends with a clearly higher loss than {self.chosen} on {higher:.0%} of them"
        return f"solves {own:.0%} of them instead of {chosen:.0%}"

    def to_json(self) -> dict[str, Any]:
        content = dataclasses.asdict(self)
        return content if self.higher else {name: each for name, each in content.items() if name != "higher"}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Choice:
        return cls(**{**content, "entrants": tuple(Entrant(**each) for each in content["entrants"])})


NONE = Choice()
"""There was nothing to choose from."""
