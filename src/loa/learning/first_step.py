"""Learning where the solutions of a class lie."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm
from ..architectures.first_step import FirstStep
from ..problems.problem_class import ProblemClass, check_key, count_problems
from ..trajectory.kernels import initial, semigroup, trajectory_key


def first_step(
    problem_class: ProblemClass, problems: Any, *, teacher: Algorithm, steps: int, key: Key[Array, ""]
) -> FirstStep:
    """The affine function of the gradient at the start that comes closest to where a teacher gets in so many steps.

    In the mean square over the problems, of which there should be several times as many as coordinates. Problems on
    which the teacher diverges are left out.
    """
    check_key(key)
    gradients, moves = map(np.asarray, _starts_and_moves(problem_class, problems, teacher, steps, key))
    if moves.ndim != 2:
        raise ValueError(f"a first step is for points that are vectors, got points of shape {moves.shape[1:]}.")
    good = np.isfinite(moves).all(axis=1)
    if good.sum() <= moves.shape[1]:
        raise ValueError(f"the teacher must arrive on more than {moves.shape[1]} problems, but did on {good.sum()}.")
    inputs = np.hstack([gradients[good], np.ones((good.sum(), 1))])
    coefficients = np.linalg.lstsq(inputs, moves[good], rcond=1e-8)[0]
    return FirstStep(jnp.asarray(coefficients[:-1].T), jnp.asarray(coefficients[-1]))


@eqx.filter_jit
def _starts_and_moves(problem_class, problems, teacher, steps, key) -> tuple[Array, Array]:
    def one(index: Array, problem: Any) -> tuple[Array, Array]:
        own_key = trajectory_key(key, index, jnp.zeros((), jnp.int32))
        state, _ = initial(teacher, problem_class, problem, own_key)
        start = teacher.iterate(state)
        end = teacher.iterate(semigroup(teacher, problem_class, problem, state, steps, own_key))
        return problem_class.gradient(start, problem), end - start

    return jax.vmap(one)(jnp.arange(count_problems(problems)), problems)
