"""The ways of learning that the experiments share: tuning a few numbers, and training networks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from ..algorithms import LBFGS
from ..algorithms.algorithm import Algorithm
from ..learning import Objective, OneStepContraction, OverSegments, as_objective, average_curvature, imitate, train
from ..learning.tuning import Space, tune
from ..problems.gaps import Gap
from ..problems.problem_class import count_problems
from ..problems.role import Role
from ..trajectory.functionals import Functional
from .experiment import LearningSetup


def curvature_near_solutions(setup: LearningSetup) -> Float[np.ndarray, "d d"]:
    """The average curvature of the class where L-BFGS comes when it is nearly done."""
    problems = setup.problems(100)
    return average_curvature(
        setup.experiment.problem_class, problems, teacher=LBFGS(), times=[20, 40, 80], key=setup.key,
        checkpoints=setup.evaluations,
    )  # fmt: skip


def tuned(
    setup: LearningSetup,
    factory: Callable[..., Algorithm],
    space: Space,
    *,
    problems: int,
    candidates: int,
    rounds: int = 3,
) -> Algorithm:
    """The algorithm with the smallest mean stopping time on training problems, of a family with a few parameters."""
    experiment, problems, candidates = setup.experiment, setup.times(problems), setup.times(candidates)
    setup.facts.update(tuned=sorted(space), problems=problems, candidates=candidates, rounds=rounds)
    found = tune(
        factory,
        space,
        experiment.problem_class,
        setup.problems(problems),
        criterion=experiment.criterion,
        horizon=experiment.horizon,
        key=setup.key,
        candidates=candidates,
        rounds=rounds,
        checkpoints=setup.evaluations,
        progress=setup.progress,
    )
    return found.algorithm


def trained(
    setup: LearningSetup,
    algorithm: Algorithm,
    teacher: Algorithm,
    *,
    objective: Objective | Functional | None = None,
    problems: int | None = None,
    validation: int | None = None,
    steps: int,
    checks: int = 20,
    learning_rate: float,
    batch: int = 32,
    imitation_steps: int = 1000,
) -> Algorithm:
    """An algorithm that first imitates a teacher and is then trained.

    It is trained on fresh problems, or on a fixed number of `problems` with their optimal losses, which an objective of
    the loss gap needs. The number of validation problems is the experiment's by default.
    """
    experiment, imitation_steps = setup.experiment, setup.times(imitation_steps)
    setup.facts.update(teacher=type(teacher).__name__, imitation_steps=imitation_steps)
    start = imitate(
        algorithm,
        teacher,
        experiment.problem_class,
        criterion=experiment.criterion,
        horizon=experiment.horizon,
        batch=batch,
        key=jax.random.fold_in(setup.key, 0),
        steps=imitation_steps,
        checkpoint=setup.imitation_checkpoint,
        progress=setup.progress,
    )
    course = _Course(objective, problems, validation, steps, checks, learning_rate, batch)
    return course.run(setup, start, "training", setup.checkpoint, 1)


def unrolled(
    setup: LearningSetup,
    algorithm: Algorithm,
    gap: Gap,
    *,
    length: int = 10,
    problems: int | None = None,
    validation: int | None = None,
    steps: int,
    checks: int = 15,
    learning_rate: float,
    batch: int = 32,
    at_least: float = 0.95,
) -> Algorithm:
    """A trained algorithm after further training, on segments of several steps.

    The objective is the mean logarithm of the ratio of gaps over a segment. It shows what a single step does not: the
    benefit of momentum, and that a step which gains much now may lose more later. The constraint is that at least the
    share `at_least` of the problems is solved.
    """
    objective = OverSegments(OneStepContraction(gap, logarithmic=True), length=length)
    course = _Course(objective, problems, validation, steps, checks, learning_rate, batch, at_least)
    return course.run(setup, algorithm, "unrolled", setup.second_checkpoint, 3)


class _Course(NamedTuple):
    """How an algorithm is trained, at full effort."""

    objective: Objective | Functional | None
    problems: int | None
    validation: int | None
    steps: int
    checks: int
    learning_rate: float
    batch: int
    at_least: float = 0.95

    def run(self, setup: LearningSetup, start: Algorithm, stage: str, checkpoint: Path | None, key: int) -> Algorithm:
        experiment, steps = setup.experiment, max(self.checks, setup.times(self.steps))
        problems = None if self.problems is None else setup.times(self.problems)
        validation = experiment.draw(Role.validation, setup.seed, self.validation)
        setup.facts[stage] = {
            "objective": repr(as_objective(self.objective)),
            "problems": "fresh ones" if problems is None else problems,
            "validation": count_problems(validation),
            "steps": steps,
            "batch": self.batch,
            "learning_rate": self.learning_rate,
        }
        return train(
            start,
            experiment.problem_class,
            criterion=experiment.criterion,
            horizon=experiment.horizon,
            key=jax.random.fold_in(setup.key, key),
            problems=None if problems is None else setup.problems(problems, optimal_losses=True),
            validation=validation,
            objective=self.objective,
            steps=steps,
            checks=self.checks,
            learning_rate=self.learning_rate,
            batch=self.batch,
            at_least=self.at_least,
            checkpoint=checkpoint,
            progress=setup.progress,
        ).algorithm
