"""Sparse recovery: LASSO with a fixed 35 × 70 matrix (section 6.3)."""

from __future__ import annotations

from typing import Any

import jax

from ...algorithms import FISTA, ProximalGradient
from ...architectures import LearnedLasso, LearnedProximalNewton
from ...architectures.proximal_newton import factor_of
from ...learning import OneStepContraction, average_curvature, first_step
from ...problems import Lasso
from ...problems.criterion import prox_residual_below
from ...problems.gaps import loss_gap
from ...trajectory.functionals import ContractionFactor, OracleCalls, StoppingTime
from ..experiment import Experiment, LearningSetup, Presentation, Preset, Prior, Recipe, Task
from ..recipes import trained, tuned


def experiment() -> Experiment:
    task = Task(
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
    )
    recipe = Recipe(
        learned={"loa": learn, "paper": learn_as_paper},
        sizes={"prior": 250, "posterior": 500, "test": 250, "validation": 250, "held-out": 4000},
        prior=Prior(step_size=3e-6),
        presets={
            "quick": Preset({"prior": 100, "held-out": 2000}, effort=0.5, candidates=10, shown=100),
            "paper": Preset({"posterior": 20_000, "held-out": 40_000, "test": 10_000}),
            "pretrained": Preset({"posterior": 500, "held-out": 4000, "test": 250}),
        },
    )
    presentation = Presentation(
        title="Sparse recovery: LASSO with a fixed 35 × 70 matrix",
        published={
            "stopping_time": {"mean": 199, "median": 134, "bound": 295},
            "contraction_factor": {"mean": 0.789, "bound": 0.927},
        },
        notes=("The matrix A, the start, and mean and covariance of b were drawn once and belong to the class.",),
    )
    return Experiment(task, recipe, presentation)


def learn(setup: LearningSetup) -> LearnedProximalNewton:
    """All problems of the class have the same curvature: learned, it makes Newton's method possible.

    And as they have the same start, the first gradient tells about where the solution is.
    """
    problem_class, fista = setup.experiment.problem_class, FISTA(restart=True)
    options: dict[str, Any] = dict(teacher=fista, key=setup.key, checkpoints=setup.evaluations)
    matrix = average_curvature(problem_class, setup.problems(8), times=[0], **options)
    factor = factor_of(matrix)
    jump = first_step(problem_class, setup.problems(1000), steps=600, **options)
    space = {
        "log_floor": (-9.0, -5.0),
        "log_damping": (-3.0, 3.0),
        "power": (0.5, 2.5),
        "log_up": (0.0, 2.0),
        "log_down": (-1.2, 0.0),
        "log_penalty": (-1.0, 2.0),
        "relaxation": (1.0, 1.95),
    }
    return tuned(  # pyright: ignore[reportReturnType]
        setup,
        lambda **numbers: LearnedProximalNewton(factor, **numbers, first_step=jump, sweeps=2),
        space,
        problems=128,
        candidates=128,
    )


def learn_as_paper(setup: LearningSetup) -> LearnedLasso:
    """The paper's architecture, objective and teacher.

    The objective is the ratio of loss gaps: that of losses is hardly below 1 near a solution, where the loss is large.
    """
    network = LearnedLasso(key=jax.random.fold_in(setup.key, 2))
    return trained(  # pyright: ignore[reportReturnType]
        setup,
        network,
        FISTA(restart=False),
        objective=OneStepContraction(loss_gap),
        problems=5000,
        steps=112_000,
        learning_rate=5e-4,
        imitation_steps=20,
    )
