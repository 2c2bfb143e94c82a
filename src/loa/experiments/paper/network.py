"""Training a network of 351 parameters on random polynomials, full batch (section 6.4)."""

from __future__ import annotations

import jax

from ...algorithms import LBFGS, Adam, Algorithm, ConjugateGradient
from ...architectures import DenseCurvature, LearnedNetworkTraining, LearnedQuasiNewton
from ...problems import NetworkTraining
from ...problems.criterion import gradient_norm_below, loss_below
from ...problems.gaps import loss
from ...trajectory.functionals import ContractionFactor, OracleCalls, StoppingTime
from ..experiment import Experiment, LearningSetup, Presentation, Preset, Recipe, Task
from ..recipes import curvature_near_solutions, trained, tuned, unrolled
from .fitted_curves import fitted_curves


def experiment() -> Experiment:
    task = Task(
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
    )
    recipe = Recipe(
        learned={"loa": learn, "paper": learn_as_paper, "unrolled": learn_unrolled},
        sizes={"prior": 250, "posterior": 500, "test": 250, "validation": 250, "held-out": 2000},
        presets={
            "quick": Preset(
                {"prior": 100, "posterior": 300, "held-out": 1000, "test": 100}, effort=0.3, candidates=10, shown=32
            ),
            "paper": Preset({"posterior": 2000, "held-out": 10_000, "test": 4000}),
            "pretrained": Preset({"posterior": 500, "held-out": 2000, "test": 250}),
        },
    )
    presentation = Presentation(
        title="Training a network on random polynomials, full batch",
        shown=64,
        published={
            "stopping_time": {"mean": 53, "median": 40, "bound": 116},
            "contraction_factor": {"mean": 0.804, "bound": 1.11},
        },
        notes=(
            "The start was drawn once and belongs to the class.",
            "The published numbers are for at most 100 steps and the looser criterion loss < 0.85.",
        ),
        pictures=fitted_curves,
    )
    return Experiment(task, recipe, presentation)


def learn(setup: LearningSetup) -> LearnedQuasiNewton:
    """All problems start at the same point, and their curvature near the solutions is much the same."""
    curvature = DenseCurvature.of(curvature_near_solutions(setup))
    space = {
        "log_floor": (-3.5, 2.3),
        "log_damping": (0.0, 4.0),
        "power": (0.5, 1.5),
        "log_step": (-0.4, 0.4),
        "log_radius": (-1.2, 1.6),
    }
    return tuned(  # pyright: ignore[reportReturnType]
        setup,
        lambda **scalars: LearnedQuasiNewton(curvature, memory=30, **scalars),
        space,
        problems=300,
        candidates=32,
    )


def learn_unrolled(setup: LearningSetup) -> Algorithm:
    """The paper's network after further training, on segments of ten steps, so that 80% are solved."""
    network = learn_as_paper(setup)
    return unrolled(setup, network, loss, steps=8000, learning_rate=3e-4, batch=64, at_least=0.8)


def learn_as_paper(setup: LearningSetup) -> LearnedNetworkTraining:
    """The paper's architecture, objective and teacher."""
    network = LearnedNetworkTraining(key=jax.random.fold_in(setup.key, 2))
    return trained(  # pyright: ignore[reportReturnType]
        setup, network, Adam(0.05), steps=60_000, learning_rate=5e-4, batch=64, imitation_steps=200
    )
