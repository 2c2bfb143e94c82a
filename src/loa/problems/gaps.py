r"""Optimality gaps \(v(x, \theta) \ge 0\): how far a point is from solving a problem (section 3.4).

A gap is a function `gap(problem_class, x, problem)` that returns a non-negative scalar. These are the usual ones;
your own is any function of that form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Scalar

from .problem_class import ProblemClass

Gap = Callable[[ProblemClass, Any, Any], Scalar]


def loss(problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
    r"""\(\ell(x, \theta)\) itself."""
    return problem_class.loss(x, problem)


def loss_gap(problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
    r"""\(\ell(x, \theta) - \min \ell(\cdot, \theta)\).

    A loss clearly below the class's `optimal_loss` gives NaN (which `loa.evaluate` reports as an error): the stated
    optimum is wrong then. Rounding is forgiven and counts as 0.
    """
    value = problem_class.loss(x, problem)
    optimum = jnp.asarray(problem_class.optimal_loss(problem), value.dtype)
    gap = value - optimum
    rounding = 1e3 * jnp.finfo(value.dtype).eps * jnp.maximum(1.0, jnp.abs(optimum))
    return jnp.where(gap < -rounding, jnp.nan, jnp.maximum(gap, 0.0))


def gradient_norm(problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
    r"""\(\|\nabla \ell(x, \theta)\|\)."""
    return norm(problem_class.gradient(x, problem))


def distance(problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
    r"""\(\|x - x^*_\theta\|\), for classes that know their solution."""
    return norm(x - problem_class.solution(problem))


def prox_residual(problem_class: ProblemClass, x: Any, problem: Any, step_size: Any = None) -> Scalar:
    r"""\(\|x - \mathrm{prox}_{\beta g}(x - \beta \nabla h(x))\|\) with β = 1/L unless given."""
    beta = 1.0 / problem_class.smoothness(problem) if step_size is None else step_size
    return norm(x - problem_class.prox(x - beta * problem_class.gradient(x, problem), beta, problem))


def norm(x: Float[Array, ...]) -> Scalar:
    """Euclidean norm of an array of any shape."""
    return jnp.sqrt(jnp.sum(x * x))
