r"""Learning the average curvature of a class from sample problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from ..algorithms.algorithm import Algorithm
from ..problems.problem_class import ProblemClass
from ..trajectory.kernels import trajectories

LARGEST = 3000
"""Coordinates of a point: the matrix then takes 72 MB."""


def average_curvature(
    problem_class: ProblemClass,
    problems: Any,
    *,
    teacher: Algorithm,
    times: Sequence[int],
    key: Key[Array, ""],
) -> Float[np.ndarray, "d d"]:
    r"""The mean of \(\nabla^2 h(x^{(t)}, \theta)\) over problems and some times of a teacher's trajectories.

    h is the smooth part of the loss. What problems of a class have in common an algorithm need not find out anew on
    each. For points with a few hundred coordinates: it takes as many gradients as there are coordinates for each
    problem and time.
    """
    if not times or min(times) < 0:
        raise ValueError(f"times must be at least one number of steps, 0 or more, got {list(times)}.")
    path = trajectories(teacher, problem_class, problems, horizon=max(*times, 1), key=key)
    points = jnp.asarray(path.iterates)[:, 0, jnp.asarray(times)]
    if points.ndim != 3 or points.shape[-1] > LARGEST:
        raise ValueError(
            f"a dense average curvature is for points that are vectors of at most {LARGEST} coordinates, got points of "
            f"shape {points.shape[2:]}."
        )
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
