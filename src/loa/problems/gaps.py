r"""Optimality gaps \(v(x, \theta) \ge 0\): how far a point is from solving a problem (section 3.4).

A gap is a function `gap(problem_class, x, problem)` that returns a non-negative scalar. These are the usual ones;
your own is any function of that form. It sees a point x in the form that `start` of the class has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Scalar

from .problem_class import ProblemClass

Gap = Callable[[ProblemClass, Any, Any], Scalar]


class OfState(eqx.Module):
    r"""A gap of the whole state, where one of the point is not enough; made by `loa.gaps.of_state`.

    In the paper it is \(v(s, \theta)\).
    """

    function: Callable[[ProblemClass, Any, Any], Scalar] = eqx.field(static=True)

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", "a gap of the state")

    def __call__(self, problem_class: ProblemClass, state: Any, problem: Any) -> Scalar:
        return self.function(problem_class, state, problem)


def of_state(function: Callable[[ProblemClass, Any, Any], Scalar]) -> OfState:
    r"""Make a gap from a function of the whole state of an algorithm, such as a Lyapunov function.

    Functionals and training objectives take it like any other gap. Criteria do not: whether a problem is solved is
    decided on the point.

    Arguments:
        function: `function(problem_class, state, problem)`, which returns a scalar ≥ 0.

    Returns:
        The gap \(v(s, \theta)\).

    >>> @of_state
    ... def energy(problem_class, state, problem):
    ...     return problem_class.loss(state.x, problem) + 0.5 * jnp.sum((state.x - state.previous) ** 2)
    >>> energy
    energy
    """
    return OfState(function)


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
    return above_optimum(value, problem_class.optimal_loss(problem), problem_class.optimal_accuracy(problem))


def above_optimum(value: Scalar, optimum: Any, accuracy: Any) -> Scalar:
    """The gap of a loss to an optimum that is known to an accuracy, with the precautions of `loss_gap`."""
    optimum, least = jnp.asarray(optimum, value.dtype), jnp.asarray(accuracy, value.dtype)
    gap = value - optimum
    forgiven = jnp.finfo(value.dtype).eps ** 0.57 * jnp.maximum(1.0, jnp.abs(optimum))
    return jnp.where(gap < -forgiven, jnp.nan, jnp.maximum(gap, least))


def gradient_norm(problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
    """The Euclidean norm of the gradient, of the smooth part if the loss is composite."""
    return norm(problem_class.gradient(x, problem))


def distance(problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
    """The distance to the solution, for classes that define `solution`."""
    return norm(difference(x, problem_class.solution(problem)))


class ProxResidual(eqx.Module):
    r"""How far a proximal gradient step moves a point; 0 exactly at the solutions.

    \(\|x - \mathrm{prox}_{\beta g}(x - \beta \nabla h(x))\|\), where β is 1/L of the problem by default.
    """

    step_size: float | None = eqx.field(static=True, default=None)

    def __call__(self, problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
        if not problem_class.has("prox"):
            problem_class.prox(x, 1.0, problem)  # says that there is none
        beta = 1.0 / problem_class.smoothness(problem) if self.step_size is None else self.step_size
        ahead = jax.tree.map(lambda part, slope: part - beta * slope, x, problem_class.gradient(x, problem))
        return norm(difference(x, problem_class.prox(ahead, beta, problem)))

    def __repr__(self) -> str:
        return "prox_residual"


prox_residual = ProxResidual()


def difference(x: Any, y: Any) -> Any:
    """The difference of two points of the same form: arrays of any shape, or pytrees of them."""
    return jax.tree.map(lambda part, other: part - other, x, y)


def norm(x: Any) -> Scalar:
    """Euclidean norm of a point of any form, with derivative 0 at 0."""
    square = reduce(jnp.add, [jnp.sum(part * part) for part in jax.tree.leaves(x)])
    return jnp.where(square == 0, 0.0, jnp.sqrt(jnp.where(square == 0, 1.0, square)))
