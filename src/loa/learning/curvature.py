"""Learning the average curvature of a class from sample problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from ..algorithms.algorithm import Algorithm
from ..problems.arguments import check_type
from ..problems.problem_class import ProblemClass, whole_number
from ..problems.waiting import waiting_for
from ..trajectory.checks import check_algorithm
from ..trajectory.kernels import trajectories

LARGEST = 3000
"""The largest number of coordinates of a point, with which the matrix takes 72 MB."""


def average_curvature(
    problem_class: ProblemClass,
    problems: Any,
    *,
    teacher: Algorithm,
    times: Sequence[int],
    key: Key[Array, ""],
) -> Float[np.ndarray, "d d"]:
    r"""Compute the average Hessian of a class along the trajectories of a teacher.

    This is the mean of \(\nabla^2 h(x^{(t)}, \theta)\) over problems and times, where h is the smooth part of the loss.
    An algorithm that knows it need not learn it again on every problem (`loa.architectures.LearnedQuasiNewton`). The
    function is intended for points with a few hundred coordinates: for each problem and time it takes as many gradients
    as there are coordinates.

    Arguments:
        problem_class: the class of the problems, whose points are vectors.
        problems: a stack of problems, from `problem_class.draw` or your own.
        teacher: the algorithm whose trajectories are followed.
        times: the numbers of steps, 0 or more, after which the Hessian is evaluated.
        key: a PRNG key for the trajectories.

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
    points = jnp.asarray(path.iterates)[:, 0, jnp.asarray(times)]
    if points.ndim != 3 or points.shape[-1] > LARGEST:
        raise ValueError(
            f"a dense average curvature needs points that are vectors of at most {LARGEST} coordinates, got points of "
            f"shape {points.shape[2:]}."
        )
    with waiting_for(f"the average curvature of {type(problem_class).__name__}"):
        return np.asarray(_mean_hessian(problem_class, problems, points))


@eqx.filter_jit
def _mean_hessian(problem_class: ProblemClass, problems: Any, points: Float[Array, "problem time d"]) -> Array:
    def at(point: Float[Array, " d"], problem: Any) -> Float[Array, "d d"]:
        hessian = jax.jacfwd(lambda x: jax.grad(problem_class.smooth)(x, problem))(point)
        return 0.5 * (hessian + hessian.T)

    def add(total: Array, sample: tuple[Any, Array]) -> tuple[Array, None]:
        problem, own_points = sample
        return total + jnp.mean(jax.lax.map(lambda point: at(point, problem), own_points), axis=0), None

    d = points.shape[-1]
    total, _ = jax.lax.scan(add, jnp.zeros((d, d), points.dtype), (problems, points))
    return total / points.shape[0]
