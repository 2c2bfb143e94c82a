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
    PosteriorGoal,
    PosteriorMean,
    PosteriorProbability,
    Probability,
    Quantile,
    Tail,
)
from ..certificates.bounds.rounding import number_exact
from ..experiments.experiment import Experiment
from ..problems.role import Role
from ..trajectory.functionals import Functional, Indicator, OracleCalls

CONFIDENCE = 0.95

STOPPING = "stopping_time"
"""The functional that every run certifies."""

TRUNCATED = "truncated_stopping_time"
"""The stopping time, counted up to a number that was fixed on the prior problems."""

REACH = 2.0
"""That number is this many times the largest stopping time on the prior problems."""

OF_POSTERIOR = (STOPPING, "contraction_factor")
"""Functionals whose means over the posterior are certified as well."""

LARGER_PARTS = {STOPPING: 3.0, "contraction_factor": 3.0, TRUNCATED: 3.0}
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
    parts |= {"success": 1.0, "95% quantile": 1.0, "distribution": 1.0}
    parts |= {f"posterior {words(each)}": LARGER_PARTS[each.name] for each in functionals if each.name in OF_POSTERIOR}
    return parts | {"posterior success": 1.0}


def posterior_share(functionals: tuple[Functional, ...], part: float = LARGER_PARTS[STOPPING]) -> float:
    """The failure probability of each certificate of a mean over the posterior, or of one with another part."""
    return (1 - CONFIDENCE) * part / sum(parts_of(functionals).values())


def plan_for(
    experiment: Experiment,
    prior: np.ndarray,
    lam: Mapping[str, float],
    draws: tuple[Draw, ...],
    reach: float | None = None,
    paper_lam: Mapping[str, float] | None = None,
    tails: tuple[Mapping[str, Goal], Mapping[str, PosteriorGoal]] = ({}, {}),
) -> Plan:
    """Everything that will be certified, with the λ of each functional as the prior problems gave them.

    Whether the deployed algorithm is certified on held-out problems or, by Occam, on the posterior problems is decided
    by the rule of `Plan.decided`.

    Arguments:
        prior: one probability per candidate.
        lam: λ by functional, for those of `OF_POSTERIOR`, and for "solved"; without the latter a grid is paid for.
        draws: the draws that the prior was made from.
        reach: for few problems, the number up to which stopping times are counted in one more certificate of their
            mean, beside one of how often they are larger. What rarely happens makes the mean up to the horizon large.
        tails: goals of what is minimized, where that is not a mean, from `tail_goals`.
        paper_lam: λ of the paper's theorems by functional, for the references; without one, a grid is paid for.
    """
    functionals, caps = certified(experiment), caps_of(experiment)
    goals: dict[str, Goal] = {words(each): _goal(each, caps[each.name], experiment.horizon) for each in functionals} | {
        "success": Probability("solved"),
        "95% quantile": Quantile(STOPPING, 0.95, cap=caps[STOPPING]),
        "distribution": Distribution(STOPPING, caps[STOPPING]),
    }
    means: dict[str, PosteriorGoal] = {
        f"posterior {words(each)}": PosteriorMean(each.name, caps[each.name], lam[each.name], ORIGIN, each.unit)
        for each in functionals
        if each.name in OF_POSTERIOR
    }
    success = {"posterior success": PosteriorProbability("solved", lam.get("solved"), ORIGIN)}
    parts = parts_of(functionals) | {name: LARGER_PARTS[STOPPING] for each in tails for name in each}
    goals, posterior_goals = {**goals, **tails[0]}, {**means, **success, **tails[1]}
    if reach is not None:
        goals |= _within_reach(reach, caps[STOPPING])
        parts |= {TRUNCATED.replace("_", " "): LARGER_PARTS[TRUNCATED], TAIL: 1.0}
    if experiment.recipe.log is not None and len(prior) == 1:  # the posterior is the deployed algorithm
        parts = {name: part for name, part in parts.items() if name not in posterior_goals}
        posterior_goals = {}
    sizes = {role.text: experiment.sizes[role.text] for role in (Role.posterior, Role.held_out)}
    plan = Plan(
        goals, posterior_goals, confidence=CONFIDENCE, parts=parts, sizes=sizes, paper_lam=paper_lam or {}, draws=draws
    )
    return plan.decided(prior)


TAIL = "stopping time beyond reach"
"""The name of the certificate that stands beside that of the truncated stopping time."""


def _within_reach(reach: float, cap: float) -> dict[str, Goal]:
    unit = f"iterations (counted up to {number_exact(reach)})"
    return {TRUNCATED.replace("_", " "): Mean(TRUNCATED, reach, unit), TAIL: Tail(STOPPING, reach, cap)}


def reach_of(times: np.ndarray, horizon: int) -> float | None:
    """Up to where stopping times are counted, from those on the prior problems; None if it would be the horizon."""
    reach = REACH * float(np.max(times))
    return reach if 0 < reach < horizon else None


def with_truncated(values: Mapping[str, np.ndarray], reach: float | None) -> dict[str, np.ndarray]:
    """The values by functional, with the truncated stopping time where it is certified."""
    return dict(values) if reach is None else {**values, TRUNCATED: np.minimum(values[STOPPING], reach)}


def _goal(functional: Functional, cap: float, horizon: int) -> Goal:
    """At least the probability of a property, at most the mean of anything else.

    Calls are those within the horizon: on a problem that is not solved by then, more would be needed.
    """
    if isinstance(functional, Indicator):
        return Probability(functional.name)
    within = f" (within {horizon} iterations)" if isinstance(functional, OracleCalls) else ""
    return Mean(functional.name, cap, functional.unit + within)


def words(functional: Functional) -> str:
    """The name of a functional in words, under which its certificate stands."""
    return functional.name.replace("_", " ")
