"""A race among families of algorithms: classical ones, tuned ones and learned ones, for one class of problems.

The rule, in three rounds on training problems and a final on validation problems:

1. Every family tries a few settings on half of the problems. The better half stays. Classical methods get all of them.
2. Those that stay try more settings on all problems. The best three stay.
3. Those that stay try more settings still.

The final compares the best setting of each, and the best classical method of the first round, on the validation
problems. The smallest cost wins; a classical method wins ties. Whatever solves significantly fewer problems than a
classical method (if a mean is what counts), or ends with significantly higher losses, comes after those that do not: in
the final, and among the settings that a family tries. Few steps to a bad stationary point are no advantage. Neither
prior, posterior nor held-out problems are involved, so whatever wins, certificates on those are valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm, stack
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass, count_problems
from ..statistics.timing import best_in_turn
from ..trajectory.evaluation import Performance, evaluate
from ..trajectory.functionals import Functional
from .cost import Cost
from .tuning import Space, search
from .verdict import LOSSES, Verdict, unreliable

ROUNDS = ((8, 1, 0.5), (10, 2, 1.0), (10, 3, 1.0))
"""In each round, how many settings a family tries at a time, how often, and on which share of the problems."""

LAST = 3
"""How many families are in the last round and in the final."""

TIMING = 12.0
"""About how many seconds the final spends on timing, where time is what counts."""

SLACK, SHORTEST = 2.0, 40
"""Later rounds cut off runs at this multiple of the steps that 95% of the family's best runs took, or at 40 steps."""


@dataclass(frozen=True)
class Family:
    """Algorithms that differ in a few numbers.

    Fields:
        name: how the report calls it.
        kind: "classical" (as the books have it), "tuned" (a classical method with numbers for the class) or "learned".
        make: makes an algorithm from numbers given by keyword.
        space: the range of each number; without any there is nothing to tune.
        start: the setting to try first.
    """

    name: str
    kind: str
    make: Callable[..., Algorithm]
    space: Space = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def classical(name: str, algorithm: Algorithm) -> Family:
        """A classical method, unchanged."""
        return Family(name, "classical", lambda: algorithm)


@dataclass(frozen=True)
class Standing:
    """How far a family came: its best setting, the cost of that, on how many problems, and its final place."""

    family: Family
    setting: Mapping[str, float]
    cost: float
    problems: int
    came_to: str
    longest: float = math.inf
    """What 95% of the runs of the best setting took, in steps; infinite if there were none."""
    reliable: bool = True
    """Whether it is not behind the classical method of the final."""

    @property
    def failed(self) -> bool:
        """Whether the family could not be run on this class."""
        return math.isinf(self.longest)

    @property
    def algorithm(self) -> Algorithm:
        return self.family.make(**self.setting)

    def to_dict(self) -> dict[str, Any]:
        """For the summary of a run."""
        numbers = {"cost": self.cost, "problems": self.problems, "came_to": self.came_to, "setting": dict(self.setting)}
        return {"name": self.family.name, "kind": self.family.kind} | numbers


