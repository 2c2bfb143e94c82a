"""Imitation: an algorithm learns to do what another one does, as a starting point for training (section 4)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm
from ..messages.arguments import positive_number
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass, count_problems, whole_number
from ..storage.checkpoint import fingerprint, recognizable
from ..trajectory.checks import check_algorithm, check_setting
from ..trajectory.functionals import StoppingTime
from ..trajectory.kernels import in_precision_of_problems
from ..trajectory.progress import printed
from .checks import Glance
from .learner import CLIPPED_ADAM, Recipe, decaying, no_steps
from .objective import Imitation
from .resumable_training import Progress, Saving, advanced


def imitate(
    algorithm: Algorithm,
    teacher: Algorithm,
    problem_class: ProblemClass,
    *,
    criterion: Criterion,
    horizon: int,
    key: Key[Array, ""],
    problems: Any = None,
    length: int = 5,
    steps: int = 1000,
    batch: int = 32,
    learning_rate: float = 1e-3,
    pool: int = 256,
    checkpoint: Path | str | None = None,
    progress: bool | Callable[[Glance], None] = False,
) -> Algorithm:
    """Train an algorithm to imitate another one, as a starting point for `loa.train`.

    Along trajectories of the algorithm itself, the squared distance between its points and those of the teacher is
    minimized over segments of `length` steps. Each trajectory ends with probability 1/horizon per step.

    Arguments:
        algorithm: the algorithm to begin with. Its floating-point arrays are trained.
        teacher: the algorithm to imitate.
        problem_class: the class of the problems.
        criterion: when a problem counts as solved.
        horizon: the mean length of a trajectory.
        key: a PRNG key. The same key gives the same result.
        problems: a stack of problems to learn from; by default `pool` problems are drawn.
        length: the number of steps of a segment, at least 1.
        steps: the number of steps of training, at least 1.
        batch: the number of problems that are advanced in parallel.
        learning_rate: the initial rate > 0, which decays along a cosine to a hundredth of itself.
        pool: how many problems to draw.
        checkpoint: a file in which progress is saved every few seconds; the same call resumes from it, with the same
            result as without interruption.
        progress: whether to print the distance to the teacher, or a function that is called with each `Glance`.

    Returns:
        The trained algorithm.

    >>> import loa
    >>> pupil, teacher, parabolas = loa.GradientDescent(0.01), loa.GradientDescent(0.1), loa.problems.RunningExample()
    >>> options = dict(criterion=loa.gap_below(1e-6), horizon=50, steps=50, batch=8, pool=32, learning_rate=0.02)
    >>> imitate(pupil, teacher, parabolas, key=jax.random.key(0), **options).step_size.round(2).item()
    0.1
    """
    check_algorithm("algorithm", algorithm)
    check_algorithm("teacher", teacher)
    check_setting(problem_class, criterion, horizon, key)
    steps, batch = whole_number("steps", steps), whole_number("batch", batch)
    length, pool = whole_number("length", length), whole_number("pool", pool)
    positive_number("learning_rate", learning_rate)
    if problems is None:
        problems = problem_class.draw(jax.random.fold_in(key, 0), problem_class.at_most(pool))
    count_problems(problems)
    algorithm, teacher = (in_precision_of_problems(one, problem_class, problems) for one in (algorithm, teacher))
    parameters, form = eqx.partition(algorithm, eqx.is_inexact_array)
    recipe = Recipe(
        form,
        problem_class,
        criterion,
        Imitation(teacher, length=length),
        CLIPPED_ADAM,
        decaying(float(learning_rate), steps),
        batch,
        length / horizon,
        0.0,
    )
    fixed = (recipe, problems, jax.random.fold_in(key, 2))
    first = Progress.begin(recipe.begin(parameters, problems, jax.random.fold_in(key, 1)))

    def identity() -> str | None:
        program = recipe.program(first.learner, problems, key, StoppingTime())
        settings = (steps, batch, learning_rate, length, horizon)
        arrays = (recipe, parameters, problems, jax.random.key_data(key))
        return fingerprint("imitation", arrays, settings, program) if recognizable(program) else None

    saving = Saving(checkpoint, identity)
    course = saving.load(first) or first
    glances = next(number for number in range(10, 0, -1) if steps % number == 0)
    with printed(progress, "imitation", steps) as report:
        for end in range(steps // glances, steps + 1, steps // glances):
            if course.step >= end:
                continue
            if course.step == end - steps // glances:
                course = course._replace(tally=no_steps())
            course = advanced(fixed, course, end, saving)
            distance = float(course.tally.value / course.tally.steps)  # NaN if no step could be used
            report(Glance(end, distance, saving.seconds))
    saving.at_the_end(course)
    # Copies that are bound to no device, whether read from a file or not: training has the same program after both.
    return recipe.algorithm(jax.tree.map(lambda leaf: jax.numpy.asarray(np.asarray(leaf)), course.learner.parameters))
