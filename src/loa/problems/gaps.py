r"""Optimality gaps \(v(x, \theta) \ge 0\): how far a point is from solving a problem (section 3.4).

A gap is a function `gap(problem_class, x, problem)` that returns a non-negative scalar. These are the usual ones;
your own is any function of that form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Scalar

from .problem_class import ProblemClass

Gap = Callable[[ProblemClass, Any, Any], Scalar]


def loss(problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
    """The loss itself, for losses whose minimum is 0."""
    return problem_class.loss(x, problem)


def loss_gap(problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
    r"""How far the loss is above its smallest value.

    \(\ell(x, \theta) - \min \ell(\cdot, \theta)\), with two precautions. A loss clearly below the `optimal_loss` of the
    class means that the stated optimum is wrong; the gap is then NaN, and `loa.evaluate` warns. (A difference of less
    than a billionth, in float64, is tolerated.) And a gap is never smaller than the accuracy to which the optimum is
    known, so a computed optimum cannot make an algorithm look better than it really is.
    """
    value = problem_class.loss(x, problem)
    optimum = jnp.asarray(problem_class.optimal_loss(problem), value.dtype)
    gap = value - optimum
    forgiven = jnp.finfo(value.dtype).eps ** 0.57 * jnp.maximum(1.0, jnp.abs(optimum))
    least = jnp.asarray(problem_class.optimal_accuracy(problem), value.dtype)
    return jnp.where(gap < -forgiven, jnp.nan, jnp.maximum(gap, least))


def gradient_norm(problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
    """The Euclidean norm of the gradient, of the smooth part if the loss is composite."""
    return norm(problem_class.gradient(x, problem))


def distance(problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
    """The distance to the solution, for classes that define `solution`."""
    return norm(x - problem_class.solution(problem))


class ProxResidual(eqx.Module):
    r"""How far a proximal gradient step moves a point; 0 exactly at the solutions.

    \(\|x - \mathrm{prox}_{\beta g}(x - \beta \nabla h(x))\|\), where β is 1/L of the problem by default.
    """

    step_size: float | None = eqx.field(static=True, default=None)

    def __call__(self, problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
        if not problem_class.has("prox"):
            problem_class.prox(x, 1.0, problem)  # says that there is none
        beta = 1.0 / problem_class.smoothness(problem) if self.step_size is None else self.step_size
        return norm(x - problem_class.prox(x - beta * problem_class.gradient(x, problem), beta, problem))

    def __repr__(self) -> str:
        return "prox_residual"


prox_residual = ProxResidual()


def norm(x: Float[Array, "..."]) -> Scalar:
    """Euclidean norm of an array of any shape, with derivative 0 at 0."""
    square = jnp.sum(x * x)
    return jnp.where(square == 0, 0.0, jnp.sqrt(jnp.where(square == 0, 1.0, square)))
