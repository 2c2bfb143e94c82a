"""Whether the parts of a job fit together, found out from shapes before anything runs, and what trajectories need."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm, Aside
from ..machine.memory_of_programs import largest_array, num_bytes
from ..messages.arguments import outline
from ..messages.errors_of_jax import in_short
from ..problems.computed_optimum import ComputedOptimum
from ..problems.criterion import Criterion
from ..problems.per_problem import Asked, NotingSmoothness
from ..problems.problem_class import ProblemClass, sampled
from ..problems.sets.constraint import check_constraint
from ..problems.vector_points import Form, dtype_of
from .checks import warn_of_unknown_optimum
from .functionals import End, Functional
from .job import Job
from .kernels import in_precision
from .walk import Walk


class Needs(NamedTuple):
    """What trajectories of a job need: their bytes while in flight, and whether steps ask for a smoothness constant."""

    slot_bytes: int
    smoothness: bool


def check_job(job: Job) -> Needs:
    """Refuse a job whose parts do not fit together; return what its trajectories need."""
    warn_of_unknown_optimum(job)
    leaves, structure = jax.tree.flatten(job)
    return _check_forms(structure, tuple(map(_form, leaves)))


def check_compatible(
    algorithm: Algorithm,
    problem_class: ProblemClass,
    *,
    criterion: Criterion,
    horizon: int,
    functionals: tuple[Functional, ...] = (),
) -> None:
    """Refuse parts of an evaluation that do not fit together, as `check_job` does, but before any problem is drawn.

    Arguments:
        algorithm, problem_class, criterion, horizon, functionals: as for `loa.evaluate`.
    """
    key = jax.random.key(0)
    problem = jax.eval_shape(lambda key: jax.tree.map(jnp.asarray, sampled(problem_class, key)), key)
    dtype = dtype_of(eqx.filter_eval_shape(_start, problem_class, problem, key))
    if isinstance(problem_class, ComputedOptimum):
        problem = problem._replace(optimal_loss=jax.ShapeDtypeStruct((), dtype))  # it is computed once they are drawn
    stack = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((1, *leaf.shape), leaf.dtype), problem)
    indices, algorithm = jnp.arange(1, dtype=jnp.int32), in_precision(algorithm, dtype)
    job = Job(algorithm, None, problem_class, stack, indices, key, criterion, functionals, horizon, None, 1)
    leaves, structure = jax.tree.flatten(job)
    _check_forms(structure, tuple(map(_form, leaves)))


def _form(leaf: Any) -> Any:
    """Shape and type in the place of an array; anything else unchanged."""
    if not isinstance(leaf, jax.Array | np.ndarray):
        return leaf
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=getattr(leaf, "weak_type", False))


@lru_cache(maxsize=64)
def _check_forms(structure: Any, leaves: tuple[Any, ...]) -> Needs:
    """`check_job` on shapes in the place of arrays, so that each combination is checked only the first time."""
    job: Job = jax.tree.unflatten(structure, leaves)
    eqx.filter_eval_shape(_check_stack, job)
    eqx.filter_eval_shape(_check_problem_class, job)
    eqx.filter_eval_shape(_check_criterion, job)
    eqx.filter_eval_shape(_check_algorithm, job)
    eqx.filter_eval_shape(_check_functionals, job)
    slot = eqx.filter_eval_shape(lambda job: job.begin(jnp.zeros((), jnp.int32)), job)
    asked = Asked()

    def noting(job: Job) -> Job:
        return dataclasses.replace(job, problem_class=NotingSmoothness(job.problem_class, asked))

    jaxpr = eqx.filter_make_jaxpr(lambda job, slot: noting(job).advance(slot))(job, slot)[0].jaxpr
    own = jax.tree.leaves(slot)
    in_use = [leaf for leaf in jax.tree.leaves(slot, is_leaf=_is_aside) if not _is_aside(leaf)]
    slot_bytes = sum(map(num_bytes, in_use)) + largest_array(jaxpr, jaxpr.invars[-len(own) :])
    return Needs(slot_bytes, asked.smoothness)


def _is_aside(part: Any) -> bool:
    return isinstance(part, Aside)


def _check_stack(job: Job) -> None:
    """Problems should look like what the class samples; one problem without the axis of a stack is a likely slip."""
    try:
        sampled = jax.eval_shape(job.problem_class.sample, job.key)
    except Exception:  # a class that cannot sample can still be evaluated on given problems
        return
    first = job.first_problem
    if jax.tree.structure(sampled) != jax.tree.structure(first):
        return
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(sampled), strict=True):
        if jnp.ndim(one) != len(other.shape):
            raise ValueError(
                f"problems must be a stack of problems, but problem 0 of it is {_show(one)}, where "
                f"{type(job.problem_class).__name__}.sample gives {_show(other)}: use problem_class.draw."
            )


def _unlike_samples(job: Job) -> str:
    """What a problem is, if it has another structure than those that the class samples."""
    try:
        sampled = jax.eval_shape(job.problem_class.sample, job.key)
    except Exception:  # a class that cannot sample
        return ""
    if jax.tree.structure(sampled) == jax.tree.structure(job.first_problem):
        return ""
    name = type(job.problem_class).__name__
    return f" (problem 0 is {outline(job.first_problem)}, where {name}.sample gives {outline(sampled)})"


def _check_problem_class(job: Job) -> None:
    problem_class, problem = job.problem_class, job.first_problem
    name = type(problem_class).__name__
    x0 = _start(problem_class, problem, job.key)
    check_constraint(problem_class, problem)
    try:
        loss = problem_class.loss(x0, problem)
    except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
        raise ValueError(
            f"{name}.loss fails at the point of shape {_shapes(x0)} that {name}.start returns: {in_short(error)}"
            f"{_unlike_samples(job)}."
        ) from error
    if not _is_float(loss) or loss.shape != ():
        advice = "; sum it up" if _is_float(loss) else ""
        raise ValueError(
            f"{name}.loss must return a floating-point scalar, but at the start it is {outline(loss)}{advice}."
        )
    if problem_class.has("prox") and not (problem_class.has("smooth") or problem_class.has("gradient")):
        raise TypeError(
            f"{name}.prox belongs to a part of the loss: define also `def smooth(self, x, problem)`, the loss without "
            "that part."
        )
    if problem_class.has("value_and_gradient") and not problem_class.has("gradient"):
        raise TypeError(f"{name} has its own value_and_gradient: define also `def gradient(self, x, problem)`.")
    gradient = _gradient(problem_class, x0, problem)
    if gradient is not None and Form.of(gradient) != Form.of(x0):
        raise ValueError(
            f"{name}.start returns a point of shape {_shapes(x0)}, but {name}.gradient there has shape "
            f"{_shapes(gradient)}."
        )


def _gradient(problem_class: ProblemClass, x: Any, problem: Any) -> Any:
    """The gradient, or None where JAX cannot differentiate the loss: an algorithm may ask for values only."""
    try:
        return problem_class.gradient(x, problem)
    except (NotImplementedError, TypeError, ValueError):
        if problem_class.has("gradient") or problem_class.has("smooth"):
            raise
        return None


def _start(problem_class: ProblemClass, problem: Any, key: Key[Array, ""]) -> Any:
    """The initial point; refused unless it is a floating-point array, or a pytree of such."""
    x0 = problem_class.start(problem, key)
    parts = jax.tree_util.tree_leaves_with_path(x0) or [((), x0)]
    for path, part in parts:
        if not isinstance(part, float) and not _is_float(part):
            where = f" at {jax.tree_util.keystr(path)}" if path else ""
            numbers = isinstance(part, int) or hasattr(part, "dtype")
            advice = ": make it one of floating-point numbers, such as jnp.zeros(3)" if numbers else ""
            raise TypeError(
                f"{type(problem_class).__name__}.start must return a floating-point array, or a dictionary, tuple or "
                f"other pytree of such, got {_show(part)}{where}{advice}."
            )
    return jax.tree.map(jnp.asarray, x0)


def _is_float(value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray) and jnp.issubdtype(value.dtype, jnp.floating)


def _shapes(point: Any) -> Any:
    """The shape of an array, or a pytree of shapes."""
    return jax.tree.map(lambda part: part.shape, point)


def _check_criterion(job: Job) -> None:
    problem = job.first_problem
    met = job.criterion(job.problem_class, _start(job.problem_class, problem, job.key), problem)
    if jnp.shape(met) != ():
        raise ValueError(
            f"the criterion {job.criterion!r} must be true or false of a point, but it is {_show(met)} at the start: "
            "its gap must return a scalar."
        )


def _check_algorithm(job: Job) -> None:
    algorithm, problem = _first_algorithm(job), job.first_problem
    name = type(algorithm).__name__
    walk = Walk(algorithm, job.problem_class, problem)
    x0 = jnp.asarray(walk.asked.start(problem, job.key))
    begun = walk.begin(job.key)
    state, after = begun.state, walk.step(begun, job.key).state
    if jax.tree.map(_show, state) != jax.tree.map(_show, after):
        raise ValueError(
            f"{name}.step must return a state like the one it was given: {jax.tree.map(_show, state)}, "
            f"got {jax.tree.map(_show, after)}."
        )
    x = algorithm.iterate(state)
    if _show(x) != _show(x0):
        raise ValueError(f"{name}.iterate must return a point like the start, {_show(x0)}, got {_show(x)}.")


def _check_functionals(job: Job) -> None:
    walk = Walk(_first_algorithm(job), job.problem_class, job.first_problem)
    record = walk.record(walk.begin(job.key))
    zero, yes = jnp.zeros((), jnp.int32), jnp.asarray(True)
    for functional in job.functionals:
        name = f"{type(functional).__name__} {functional.name!r}"
        carry = jax.tree.map(jnp.asarray, functional.init(record))
        after = functional.update(carry, record)
        if jax.tree.map(_show, carry) != jax.tree.map(_show, after):
            forms = f"{jax.tree.map(_show, carry)}, got {jax.tree.map(_show, after)}"
            raise ValueError(f"update of {name} must return what is carried in the form it was given: {forms}.")
        try:
            value = functional.result(carry, End(zero, yes, yes, zero, job.horizon))
        except jax.errors.TracerBoolConversionError as error:
            raise TypeError(
                f"{name} must work on JAX arrays: no `if`, `and`, `or` or chained comparisons on values; "
                "write (10 < time) & (time < 50) for 10 < time < 50."
            ) from error
        if functional.is_number and jnp.shape(value) != ():
            raise ValueError(f"the result of {name} must be a scalar, got {_show(value)}.")


def _first_algorithm(job: Job) -> Algorithm:
    if job.num_candidates is None:
        return job.algorithms
    first = jax.tree.map(lambda leaf: leaf[0] if eqx.is_array(leaf) else leaf, job.algorithms)
    return first if job.common is None else eqx.combine(first, job.common)


def _show(value: Any) -> str:
    """Type and shape in short, such as float64[200]."""
    return f"{value.dtype}{list(value.shape)}" if hasattr(value, "dtype") else repr(value)
