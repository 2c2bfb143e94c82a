"""Problem classes given by plain functions, or by logged instances."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, Scalar

from ..messages.arguments import check_callable, parameter
from .logs.instances import Instances
from .problem_class import ProblemClass, check_key, count_problems, whole_number

Start = Any
"""The initial point, an array or a pytree of arrays, used for every problem, or a function `start(problem, key)`."""


class _WithLossFunction(ProblemClass):
    """A problem class whose loss is a function and whose start is a function or one fixed point."""

    loss_function: eqx.AbstractVar[Callable[[Any, Any], Scalar]]
    start_point: eqx.AbstractVar[Start]

    def loss(self, x: Any, problem: Any) -> Scalar:
        return self.loss_function(x, problem)

    def start(self, problem: Any, key: Key[Array, ""]) -> Any:
        return self.start_point(problem, key) if callable(self.start_point) else self.start_point


class FromFunctions(_WithLossFunction):
    """A problem class made from two functions, `sample(key)` and `loss(x, problem)`, and a start.

    Arguments:
        sample: draws one problem, a pytree of arrays, from a PRNG key.
        loss: the loss of a point on one problem, a scalar. JAX must be able to differentiate it.
        start: the initial point, an array or a pytree of arrays, or a function `start(problem, key)`.

    >>> lines = FromFunctions(jax.random.uniform, lambda x, slope: jnp.abs(slope * x), start=jnp.ones(()))
    >>> lines.draw(jax.random.key(0), 4).shape
    (4,)
    """

    sample_function: Callable[[Key[Array, ""]], Any] = eqx.field(static=True)
    loss_function: Callable[[Any, Any], Scalar] = eqx.field(static=True)
    start_point: Start

    def __init__(self, sample: Callable[[Any], Any], loss: Callable[[Any, Any], Any], start: Start):
        check_callable("sample", sample, "a function sample(key)")
        check_callable("loss", loss, "a function loss(x, problem)")
        self.sample_function = sample
        self.loss_function = loss
        self.start_point = _as_start(start)

    def sample(self, key: Key[Array, ""]) -> Any:
        return self.sample_function(key)


class OfInstances(ProblemClass):
    """A class whose problems are logged instances; a draw takes different ones, in random order."""

    instances: eqx.AbstractVar[Any]

    def sample(self, key: Key[Array, ""]) -> Any:
        index = jax.random.randint(key, (), 0, count_problems(self.instances))
        return jax.tree.map(lambda leaf: leaf[index], self.instances)

    def draw(self, key: Key[Array, ""], num_problems: int) -> Any:
        """Draw different instances; a longer draw begins with the shorter one."""
        check_key(key)
        wanted, count = whole_number("num_problems", num_problems), count_problems(self.instances)
        if wanted > count:
            raise ValueError(
                f"{type(self).__name__} has {count} instances, and a draw takes each at most once, but {wanted} "
                "problems were asked for: log more, or ask for fewer."
            )
        chosen = jax.random.permutation(key, count)[:wanted]
        return jax.tree.map(lambda leaf: leaf[chosen], self.instances)

    def at_most(self, num_problems: int) -> int:
        return min(num_problems, count_problems(self.instances))


class FromInstances(OfInstances, _WithLossFunction):
    """A problem class over logged instances. A draw takes each instance at most once.

    Two draws may have instances in common; `loa run` divides the instances among its roles instead, and `loa.problems.
    Log` does it in Python. To evaluate every instance exactly once, pass `instances` to `loa.evaluate`.

    Arguments:
        instances: from `loa.problems.from_files`; or a pytree of arrays with one common leading axis, one entry per
            instance.
        loss: the loss of a point on one instance, a scalar. JAX must be able to differentiate it.
        start: the initial point, an array or a pytree of arrays, or a function `start(problem, key)`.

    >>> data = {"a": jnp.arange(1.0, 6.0), "b": jnp.ones(5)}
    >>> fits = FromInstances(data, lambda x, problem: (problem["a"] * x - problem["b"]) ** 2, start=jnp.zeros(()))
    >>> sorted(fits.draw(jax.random.key(0), 5)["a"].tolist())
    [1.0, 2.0, 3.0, 4.0, 5.0]
    """

    instances: Any
    loss_function: Callable[[Any, Any], Scalar] = eqx.field(static=True)
    start_point: Start

    def __init__(self, instances: Any, loss: Callable[[Any, Any], Any], start: Start):
        check_callable("loss", loss, "a function loss(x, problem)")
        self.instances = _as_stack(instances)
        self.loss_function = loss
        self.start_point = _as_start(start)


def of_log(problem_class: ProblemClass, instances: Any) -> ProblemClass:
    """The same problem class, by the same name, on logged instances.

    Arguments:
        problem_class: says what the loss of an instance is and where to start; it needs no `sample`.
        instances: a stack, or what `loa.problems.from_files` returns.
    """
    if isinstance(problem_class, FromInstances):
        return eqx.tree_at(lambda each: each.instances, problem_class, _as_stack(instances))
    return _on_a_log(type(problem_class))(problem_class, _as_stack(instances))


@cache
def _on_a_log(problem_class: Any) -> Any:
    """The class derived from another one that is made from an object of it and instances."""

    def __init__(self: Any, given: ProblemClass, instances: Any) -> None:
        for field in dataclasses.fields(given):
            setattr(self, field.name, getattr(given, field.name))
        self.instances = instances

    content = {"__module__": problem_class.__module__, "__annotations__": {"instances": Any}, "__init__": __init__}
    return type(problem_class)(problem_class.__name__, (OfInstances, problem_class), content)


def _as_stack(instances: Any) -> Any:
    stack = instances.problems if isinstance(instances, Instances) else instances
    count_problems(stack)
    return jax.tree.map(jnp.asarray, stack)


def _as_start(start: Start) -> Start:
    """A function unchanged; an array, also from a list of numbers; or arrays in a dictionary, tuple or other pytree."""
    if callable(start):
        return start
    leaves = jax.tree.leaves(start)
    numbers = isinstance(start, list | tuple) and all(isinstance(leaf, int | float) for leaf in leaves)
    return parameter("start")(start) if numbers or not leaves else jax.tree.map(parameter("start"), start)
