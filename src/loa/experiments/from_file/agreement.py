"""What a user's class says about its problems must agree with its loss: checked on shapes, then on sample problems.

A gradient with a wrong sign, or a smallest loss that is not the smallest, would not stop an experiment: it would only
make its results worse, or meaningless, without a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...messages.errors_of_jax import in_short
from ...problems.computed_optimum import ComputedOptimum
from ...problems.problem_class import ProblemClass, sampled

EXAMINED = 8
"""The number of sample problems on which numbers are compared."""

TOLERANCE = {jnp.dtype("float64"): 0.01, jnp.dtype("float32"): 0.1}
"""The relative error that is taken for rounding; a wrong formula is off by more. Half precision is believed."""


def check_forms(problem_class: ProblemClass) -> None:
    """Refuse a class whose optional methods return something of another shape than they should."""
    key = jax.random.key(0)
    problem = jax.eval_shape(lambda key: jax.tree.map(jnp.asarray, sampled(problem_class, key)), key)
    point = jax.eval_shape(lambda problem: _started(problem_class, problem), problem)
    step = jax.ShapeDtypeStruct((), jnp.result_type(float))
    points, numbers = (point, "a point like the start"), (step, "a number")
    arguments: dict[str, tuple[tuple[Any, ...], tuple[Any, str]]] = {
        "prox": ((point, step, problem), points),
        "gradient": ((point, problem), points),
        "solution": ((problem,), points),
        "smoothness": ((problem,), numbers),
        "optimal_loss": ((problem,), numbers),
        "optimal_accuracy": ((problem,), numbers),
        "hessian_product": ((point, point, problem), points),
        "stochastic_loss": ((point, problem, key), numbers),
    }
    if isinstance(point, jax.ShapeDtypeStruct):
        square = jax.ShapeDtypeStruct((point.size, point.size), point.dtype)
        arguments["hessian"] = ((point, problem), (square, "a matrix"))
    for method, (given, (wanted, words)) in arguments.items():
        if _is_own(problem_class, method):
            name = f"{type(problem_class).__name__}.{method}"
            found = _form(name, getattr(problem_class, method), given)
            if _shapes(found) != _shapes(wanted):
                raise ValueError(f"{name} must return {words}, {_shown(wanted)}, got {_shown(found)}.")


def check_numbers(problem_class: ProblemClass, problems: Any) -> None:
    """Refuse a class whose methods contradict its loss at the start and beside it.

    Arguments:
        problem_class: the class.
        problems: a stack of sample problems.
    """
    own = [method for method in COMPARED if _is_own(problem_class, method)]
    if not own or isinstance(problem_class, ComputedOptimum):
        return
    some = jax.tree.map(lambda leaf: leaf[:EXAMINED], problems)
    found = jax.tree.map(np.asarray, _compared(problem_class, some, tuple(own)))
    for method, (says, follows, wrong) in found.items():
        if np.mean(wrong) > 0.5 if method in DERIVATIVES else np.any(wrong):
            at = int(np.argmax(wrong))
            name, numbers = f"{type(problem_class).__name__}.{method}", (float(says.flat[at]), float(follows.flat[at]))
            raise ValueError(COMPARED[method].format(name, *(f"{number:.4g}" for number in numbers)))


DERIVATIVES = ("gradient", "value_and_gradient", "hessian_product", "hessian", "residuals")
"""Methods that may differ from automatic differentiation where the loss has a kink, but not nearly everywhere."""

COMPARED = {
    "gradient": (
        "{0} does not agree with the loss: along some direction the slope is {2}, but the gradient says {1}. Correct "
        "it, or remove it: loa then uses automatic differentiation."
    ),
    "value_and_gradient": (
        "{0} does not agree with the loss and the gradient: where they give {2}, it gives {1}. Correct or remove it."
    ),
    "hessian_product": (
        "{0} does not agree with the gradient: along some direction the curvature is {2}, but it says {1}. Correct it, "
        "or remove it: loa then uses automatic differentiation."
    ),
    "hessian": (
        "{0} does not agree with the gradient: along some direction the curvature is {2}, but it says {1}. Correct it, "
        "or remove it: loa then uses automatic differentiation."
    ),
    "residuals": (
        "{0} do not agree with the loss: half of their squared norm is {1}, and the smooth part of the loss {2}."
    ),
    "smoothness": "{0} must be positive, because it is a Lipschitz constant of the gradient, got {1}.",
    "optimal_loss": "{0} must be the smallest value of the loss, but it is {1} where the loss at the start is {2}.",
    "solution": "{0} must be a minimizer of the loss, but its loss is {1}, and that of the start is {2}.",
}


@eqx.filter_jit
def _compared(problem_class: ProblemClass, problems: Any, methods: tuple[str, ...]) -> dict[str, Any]:
    """For each method and problem, at two points: two numbers that should agree, and whether they do not."""

    def one(problem: Any) -> dict[str, Any]:
        start = jax.tree.map(jnp.asarray, _started(problem_class, problem))
        points = [start, jax.tree.map(lambda leaf: leaf + 0.01 * (1 + jnp.abs(leaf)) * _direction(leaf), start)]
        found = [dict(_comparisons(problem_class, x, start, problem, methods)) for x in points]
        return jax.tree.map(lambda *values: jnp.stack(values), *found)

    return jax.vmap(one)(problems)


def _comparisons(
    problem_class: ProblemClass, x: Any, start: Any, problem: Any, methods: tuple[str, ...]
) -> Iterator[tuple[str, tuple[Any, Any, Any]]]:
    direction = jax.tree.map(_direction, x)
    tolerance = min((TOLERANCE.get(leaf.dtype, jnp.inf) for leaf in jax.tree.leaves(x)), default=jnp.inf)

    def along(vector: Any) -> Any:
        parts = jax.tree.map(lambda one, other: jnp.sum(one * other), vector, direction)
        return sum(jax.tree.leaves(parts))

    def apart(says: Any, follows: Any, scale: Any) -> tuple[Any, Any, Any]:
        finite = jnp.isfinite(says) & jnp.isfinite(follows)
        return says, follows, finite & (jnp.abs(says - follows) > tolerance * (scale + 1e-8))

    def slope(function: Any) -> Any:
        return jax.jvp(lambda point: function(point, problem), (x,), (direction,))[1]

    loss = problem_class.loss(x, problem)
    if "gradient" in methods:
        gradient = problem_class.gradient(x, problem)
        exact = _differentiated(lambda: jax.grad(problem_class.smooth)(x, problem))
        if exact is not None:
            yield "gradient", apart(along(gradient), along(exact), _norm(exact) * _norm(direction))
    if "value_and_gradient" in methods:
        value, gradient = problem_class.value_and_gradient(x, problem)
        other = problem_class.gradient(x, problem)
        says, follows = value + along(gradient), loss + along(other)
        yield "value_and_gradient", apart(says, follows, jnp.abs(loss) + _norm(other) * _norm(direction))
    curvature = _differentiated(lambda: slope(problem_class.gradient))
    if "hessian_product" in methods and curvature is not None:
        product = problem_class.hessian_product(x, direction, problem)
        yield "hessian_product", apart(along(product), along(curvature), _norm(curvature) * _norm(direction))
    if "hessian" in methods and curvature is not None and isinstance(x, jax.Array):
        product = (problem_class.hessian(x, problem) @ direction.ravel()).reshape(x.shape)
        yield "hessian", apart(along(product), along(curvature), _norm(curvature) * _norm(direction))
    if "residuals" in methods:
        half, smooth = 0.5 * _norm(problem_class.residuals(x, problem)) ** 2, problem_class.smooth(x, problem)
        yield "residuals", apart(half, smooth, jnp.abs(smooth))
    if "smoothness" in methods:
        constant = jnp.asarray(problem_class.smoothness(problem))
        yield "smoothness", (constant, constant, ~(constant > 0))
    if "optimal_loss" in methods:
        smallest = jnp.asarray(problem_class.optimal_loss(problem))
        lowest = smallest - jnp.asarray(problem_class.optimal_accuracy(problem))
        yield "optimal_loss", (smallest, loss, (lowest > loss + tolerance * (jnp.abs(loss) + 1e-8)) | jnp.isnan(lowest))
    if "solution" in methods:
        least = problem_class.loss(jax.tree.map(jnp.asarray, problem_class.solution(problem)), problem)
        first = problem_class.loss(start, problem)
        yield "solution", (least, first, least > first + tolerance * (jnp.abs(first) + 1e-8))


def _started(problem_class: ProblemClass, problem: Any) -> Any:
    return jax.tree.map(jnp.asarray, problem_class.start(problem, jax.random.key(0)))


def _direction(leaf: Any) -> Any:
    """Numbers between -1 and 1 without a pattern."""
    return jax.random.uniform(jax.random.key(1), leaf.shape, leaf.dtype, -1.0, 1.0)


def _norm(tree: Any) -> Any:
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def _differentiated(compute: Any) -> Any:
    """A derivative, or None where JAX cannot compute it."""
    try:
        return compute()
    except (NotImplementedError, TypeError, ValueError):
        return None


def _is_own(problem_class: ProblemClass, method: str) -> bool:
    """Whether the user, and not loa, has written a method."""
    if not problem_class.defines(method):
        return False
    writer = next((each for each in type(problem_class).__mro__ if method in vars(each)), ProblemClass)
    return writer.__module__.partition(".")[0] != "loa"


def _form(name: str, method: Any, given: tuple[Any, ...]) -> Any:
    try:
        return eqx.filter_eval_shape(lambda *given: jax.tree.map(jnp.asarray, method(*given)), *given)
    except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
        raise ValueError(f"{name} fails at the start: {in_short(error)}.") from error


def _shapes(form: Any) -> Any:
    return jax.tree.structure(form), [leaf.shape for leaf in jax.tree.leaves(form)]


def _shown(form: Any) -> str:
    shown = jax.tree.map(lambda leaf: f"{leaf.dtype}{list(leaf.shape)}", form)
    return shown if isinstance(shown, str) else repr(shown).replace("'", "")
