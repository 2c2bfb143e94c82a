"""Sparse recovery: LASSO with a fixed 35 × 70 matrix (section 6.3)."""

from __future__ import annotations

from ..algorithms import FISTA, ProximalGradient
from ..functionals import ContractionFactor, OracleCalls, StoppingTime
from ..problems import Lasso
from ..problems.criterion import prox_residual_below
from .experiment import Experiment


def experiment() -> Experiment:
    return Experiment(
        name="lasso",
        problem_class=Lasso(),
        criterion=prox_residual_below(1e-6),
        horizon=600,
        functionals=(StoppingTime(), ContractionFactor(cap=1.0), OracleCalls()),
        baselines={
            "FISTA with restart": FISTA(restart=True),
            "FISTA": FISTA(restart=False),
            "ISTA": ProximalGradient(),
        },
        sizes={"prior": 250, "posterior": 500, "test": 250, "validation": 250},
    )
