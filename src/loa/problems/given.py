"""Problem classes given by plain functions, or by a fixed stack of real instances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, Scalar

from .arguments import check_callable, parameter
from .problem_class import ProblemClass, count_problems

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


class FromInstances(_WithLossFunction):
    """A problem class over a fixed stack of instances, each drawn with the same probability.

    `draw` draws from them independently, with replacement. To evaluate every instance exactly once, pass `instances`
    to `loa.evaluate` instead.

    Arguments:
        instances: a pytree of arrays with one common leading axis, one entry per instance.
        loss: the loss of a point on one instance, a scalar. JAX must be able to differentiate it.
        start: the initial point, an array or a pytree of arrays, or a function `start(problem, key)`.

    >>> data = {"a": jnp.arange(1.0, 6.0), "b": jnp.ones(5)}
    >>> fits = FromInstances(data, lambda x, problem: (problem["a"] * x - problem["b"]) ** 2, start=jnp.zeros(()))
    >>> fits.draw(jax.random.key(0), 3)["a"].shape
    (3,)
    """

    finite: ClassVar[bool] = True

    instances: Any
    loss_function: Callable[[Any, Any], Scalar] = eqx.field(static=True)
    start_point: Start

    def __init__(self, instances: Any, loss: Callable[[Any, Any], Any], start: Start):
        count_problems(instances)
        check_callable("loss", loss, "a function loss(x, problem)")
        self.instances = jax.tree.map(jnp.asarray, instances)
        self.loss_function = loss
        self.start_point = _as_start(start)

    def sample(self, key: Key[Array, ""]) -> Any:
        index = jax.random.randint(key, (), 0, count_problems(self.instances))
        return jax.tree.map(lambda leaf: leaf[index], self.instances)


def _as_start(start: Start) -> Start:
    """A function unchanged; an array, also from a list of numbers; or arrays in a dictionary, tuple or other pytree."""
    if callable(start):
        return start
    leaves = jax.tree.leaves(start)
    numbers = isinstance(start, list | tuple) and all(isinstance(leaf, int | float) for leaf in leaves)
    return parameter("start")(start) if numbers or not leaves else jax.tree.map(parameter("start"), start)
