"""What a run certifies, fixed on the prior problems before posterior and held-out problems are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..certificates import Mean, Plan, PosteriorMean, Probability, Quantile
from ..certificates.product import choose_lambda, gibbs_posterior
from ..experiments.experiment import Experiment
from ..functionals import Functional, OracleCalls

CONFIDENCE = 0.95

ANTICIPATED_KL = 0.5
"""For the choice of λ; the bounds are flat around their best λ, so that a guess is enough."""

PARTS = {
    "stopping time": 3.0,
    "contraction factor": 3.0,
    "oracle calls": 1.0,
    "success": 1.0,
    "95 % quantile": 1.0,
    "posterior stopping time": 3.0,
    "posterior contraction factor": 3.0,
}
"""Proportions in which the certificates share the failure probability."""


class Terms(NamedTuple):
    """The plan, the prior on the candidates, and λ and cap of each functional."""

    plan: Plan
    prior: np.ndarray
    lam: Mapping[str, float]
    caps: Mapping[str, float]


def declare(experiment: Experiment, prior_values: Mapping[str, np.ndarray]) -> Terms:
    """Fix everything from values (candidate, problem, replicate) on the prior problems."""
    caps = _caps(experiment)
    both = ("stopping_time", "contraction_factor")
    tables = {name: np.asarray(prior_values[name], float).mean(axis=-1).T for name in both}
    delta = (1 - CONFIDENCE) * PARTS["posterior stopping time"] / sum(PARTS.values())
    count = tables["stopping_time"].shape[1]
    weights = np.full(count, 1.0 / count)
    lam: dict[str, float] = {}
    for name, table in tables.items():
        lam[name] = choose_lambda(table, ANTICIPATED_KL, experiment.sizes["posterior"], delta, caps[name], weights)
        if name == "stopping_time":
            weights = gibbs_posterior(table, weights, lam[name], caps[name])
    return Terms(_plan(caps, lam), weights, lam, caps)


def certified(experiment: Experiment) -> tuple[Functional, ...]:
    """The functionals that are certified: those of the experiment, with oracle calls truncated."""
    calls = OracleCalls(cap=float(experiment.calls_per_step * experiment.horizon))
    return *(each for each in experiment.functionals if each.name != calls.name), calls


def _caps(experiment: Experiment) -> dict[str, float]:
    """The largest value that each functional can have."""
    caps: dict[str, float] = {each.name: getattr(each, "cap", np.inf) for each in certified(experiment)}
    caps["stopping_time"] = float(experiment.horizon)
    return caps


def _plan(caps: Mapping[str, float], lam: Mapping[str, float]) -> Plan:
    origin = "best on the prior problems"
    goals = {
        "stopping time": Mean("stopping_time", caps["stopping_time"]),
        "contraction factor": Mean("contraction_factor", caps["contraction_factor"]),
        "oracle calls": Mean("oracle_calls", caps["oracle_calls"]),
        "success": Probability("solved"),
        "95 % quantile": Quantile("stopping_time", 0.95),
    }
    posterior_goals = {
        f"posterior {name.replace('_', ' ')}": PosteriorMean(name, caps[name], lam[name], origin) for name in lam
    }
    return Plan(goals, posterior_goals, confidence=CONFIDENCE, parts=PARTS)
