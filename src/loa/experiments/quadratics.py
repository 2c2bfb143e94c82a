"""Strongly convex quadratics in dimension 200 (section 6.1)."""

from __future__ import annotations

from ..algorithms import LBFGS, ConjugateGradient, HeavyBall, NesterovAcceleratedGradient
from ..functionals import ContractionFactor, OracleCalls, StoppingTime
from ..problems import Quadratics
from ..problems.criterion import gradient_norm_below, loss_below
from .experiment import Experiment


def experiment() -> Experiment:
    problem_class = Quadratics()
    m, smooth = problem_class.strong_convexity[0] ** 0.5, problem_class.smoothness_range[1] ** 0.5
    heavy_ball = HeavyBall(step_size=4 / (smooth + m) ** 2, momentum=((smooth - m) / (smooth + m)) ** 2)
    return Experiment(
        name="quadratics",
        problem_class=problem_class,
        criterion=loss_below(1e-8) | gradient_norm_below(1e-6),
        horizon=500,
        functionals=(StoppingTime(), ContractionFactor(cap=0.98), OracleCalls()),
        baselines={
            "heavy ball": heavy_ball,
            "NAG": NesterovAcceleratedGradient(),
            "CG": ConjugateGradient(),
            "L-BFGS": LBFGS(memory=10),
        },
        sizes={"prior": 500, "posterior": 1000, "test": 250, "validation": 250},
    )
