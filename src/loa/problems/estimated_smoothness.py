"""A smoothness constant for classes that do not state one, estimated from the curvature that a few steps meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Scalar

if TYPE_CHECKING:
    from .problem_class import ProblemClass

POWER_STEPS = 20
"""Products with the Hessian in the power method. From a random direction it then misses a few percent at most."""

DESCENT_STEPS = 10
"""Proximal gradient steps between the two points at which the curvature is measured."""

MARGIN = 1.1
"""The estimate is larger than the curvature found by this factor, since the power method approaches it from below."""


def estimated_smoothness(problem_class: ProblemClass, problem: Any) -> Scalar:
    r"""Estimate a Lipschitz constant L of the gradient of the smooth part h, for one problem.

    The largest curvature \(\|\nabla^2 h(x, \theta)\|\) is found by the power method at two points: where the problem
    class starts, and some proximal gradient steps later. If h is quadratic, both are L up to the accuracy of the power
    method. Otherwise L may be larger elsewhere, and a class that knows a bound should define `smoothness`.

    Arguments:
        problem_class: a class with a proximal mapping.
        problem: one problem θ.

    Returns:
        The larger of the two, times 1.1. The same problem always has the same estimate.
    """
    key = jax.random.key(0x500)
    x0, as_point = ravel_pytree(problem_class.start(problem, key))
    first = _curvature(problem_class, problem, x0, as_point)
    step_size = 1.0 / (MARGIN * first)

    def descend(_: Any, x: Float[Array, " d"]) -> Float[Array, " d"]:
        gradient = ravel_pytree(problem_class.gradient(as_point(x), problem))[0]
        return ravel_pytree(problem_class.prox(as_point(x - step_size * gradient), step_size, problem))[0]

    later = jax.lax.fori_loop(0, DESCENT_STEPS, descend, x0)
    second = _curvature(problem_class, problem, later, as_point)
    return MARGIN * jnp.where(jnp.isfinite(second), jnp.maximum(first, second), first)


def _curvature(problem_class: ProblemClass, problem: Any, x: Float[Array, " d"], as_point: Any) -> Scalar:
    """The largest absolute eigenvalue of the Hessian at a point; 1 where there is no curvature at all."""
    direction = jax.random.normal(jax.random.key(0x501), x.shape, x.dtype)

    def multiply(_: Any, carry: tuple[Float[Array, " d"], Scalar]) -> tuple[Float[Array, " d"], Scalar]:
        product = ravel_pytree(problem_class.hessian_product(as_point(x), as_point(carry[0]), problem))[0]
        length = jnp.linalg.norm(product)
        return product / jnp.where(length > 0, length, 1.0), length

    start = direction / jnp.linalg.norm(direction)
    length = jax.lax.fori_loop(0, POWER_STEPS, multiply, (start, jnp.zeros((), x.dtype)))[1]
    return jnp.where(length > 0, length, 1.0)
