"""The choice of what is deployed: whatever was learned, or a classical method if that is better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..algorithms.algorithm import Algorithm
from ..experiments.experiment import Experiment
from ..learning.cost import Cost
from ..learning.race import Race
from ..learning.verdict import Verdict, unreliable
from ..problems.role import Role, own_key
from ..results.choice import Choice, Entrant
from ..storage.plain_json import decoded
from .directory import RunDirectory

LEARNED = "learned"


def chosen(
    experiment: Experiment,
    algorithms: Mapping[str, Algorithm],
    cost: Cost,
    seed: int,
    facts: Mapping[str, Any],
    place: RunDirectory,
) -> tuple[Choice, float]:
    """Judge algorithms by a cost on the validation problems; the best one is chosen.

    One that ends with significantly higher losses than a classical method is not chosen; nor is one that solves
    significantly fewer problems, where the cost is a mean. Of equal costs, such as probabilities that are 0, that of
    fewer steps is preferred, and then the classical method.
    Validation problems are used neither for the prior nor for any certificate.

    Arguments:
        experiment: the setting.
        algorithms: by name; what was learned is called "learned".
        cost: what is to be small.
        seed: of the run.
        facts: what was noted while learning; the standings of a race, if there was one.
        place: where the costs are kept.

    Returns:
        The choice, and the most oracle calls per step that the chosen algorithm needs on one of these problems.
    """
    verdicts = judged(experiment, algorithms, cost, seed, place, "choice")
    order = sorted(verdicts, key=lambda name: (verdicts[name].steps, name == LEARNED))
    costs = {name: verdicts[name].cost for name in order}
    solved = {name: each.solved for name, each in verdicts.items()}
    behind = unreliable(cost, verdicts, [name for name in algorithms if name != LEARNED])
    winner = min(costs, key=lambda name: (name in behind, np.nan_to_num(costs[name], nan=np.inf)))
    shares = {name: float(each.mean()) for name, each in solved.items()}
    entrants = tuple(Entrant(**each) for each in decoded(facts.get("race", [])))
    higher = {name: float(each.worse_than(verdicts[winner]).mean()) for name, each in verdicts.items()}
    higher = {name: share for name, share in higher.items() if share}
    choice = Choice(str(cost), winner, costs, experiment.sizes[Role.validation.text], entrants, shares, higher)
    return choice, verdicts[winner].calls_per_step


def judged(
    experiment: Experiment,
    algorithms: Mapping[str, Algorithm],
    cost: Cost,
    seed: int,
    place: RunDirectory,
    stage: str,
) -> dict[str, Verdict]:
    """What each algorithm costs on the validation problems, and which of them it solves; kept as a stage of the run."""

    def judge() -> dict[str, Any]:
        problems = experiment.draw(Role.validation, seed, optimal_losses=True)
        key = own_key(seed, 0xC401)
        race = Race(
            experiment.problem_class, problems, problems, experiment.criterion, experiment.horizon, cost,
            experiment.functionals, key, checkpoints=place.evaluations,
        )  # fmt: skip
        found = race.judged(algorithms).values()
        return {name: np.array([getattr(each, name) for each in found]) for name in Verdict._fields}

    arrays = place.arrays(stage, judge)
    found = zip(algorithms, *(arrays[name] for name in Verdict._fields), strict=True)
    return {name: Verdict(*numbers)._replace(cost=float(numbers[0])) for name, *numbers in found}
