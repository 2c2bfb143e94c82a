"""What a run certifies. Everything is fixed on the prior problems, before posterior and held-out problems are drawn."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from ..certificates import (
    Distribution,
    Draw,
    Goal,
    Mean,
    Plan,
    PosteriorMean,
    PosteriorProbability,
    Probability,
    Quantile,
)
from ..experiments.experiment import Experiment
from ..problems.role import Role
from ..trajectory.functionals import Functional, Indicator, OracleCalls

CONFIDENCE = 0.95

STOPPING = "stopping_time"
"""The functional that every run certifies."""

OF_POSTERIOR = (STOPPING, "contraction_factor")
"""Functionals whose means over the posterior are certified as well."""

LARGER_PARTS = {STOPPING: 3.0, "contraction_factor": 3.0}
"""Means that get a larger part of the failure probability; every other certificate gets a part of 1."""

ORIGIN = "best on the prior problems"


def certified(experiment: Experiment) -> tuple[Functional, ...]:
    """The functionals whose means are certified: all that have a largest value. Oracle calls are truncated for that."""
    calls = float(experiment.task.calls_per_step * experiment.horizon)
    truncated = (
        dataclasses.replace(each, cap=calls) if isinstance(each, OracleCalls) and math.isinf(each.cap) else each
        for each in experiment.functionals
    )
    found = tuple(each for each in truncated if math.isfinite(each.largest(experiment.horizon)))
    if STOPPING not in (each.name for each in found):
        raise ValueError(
            f"the functionals of {experiment.name} must include loa.StoppingTime(), truncated at the horizon."
        )
    return found


def caps_of(experiment: Experiment) -> dict[str, float]:
    """The largest value of every functional that is certified."""
    return {each.name: each.largest(experiment.horizon) for each in certified(experiment)}


def parts_of(functionals: tuple[Functional, ...]) -> dict[str, float]:
    """Proportions in which the certificates share the failure probability, by their names."""
    parts = {words(each): LARGER_PARTS.get(each.name, 1.0) for each in functionals}
    parts |= {"success": 1.0, "95 % quantile": 1.0, "distribution": 1.0}
    parts |= {f"posterior {words(each)}": LARGER_PARTS[each.name] for each in functionals if each.name in OF_POSTERIOR}
    return parts | {"posterior success": 1.0}


def posterior_share(functionals: tuple[Functional, ...]) -> float:
    """The failure probability of each certificate of a mean over the posterior."""
    return (1 - CONFIDENCE) * LARGER_PARTS[STOPPING] / sum(parts_of(functionals).values())


def plan_for(experiment: Experiment, prior: np.ndarray, lam: Mapping[str, float], draws: tuple[Draw, ...]) -> Plan:
    """Everything that will be certified, with the λ of each functional as the prior problems gave them.

    Whether the deployed algorithm is certified on held-out problems or, by Occam, on the posterior problems is decided
    by the rule of `Plan.decided`.

    Arguments:
        prior: one probability per candidate.
        lam: λ by functional, for those of `OF_POSTERIOR`.
        draws: the draws that the prior was made from.
    """
    functionals, caps = certified(experiment), caps_of(experiment)
    goals: dict[str, Goal] = {words(each): _goal(each, caps[each.name]) for each in functionals} | {
        "success": Probability("solved"),
        "95 % quantile": Quantile(STOPPING, 0.95, cap=caps[STOPPING]),
        "distribution": Distribution(STOPPING, caps[STOPPING]),
    }
    posterior_goals = {
        f"posterior {words(each)}": PosteriorMean(each.name, caps[each.name], lam[each.name], ORIGIN, each.unit)
        for each in functionals
        if each.name in OF_POSTERIOR
    } | {"posterior success": PosteriorProbability("solved")}
    sizes = {role.text: experiment.sizes[role.text] for role in (Role.posterior, Role.held_out)}
    parts = parts_of(functionals)
    plan = Plan(goals, posterior_goals, confidence=CONFIDENCE, parts=parts, sizes=sizes, draws=draws)
    return plan.decided(prior)


def _goal(functional: Functional, cap: float) -> Goal:
    """At least the probability of a property, at most the mean of anything else."""
    if isinstance(functional, Indicator):
        return Probability(functional.name)
    return Mean(functional.name, cap, functional.unit)


def words(functional: Functional) -> str:
    """The name of a functional in words, under which its certificate stands."""
    return functional.name.replace("_", " ")
