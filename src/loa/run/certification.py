"""What a run certifies, fixed on the prior problems before posterior and held-out problems are looked at."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..certificates import Distribution, Draw, Mean, Plan, PosteriorMean, PosteriorProbability, Probability, Quantile
from ..experiments.experiment import Experiment
from ..trajectory.functionals import Functional, OracleCalls

CONFIDENCE = 0.95

PARTS = {
    "stopping time": 3.0,
    "contraction factor": 3.0,
    "oracle calls": 1.0,
    "success": 1.0,
    "95 % quantile": 1.0,
    "distribution": 1.0,
    "posterior stopping time": 3.0,
    "posterior contraction factor": 3.0,
    "posterior success": 1.0,
}
"""Proportions in which the certificates share the failure probability."""


POSTERIOR_SHARE = (1 - CONFIDENCE) * PARTS["posterior stopping time"] / sum(PARTS.values())
"""The failure probability of each certificate for the posterior."""


def certified(experiment: Experiment) -> tuple[Functional, ...]:
    """The functionals that are certified: those of the experiment, with oracle calls truncated."""
    calls = OracleCalls(cap=float(experiment.calls_per_step * experiment.horizon))
    return *(each for each in experiment.functionals if each.name != calls.name), calls


def caps_of(experiment: Experiment) -> dict[str, float]:
    """The largest value that each functional can have."""
    caps: dict[str, float] = {each.name: getattr(each, "cap", np.inf) for each in certified(experiment)}
    caps["stopping_time"] = float(experiment.horizon)
    return caps


def plan_for(experiment: Experiment, prior: np.ndarray, lam: Mapping[str, float], draws: tuple[Draw, ...]) -> Plan:
    """Everything that will be certified, with prior masses and λ as the prior problems gave them.

    Whether the deployed algorithm is certified on held-out problems or, by Occam, on the posterior problems is decided
    by the rule.
    """
    caps = caps_of(experiment)
    goals = {
        "stopping time": Mean("stopping_time", caps["stopping_time"]),
        "contraction factor": Mean("contraction_factor", caps["contraction_factor"]),
        "oracle calls": Mean("oracle_calls", caps["oracle_calls"]),
        "success": Probability("solved"),
        "95 % quantile": Quantile("stopping_time", 0.95, cap=caps["stopping_time"]),
        "distribution": Distribution("stopping_time", caps["stopping_time"]),
    }
    origin = "best on the prior problems"
    posterior_goals = {
        "posterior stopping time": PosteriorMean("stopping_time", caps["stopping_time"], lam["stopping_time"], origin),
        "posterior contraction factor": PosteriorMean(
            "contraction_factor", caps["contraction_factor"], lam["contraction_factor"], origin
        ),
        "posterior success": PosteriorProbability("solved"),
    }
    sizes = {role: experiment.sizes[role] for role in ("posterior", "held-out")}
    plan = Plan(goals, posterior_goals, confidence=CONFIDENCE, parts=PARTS, sizes=sizes, draws=draws)
    return plan.decided(prior)
