"""The two ways of learning that the experiments share: tuning a few numbers, and training networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import jax
import numpy as np
from jaxtyping import Float

from ..algorithms import LBFGS
from ..algorithms.algorithm import Algorithm
from ..functionals import Functional
from ..learning import Objective, as_objective, average_curvature, imitate, train
from ..tuning import tune
from .experiment import Lesson


def curvature_near_solutions(lesson: Lesson) -> Float[np.ndarray, "d d"]:
    """The average curvature of the class where L-BFGS comes when it is nearly done."""
    problems = lesson.problems(100)
    return average_curvature(
        lesson.experiment.problem_class, problems, teacher=LBFGS(), times=[20, 40, 80], key=lesson.key
    )


def tuned(
    lesson: Lesson,
    factory: Callable[..., Algorithm],
    space: Mapping[str, tuple[float, float]],
    *,
    problems: int,
    candidates: int,
    rounds: int = 3,
) -> Algorithm:
    """The algorithm with the smallest mean stopping time on training problems, of a family with a few parameters."""
    experiment, problems, candidates = lesson.experiment, lesson.times(problems), lesson.times(candidates)
    lesson.facts.update(tuned=sorted(space), problems=problems, candidates=candidates, rounds=rounds)
    found = tune(
        factory,
        space,
        experiment.problem_class,
        lesson.problems(problems),
        criterion=experiment.criterion,
        horizon=experiment.horizon,
        key=lesson.key,
        candidates=candidates,
        rounds=rounds,
        progress=lesson.progress,
    )
    return found.algorithm


def trained(
    lesson: Lesson,
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

    On fresh problems, or on so many that are given their optimal losses, which an objective of the loss gap needs. The
    number of validation problems is the experiment's unless given.
    """
    experiment = lesson.experiment
    steps, imitation_steps = max(checks, lesson.times(steps)), lesson.times(imitation_steps)
    problems = None if problems is None else lesson.times(problems)
    lesson.facts.update(
        teacher=type(teacher).__name__,
        imitation_steps=imitation_steps,
        steps=steps,
        batch=batch,
        learning_rate=learning_rate,
        objective=repr(as_objective(objective)),
        problems="fresh ones" if problems is None else problems,
        validation=validation or experiment.sizes["validation"],
    )
    setting = dict(criterion=experiment.criterion, horizon=experiment.horizon, batch=batch)
    start = imitate(
        algorithm,
        teacher,
        experiment.problem_class,
        key=jax.random.fold_in(lesson.key, 0),
        steps=imitation_steps,
        progress=lesson.progress,
        **setting,  # pyright: ignore[reportArgumentType]
    )
    return train(
        start,
        experiment.problem_class,
        key=jax.random.fold_in(lesson.key, 1),
        problems=None if problems is None else lesson.problems(problems, optimal_losses=True),
        validation=experiment.draw("validation", lesson.seed, validation),
        objective=objective,
        steps=steps,
        checks=checks,
        learning_rate=learning_rate,
        checkpoint=lesson.checkpoint,
        progress=lesson.progress,
        **setting,  # pyright: ignore[reportArgumentType]
    ).algorithm
