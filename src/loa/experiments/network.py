"""Training a network of 351 parameters on random polynomials, full batch (section 6.4)."""

from __future__ import annotations

from ..algorithms import LBFGS, Adam, ConjugateGradient
from ..functionals import ContractionFactor, OracleCalls, StoppingTime
from ..problems import NetworkTraining
from ..problems.criterion import gradient_norm_below, loss_below
from .experiment import Experiment


def experiment() -> Experiment:
    return Experiment(
        name="network",
        problem_class=NetworkTraining(),
        criterion=gradient_norm_below(0.75) & loss_below(0.75),
        horizon=200,
        functionals=(StoppingTime(), ContractionFactor(cap=1.0), OracleCalls()),
        baselines={
            "L-BFGS": LBFGS(memory=10),
            "CG": ConjugateGradient(),
            "Adam": Adam(0.1),
            "Adam, published rate": Adam(0.008),
        },
        sizes={"prior": 250, "posterior": 500, "test": 250, "validation": 250},
    )
