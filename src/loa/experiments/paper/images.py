"""Restoration of blurred and noisy images with smoothed total variation, d = 30 000 (section 6.2)."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from pathlib import Path

import jax

from ...algorithms import LBFGS, Algorithm, ConjugateGradient, NesterovAcceleratedGradient
from ...architectures import CompactImages, LearnedImages, LearnedSpectralQuasiNewton
from ...learning import Objective, OneStepContraction, OverSegments
from ...problems import ImageRestoration
from ...problems.criterion import gradient_norm_below
from ...problems.gaps import loss_gap
from ...trajectory.functionals import ContractionFactor, Functional, OracleCalls, StoppingTime
from ..experiment import Experiment, LearningSetup, Presentation, Preset, Prior, Recipe, Task
from ..recipes import trained, tuned
from .restored_images import restored_images


def experiment() -> Experiment:
    task = Task(
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
    )
    recipe = Recipe(
        learned={"loa": learn, "paper": learn_as_paper, "compact": learn_compact},
        sizes={"prior": 500, "posterior": 500, "test": 250, "validation": 250, "held-out": 500},
        prior=Prior(candidates=10, chains=2, batch=2, thinning=10, at_least=0.95),
        presets={
            "quick": Preset(
                {"prior": 24, "posterior": 120, "held-out": 120, "test": 48}, effort=0.5, candidates=3, shown=8
            ),
            "paper": Preset({"posterior": 1200, "held-out": 2000, "test": 500}),
            "pretrained": Preset({"posterior": 500, "held-out": 500, "test": 250}),
        },
    )
    presentation = Presentation(
        title="Restoration of blurred and noisy photographs",
        shown=24,
        published={
            "stopping_time": {"mean": 535, "median": 520, "bound": 660},
            "contraction_factor": {"mean": 0.939, "bound": 1.057},
        },
        notes=(
            "All problems are cut from one pool of photographs: the certificates speak of further crops of these, and "
            "not of new photographs.",
            "Optimal losses were computed to a proven accuracy; see `loa.optimal_losses`.",
        ),
        pictures=restored_images,
        more_tests={"new photographs": lambda: ImageRestoration(new_photographs=True)},
    )
    return Experiment(task, recipe, presentation)


def with_photographs(setting: Experiment, folder: Path) -> Experiment:
    """The experiment on the user's own photographs; files that are no images are named and skipped."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            problem_class = ImageRestoration(folder)
        finally:
            for warning in caught:
                print(f"loa: {warning.message}", file=sys.stderr)
    new = {"new photographs": lambda: ImageRestoration(folder, new_photographs=True)}
    task = dataclasses.replace(setting.task, problem_class=problem_class)
    presentation = dataclasses.replace(setting.presentation, more_tests=new)
    return dataclasses.replace(setting, task=task, presentation=presentation)


def learn(setup: LearningSetup) -> LearnedSpectralQuasiNewton:
    """The curvature of the class in the cosine basis: a few numbers."""
    space = {"log_floor": (-2.0, 1.0), "log_slope": (1.0, 5.0), "log_power": (-0.3, 0.2), "log_step": (-0.2, 0.3)}
    return tuned(  # pyright: ignore[reportReturnType]
        setup, LearnedSpectralQuasiNewton, space, problems=16, candidates=16, rounds=3
    )


def learn_as_paper(setup: LearningSetup) -> Algorithm:
    """The paper's architecture, objective and teacher."""
    network = LearnedImages(key=jax.random.fold_in(setup.key, 2))
    return _trained(setup, network, OneStepContraction(loss_gap), steps=3000, checks=10, learning_rate=5e-4)


def learn_compact(setup: LearningSetup) -> Algorithm:
    """Two weights from three features; over several steps, or they would not see what momentum is for."""
    network = CompactImages(key=jax.random.fold_in(setup.key, 2))
    objective = OverSegments(OneStepContraction(loss_gap, logarithmic=True), length=10)
    return _trained(setup, network, objective, steps=1600, checks=20, learning_rate=3e-4)


def _trained(
    setup: LearningSetup,
    network: Algorithm,
    objective: Objective | Functional,
    *,
    steps: int,
    checks: int,
    learning_rate: float,
) -> Algorithm:
    """On few problems at a time, and with few to check on, for a step takes long.

    Objectives are of loss gaps: the ratio of losses is hardly below 1 near a solution, where the loss is large.
    """
    return trained(
        setup,
        network,
        setup.experiment.baselines["NAG"],
        objective=objective,
        problems=64,
        validation=16,
        steps=steps,
        checks=checks,
        learning_rate=learning_rate,
        batch=8,
        imitation_steps=60,
    )
