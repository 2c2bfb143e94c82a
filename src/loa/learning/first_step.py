"""Learning where the solutions of a class lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm
from ..architectures.first_step import FirstStep
from ..problems.gaps import difference
from ..problems.problem_class import ProblemClass, whole_number
from ..problems.vector_points import vectors_of
from ..storage.resuming import Evaluations
from ..trajectory.checks import check_algorithm
from ..trajectory.kernels import iterates_after


def first_step(
    problem_class: ProblemClass,
    problems: Any,
    *,
    teacher: Algorithm,
    steps: int,
    key: Key[Array, ""],
    checkpoints: Evaluations | Path | str | None = None,
) -> FirstStep:
    """Learn a first step: an affine function of the gradient at the start that leads to where a teacher gets.

    It minimizes the mean squared distance to the teacher's points over the problems, of which there should be several
    times as many as coordinates. A point that is not a vector counts as the vector of its entries. Problems on which
    the teacher diverges are left out.

    Arguments:
        problems: a stack of problems to learn from.
        teacher: the algorithm to imitate.
        steps: the number of steps the teacher makes.
        key: the randomness of starts and teacher; with it `loa.evaluate` sees the same trajectories.
        checkpoints: a directory, as in `loa.evaluate`.

    Returns:
        a `loa.architectures.FirstStep`.
    """
    check_algorithm("teacher", teacher)
    whole_number("steps", steps)
    starts = iterates_after(teacher, problem_class, problems, steps=0, key=key)
    ends = iterates_after(teacher, problem_class, problems, steps=steps, key=key, checkpoints=checkpoints)
    gradients, moves = vectors_of(_gradients(problem_class, starts, problems)), vectors_of(difference(ends, starts))
    good = np.isfinite(moves).all(axis=1)
    if good.sum() <= moves.shape[1]:
        raise ValueError(
            f"the teacher must stay finite on more than {moves.shape[1]} problems, but does on {good.sum()}."
        )
    inputs = np.hstack([gradients[good], np.ones((good.sum(), 1))])
    coefficients = np.linalg.lstsq(inputs, moves[good], rcond=1e-8)[0]
    return FirstStep(jnp.asarray(coefficients[:-1].T), jnp.asarray(coefficients[-1]))


@eqx.filter_jit
def _gradients(problem_class: ProblemClass, points: Any, problems: Any) -> Any:
    return jax.vmap(problem_class.gradient)(points, problems)
