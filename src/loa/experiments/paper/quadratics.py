"""Strongly convex quadratics in dimension 200 (section 6.1)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ...algorithms import LBFGS, Algorithm, ConjugateGradient, HeavyBall, NesterovAcceleratedGradient
from ...architectures import DiagonalCurvature, LearnedQuadratics, LearnedQuasiNewton
from ...learning import average_curvature
from ...problems import Quadratics
from ...problems.criterion import gradient_norm_below, loss_below
from ...problems.gaps import loss
from ...trajectory.functionals import ContractionFactor, OracleCalls, StoppingTime
from ..experiment import Experiment, LearningSetup, Presentation, Preset, Recipe, Task
from ..recipes import trained, tuned, unrolled


def experiment() -> Experiment:
    problem_class = Quadratics()
    m, smooth = problem_class.strong_convexity[0] ** 0.5, problem_class.smoothness_range[1] ** 0.5
    task = Task(
        name="quadratics",
        problem_class=problem_class,
        criterion=loss_below(1e-8) | gradient_norm_below(1e-6),
        horizon=500,
        functionals=(StoppingTime(), ContractionFactor(cap=0.98), OracleCalls()),
        baselines={
            "heavy ball": HeavyBall(step_size=4 / (smooth + m) ** 2, momentum=((smooth - m) / (smooth + m)) ** 2),
            "NAG": NesterovAcceleratedGradient(),
            "CG": ConjugateGradient(),
            "L-BFGS": LBFGS(memory=10),
        },
    )
    recipe = Recipe(
        learned={"loa": learn, "paper": learn_as_paper, "unrolled": learn_unrolled},
        sizes={"prior": 500, "posterior": 1000, "test": 250, "validation": 250, "held-out": 20_000},
        presets={
            "quick": Preset({"prior": 200, "posterior": 1000}, effort=1.0, candidates=20, shown=100),
            "paper": Preset({"posterior": 20_000, "held-out": 40_000, "test": 20_000}),
            "pretrained": Preset({"posterior": 1000, "held-out": 20_000, "test": 250}),
        },
    )
    presentation = Presentation(
        title="Strongly convex quadratics in dimension 200",
        published={
            "stopping_time": {"mean": 255, "median": 241, "bound": 328},
            "contraction_factor": {"mean": 0.849, "bound": 0.949},
        },
        notes=(
            "Mean and covariance of the right-hand sides were drawn once and belong to the class.",
            "The published numbers are for the stricter criterion loss < 1e-12.",
        ),
    )
    return Experiment(task, recipe, presentation)


def learn(setup: LearningSetup) -> LearnedQuasiNewton:
    """The Hessians of the class are diagonal: their mean, and how far to trust it."""
    experiment, heavy_ball = setup.experiment, setup.experiment.baselines["heavy ball"]
    matrix = average_curvature(
        experiment.problem_class, setup.problems(200), teacher=heavy_ball, times=[0], key=setup.key,
        checkpoints=setup.evaluations,
    )  # fmt: skip
    curvature = DiagonalCurvature(jnp.asarray(np.diag(matrix)))
    space = {"log_floor": (-9.0, -2.0), "log_damping": (-15.0, -3.0), "power": (0.0, 1.0), "log_step": (-0.4, 0.4)}
    return tuned(  # pyright: ignore[reportReturnType]
        setup, lambda **scalars: LearnedQuasiNewton(curvature, **scalars), space, problems=200, candidates=64
    )


def learn_unrolled(setup: LearningSetup) -> Algorithm:
    """The paper's network after further training, on segments of ten steps."""
    return unrolled(setup, learn_as_paper(setup), loss, steps=18_000, learning_rate=3e-5, at_least=1.0)


def learn_as_paper(setup: LearningSetup) -> LearnedQuadratics:
    """The paper's architecture, objective and teacher."""
    network = LearnedQuadratics(key=jax.random.fold_in(setup.key, 2))
    heavy_ball = setup.experiment.baselines["heavy ball"]
    return trained(setup, network, heavy_ball, steps=150_000, learning_rate=3e-4)  # pyright: ignore