@dataclass(frozen=True)
class Race:
    """Where families race: the problems, when they are solved, and what counts.

    Fields:
        training: a stack of problems for the rounds.
        validation: a stack of problems for the final.
        functionals: what is measured; the functional of the cost is among them.
        effort: scales the number of settings.
    """

    problem_class: ProblemClass
    training: Any
    validation: Any
    criterion: Criterion
    horizon: int
    cost: Cost
    functionals: tuple[Functional, ...]
    key: Key[Array, ""]
    effort: float = 1.0
    checkpoints: Path | None = None
    report: Callable[[str], None] = lambda line: None

    def run(self, families: Sequence[Family]) -> list[Standing]:
        """All families in the order in which they finished, the winner first."""
        entered = [Standing(each, each.start, math.inf, 0, "the start") for each in families]
        classical, racing = _parted(entered)
        classical, references = self._classical(classical)
        out: list[Standing] = []
        for number in range(len(ROUNDS)):
            ran = sorted((self._tried(each, number, references) for each in racing), key=_order)
            shown = sorted(ran + classical, key=_order) if number == 0 else ran
            self.report(f"round {number + 1}: " + ", ".join(f"{s.family.name} {s.cost:.4g}" for s in shown))
            room = max(LAST, math.ceil(len(ran) / 2)) if number == 0 else LAST
            racing, out = ran[:room], ran[room:] + out
        failed = [each for each in racing if each.failed]
        racing = [each for each in racing if not each.failed] + classical[:1]
        out = out + failed + classical[1:]
        if not racing:
            raise ValueError("no algorithm works on these problems, so there is nothing to choose from.")
        final = sorted(self._final(racing), key=_order)
        self.report("final: " + ", ".join(f"{s.family.name} {s.cost:.4g}" for s in final))
        return final + out

    def _classical(self, standings: Sequence[Standing]) -> tuple[list[Standing], list[Verdict]]:
        """Classical methods after a run on all training problems, and what came of them, both best first."""
        found = []
        for each in standings:
            try:
                performance = self._evaluated(stack([each.algorithm]), self.training, self.horizon, self.checkpoints)
            except (ValueError, TypeError, FloatingPointError) as error:
                found.append((self._failed(each, error), None))
                continue
            verdict = self._verdicts(performance)[0]
            longest = float(np.quantile(performance["stopping_time"], 0.95))
            count = count_problems(self.training)
            found.append((Standing(each.family, {}, verdict.cost, count, "round 1", longest), verdict))
        found.sort(key=lambda each: _order(each[0]))
        return [each for each, _ in found], [verdict for _, verdict in found if verdict is not None]

    def _failed(self, standing: Standing, error: Exception) -> Standing:
        """A family that could not be run on this class, whatever the reason."""
        self.report(f"{standing.family.name} does not work here: {error}")
        return replace(standing, cost=math.inf, came_to="round 1", longest=math.inf)

    def _tried(self, standing: Standing, number: int, references: Sequence[Verdict]) -> Standing:
        """The family after one more round. One that fails on this class comes last.

        A setting that ends with clearly higher losses than a classical method has an infinite cost.
        """
        family, (settings, times, part), came_to = standing.family, ROUNDS[number], f"round {number + 1}"
        count = max(4, int(part * count_problems(self.training)))
        problems = jax.tree.map(lambda leaf: leaf[:count], self.training)
        known = [each.first(count) for each in references]
        seen: list[tuple[float, float]] = []

        def costs(made: list[Algorithm]) -> list[float]:
            performance = self._evaluated(stack(made), problems, self._cut(standing), self.checkpoints)
            verdicts, times = self._verdicts(performance), performance["stopping_time"]
            found = [math.inf if any(each.behind(r, unsolved=False) for r in known) else each.cost for each in verdicts]
            seen.extend(zip(found, np.quantile(times, 0.95, axis=(1, 2)).tolist(), strict=True))
            return found

        try:
            if family.space:
                candidates = max(2, round(self.effort * settings))
                setting = search(family.make, family.space, costs, standing.setting, candidates, times).parameters
            else:
                costs([family.make()])
                setting = {}
        except (ValueError, TypeError, FloatingPointError) as error:
            return self._failed(standing, error)
        cost, longest = min(seen)
        return Standing(family, setting, cost, count, came_to, longest)

    def _verdicts(self, performance: Performance) -> list[Verdict]:
        """What came of each candidate of a stack. A step takes the same time whatever the setting."""
        values, solved = performance[self.cost.weighed_by], performance.outcome == "solved"
        each_step = performance.seconds / max(float(values.sum()), 1.0) if self.cost.by_clock else 1.0
        measured = [each_step * float(each.mean()) if self.cost.by_clock else self.cost.of(each) for each in values]
        costs = [self.cost.per_solved(cost, share.mean()) for cost, share in zip(measured, solved, strict=True)]
        rows = [{name: each[k] for name, each in performance.values.items()} for k in range(len(costs))]
        return [Verdict.of(*each) for each in zip(costs, rows, performance.outcome, strict=True)]

    def _final(self, standings: list[Standing]) -> list[Standing]:
        """The costs on the validation problems."""
        found = self.judged({each.family.name: each.algorithm for each in standings})
        classical = [each.family.name for each in standings if each.family.kind == "classical"]
        behind = unreliable(self.cost, found, classical)
        final = {"problems": count_problems(self.validation), "came_to": "the final"}
        return [
            replace(each, cost=found[each.family.name].cost, reliable=each.family.name not in behind, **final)
            for each in standings
        ]

    def judged(self, algorithms: Mapping[str, Algorithm]) -> dict[str, Verdict]:
        """The cost of each algorithm on the validation problems; if time counts, all are timed in turn."""
        runs = {
            name: partial(self._evaluated, algorithm, self.validation, self.horizon)
            for name, algorithm in algorithms.items()
        }
        first = {name: run(self.checkpoints) for name, run in runs.items()}
        if self.cost.by_clock:
            clocks = {name: lambda run=run: run(None).seconds for name, run in runs.items()}
            seconds = best_in_turn(clocks, TIMING, {name: each.seconds for name, each in first.items()})
            costs = {name: each / count_problems(self.validation) for name, each in seconds.items()}
        else:
            costs = {name: self.cost.of(each[self.cost.functional]) for name, each in first.items()}
        found = {name: Verdict.of(costs[name], each.values, each.outcome) for name, each in first.items()}
        return {
            name: each._replace(cost=self.cost.per_solved(each.cost, float(each.solved.mean())))
            for name, each in found.items()
        }

    def _evaluated(self, algorithm: Any, problems: Any, horizon: int, checkpoints: Path | None) -> Performance:
        return evaluate(
            algorithm,
            self.problem_class,
            problems,
            criterion=self.criterion,
            horizon=horizon,
            key=self.key,
            functionals=self.functionals + (() if hasattr(self.problem_class, "merit") else LOSSES),
            checkpoints=checkpoints,
        )

    def _cut(self, standing: Standing) -> int:
        """A horizon that settings of this family which are better than its best so far do not reach."""
        return int(min(self.horizon, max(SHORTEST, SLACK * standing.longest)))


def _parted(standings: Sequence[Standing]) -> tuple[list[Standing], list[Standing]]:
    """Those of classical methods, which have nothing to tune, and the others."""
    classical = [each for each in standings if each.family.kind == "classical"]
    return classical, [each for each in standings if each not in classical]


def _order(standing: Standing) -> tuple[bool, float, bool]:
    cost = standing.cost if not math.isnan(standing.cost) else math.inf
    return (not standing.reliable, cost, standing.family.kind != "classical")
