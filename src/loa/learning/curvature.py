"""Learning the average curvature of a class from sample problems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from ..algorithms.algorithm import Algorithm
from ..messages.arguments import check_type
from ..problems.problem_class import ProblemClass, whole_number
from ..problems.vector_points import VectorPoints, form_of_points
from ..storage.resuming import Evaluations, as_evaluations
from ..trajectory.checks import check_algorithm
from ..trajectory.kernels import trajectories
from ..trajectory.resumable_loop import resumable_loop

LARGEST = 3000
"""The largest number of coordinates of a point, with which the matrix takes 72 MB."""


def average_curvature(
    problem_class: ProblemClass,
    problems: Any,
    *,
    teacher: Algorithm,
    times: Sequence[int],
    key: Key[Array, ""],
    checkpoints: Evaluations | Path | str | None = None,
) -> Float[np.ndarray, "d d"]:
    r"""Compute the average Hessian of a class along the trajectories of a teacher.

    This is the mean of \(\nabla^2 h(x^{(t)}, \theta)\) over problems and times, where h is the smooth part of the loss.
    An algorithm that knows it need not learn it again on every problem (`loa.architectures.LearnedQuasiNewton`). The
    function is intended for points with a few hundred coordinates: for each problem and time it takes as many gradients
    as there are coordinates.

    Arguments:
        problem_class: the class of the problems. A point that is not a vector counts as the vector of its entries.
        problems: a stack of problems, from `problem_class.draw` or your own.
        teacher: the algorithm whose trajectories are followed.
        times: the numbers of steps, 0 or more, after which the Hessian is evaluated.
        key: a PRNG key for the trajectories.
        checkpoints: a directory, as in `loa.evaluate`.

    Returns:
        The symmetric matrix, to be passed to `loa.architectures.DenseCurvature.of` or `LowRankCurvature.of`.

    >>> import loa
    >>> quadratics = loa.problems.Quadratics(dimension=5)
    >>> problems = quadratics.draw(jax.random.key(0), 3)
    >>> teacher = loa.GradientDescent(1e-3)
    >>> matrix = average_curvature(quadratics, problems, teacher=teacher, times=(0, 10), key=jax.random.key(1))
    >>> bool(np.allclose(matrix, np.diag(np.mean(problems.diagonal**2, axis=0))))
    True
    """
    check_algorithm("teacher", teacher)
    check_type("times", None if isinstance(times, str) else times, Sequence, "a sequence of numbers of steps")
    times = [whole_number("each of the times", each, least=0) for each in times]
    if not times:
        raise ValueError("times must contain at least one number of steps.")
    path = trajectories(teacher, problem_class, problems, horizon=max(*times, 1), key=key)
    form = form_of_points(problem_class, jax.tree.map(lambda leaf: leaf[0], problems))
    if form.dimension > LARGEST:
        raise ValueError(
            f"a dense average curvature needs points of at most {LARGEST} coordinates, got points of {form.dimension}."
        )
    points = jax.tree.map(lambda leaf: leaf[:, 0, jnp.asarray(times)], path.iterates)
    name = type(problem_class).__name__
    if not form.is_vector:
        points, problem_class = jax.vmap(jax.vmap(form.vector))(points), VectorPoints(problem_class, form)
    count, d = points.shape[0], points.shape[-1]
    total = resumable_loop(
        _add_hessian, (problem_class, jax.tree.map(jnp.asarray, problems), points), jnp.zeros((d, d), points.dtype),
        count, what=f"the average curvature of {name}", checkpoints=as_evaluations(checkpoints),
    )  # fmt: skip
    return np.asarray(total / count)


def _add_hessian(fixed: tuple[ProblemClass, Any, Array], index: Int[Array, ""], total: Array) -> Array:
    """Add the mean Hessian of one problem, over the points of its trajectory."""
    problem_class, problems, points = fixed
    problem = jax.tree.map(lambda leaf: leaf[index], problems)

    def at(point: Float[Array, " d"]) -> Float[Array, "d d"]:
        hessian = jax.jacfwd(lambda x: jax.grad(problem_class.smooth)(x, problem))(point)
        return 0.5 * (hessian + hessian.T)

    return total + jnp.mean(jax.lax.map(at, points[index]), axis=0)
