"""Restoration of blurred and noisy images with smoothed total variation, d = 30 000 (section 6.2)."""

from __future__ import annotations

from ..algorithms import LBFGS, ConjugateGradient, NesterovAcceleratedGradient
from ..functionals import ContractionFactor, OracleCalls, StoppingTime
from ..problems import ImageRestoration
from ..problems.criterion import gradient_norm_below
from .experiment import Experiment


def experiment() -> Experiment:
    return Experiment(
        name="images",
        problem_class=ImageRestoration(),
        criterion=gradient_norm_below(1e-4),
        horizon=1000,
        functionals=(StoppingTime(), ContractionFactor(cap=1.0), OracleCalls()),
        baselines={
            "L-BFGS": LBFGS(memory=10),
            "NAG": NesterovAcceleratedGradient(),
            "CG": ConjugateGradient(),
        },
        sizes={"prior": 500, "posterior": 500, "test": 250, "validation": 250},
    )
