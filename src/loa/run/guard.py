"""The guard of what a run deploys: a classical method takes over where a learned one stops making progress."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import equinox as eqx
import jax
import numpy as np

from ..algorithms.algorithm import Algorithm
from ..architectures.safeguarded import Safeguarded
from ..experiments.experiment import Experiment
from ..learning import guard
from ..learning.cost import Cost
from ..problems.role import Role, own_key
from ..problems.vector_points import form_of_points
from ..results.choice import Choice
from .choice import LEARNED, judged
from .directory import RunDirectory


def guard_for(
    experiment: Experiment,
    learned: Algorithm,
    classical: Mapping[str, Algorithm],
    choice: Choice,
    cost: Cost,
    seed: int,
    place: RunDirectory,
) -> Safeguarded | None:
    """The guard of what is to be deployed, fixed on the validation problems before any problem is drawn that certifies.

    The fallback is the classical method with the smallest cost among the baselines or, if there are none, among those
    that were tuned. A guard takes time in every step. If time is what counts, and the guarded algorithm would be slower
    than the best classical method, there is no guard.

    Arguments:
        experiment: the setting.
        learned: what was chosen.
        classical: baselines and tuned methods, by name.
        choice: of what is deployed, with the costs of all these on the validation problems.
        cost: what is to be small.
        seed: of the run.
        place: where the guard is kept.

    Returns:
        The guarded algorithm; None where a classical method was chosen, where the experiment wants no guard or has its
        own, where there is no fallback, and where a guard would cost the lead.
    """
    if not experiment.recipe.guarded or choice.chosen != LEARNED or isinstance(learned, Safeguarded):
        return None
    problems = experiment.draw(Role.validation, seed, optimal_losses=True)
    form = form_of_points(experiment.problem_class, jax.tree.map(lambda leaf: leaf[0], problems))
    anything = learned.on_vectors or form.is_vector or not form.is_array
    own = {name: each for name, each in classical.items() if name in experiment.baselines} or classical
    able = [name for name in choice.costs if name in own and (anything or not own[name].on_vectors)]
    if not able:
        return None
    best = own[min(able, key=lambda name: np.nan_to_num(choice.costs[name], nan=np.inf))]
    if bool(eqx.tree_equal(learned, best)):
        return None

    def chosen() -> Algorithm:
        return guard(
            learned, best, experiment.problem_class, problems, criterion=experiment.criterion,
            horizon=experiment.horizon, key=own_key(seed, 0x6A2D), checkpoints=place.evaluations,
        )  # fmt: skip

    found, _ = place.algorithm("guard", chosen)
    assert isinstance(found, Safeguarded)
    if cost.by_clock and not _leads(experiment, found, classical, choice, cost, seed, place):
        return None
    return found


def _leads(
    experiment: Experiment,
    guarded: Safeguarded,
    classical: Mapping[str, Algorithm],
    choice: Choice,
    cost: Cost,
    seed: int,
    place: RunDirectory,
) -> bool:
    """Whether the guarded algorithm is still ahead of the best classical method, with both timed in turn."""
    rival = min(classical, key=lambda name: np.nan_to_num(choice.costs[name], nan=np.inf))
    found = judged(experiment, {LEARNED: guarded, rival: classical[rival]}, cost, seed, place, "choice of the guard")
    return found[LEARNED].cost <= found[rival].cost


def with_guard(guarded: Safeguarded | None, algorithm: Algorithm) -> Algorithm:
    """Another algorithm of the same kind with the same guard, if there is one."""
    return algorithm if guarded is None else dataclasses.replace(guarded, learned=algorithm)
