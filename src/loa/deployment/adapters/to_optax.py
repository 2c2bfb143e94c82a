"""Algorithms as optax transformations."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, Key, Scalar

from ...algorithms.algorithm import Algorithm, initial_state
from ...trajectory.kernels import in_precision
from ...trajectory.walk import state_key, step_key
from .python_functions import NoProblem, Outside, OutsideOracle, check_deployed

if TYPE_CHECKING:
    import optax


class ToOptaxState(NamedTuple):
    """The number of steps made, and the state of the algorithm after them."""

    steps: Int[Array, ""]
    inner: Any


def to_optax(algorithm: Algorithm, *, key: Key[Array, ""] | None = None) -> optax.GradientTransformationExtraArgs:
    """Turn an algorithm into an optax transformation.

    Parameters may be any pytree; all of them together are the point x. An algorithm that uses only the gradient at the
    current point needs `update(gradients, state, parameters)`. An algorithm that also uses the loss there needs
    `value=`. An algorithm that evaluates other points, as line searches do, needs `value_fn=` and the arguments that
    this function takes in addition to x. These are the conventions of `optax.lbfgs`. The algorithm keeps the point
    itself, so nothing but its updates may change the parameters, and in a chain it must come last.

    Arguments:
        algorithm: any algorithm that does not need more of a problem than losses and gradients.
        key: a PRNG key for algorithms that use randomness; by default `jax.random.key(0)`.

    Returns:
        The transformation, with the functions `init` and `update`.

    >>> import loa, optax
    >>> search, loss = loa.to_optax(loa.LBFGS()), lambda x: jnp.sum((x["a"] - 1.0) ** 2) + x["b"] ** 4
    >>> @jax.jit
    ... def step(x, state):
    ...     updates, state = search.update(jax.grad(loss)(x), state, x, value_fn=loss)
    ...     return optax.apply_updates(x, updates), state
    >>> x = {"a": jnp.zeros(3), "b": jnp.ones(())}
    >>> state = search.init(x)
    >>> for _ in range(20):
    ...     x, state = step(x, state)
    >>> bool(loss(x) < 1e-5)
    True
    """
    check_deployed(algorithm, key)
    import optax

    def begin(seen: Callable[[Any], Outside], x: Float[Array, " d"]) -> Any:
        own, first = in_precision(algorithm, x.dtype), jax.random.key(0) if key is None else key
        return initial_state(own, OutsideOracle(seen(x), NoProblem()), x, state_key(first))

    def init(params: Any) -> ToOptaxState:
        x, _ = ravel_pytree(params)
        form = jax.eval_shape(lambda x: begin(lambda here: Outside(jnp.sum, jnp.zeros_like), x), x)
        return ToOptaxState(
            jnp.zeros((), jnp.int32), jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), form)
        )

    def update(
        updates: Any, state: Any, params: Any = None, *, value: Any = None, value_fn: Any = None, **more: Any
    ) -> tuple[Any, ToOptaxState]:
        if params is None:
            raise ValueError("an algorithm of loa needs the parameters: call update(gradients, state, parameters).")
        x, structured = ravel_pytree(params)
        loss = None if value_fn is None else _with(value_fn, more)
        given = _Given(type(algorithm).__name__, ravel_pytree(updates)[0], value, loss, structured)
        inner = jax.lax.cond(state.steps == 0, lambda: begin(given.at, x), lambda: state.inner)
        own = in_precision(algorithm, x.dtype)
        first = jax.random.key(0) if key is None else key
        oracle = OutsideOracle(given.at(own.iterate(inner)), NoProblem())
        inner = own.step(oracle, inner, step_key(first, state.steps))
        return structured(own.iterate(inner) - x), ToOptaxState(state.steps + 1, inner)

    return optax.GradientTransformationExtraArgs(init, update)


def _with(value_fn: Callable[..., Scalar], more: dict[str, Any]) -> Callable[[Any], Scalar]:
    """The function with those additional arguments that it accepts, such as a batch of data."""
    taken = inspect.signature(value_fn).parameters
    everything = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in taken.values())
    return partial(value_fn, **{name: each for name, each in more.items() if everything or name in taken})


class _Given(NamedTuple):
    """The arguments of an update: the gradient at the current point, and optionally the loss there or as a function."""

    name: str
    gradient: Float[Array, " d"]
    value: Any
    value_fn: Callable[[Any], Scalar] | None
    structured: Callable[[Array], Any]

    def at(self, here: Float[Array, " d"]) -> Outside:
        """The problem as seen from this point."""

        def value_at(x: Float[Array, " d"]) -> Scalar:
            if x is here and self.value is not None:
                return jnp.asarray(self.value, x.dtype)
            return self._loss("value=… or value_fn=…" if x is here else "value_fn=…")(x)

        def gradient_at(x: Float[Array, " d"]) -> Float[Array, " d"]:
            return self.gradient if x is here else jax.grad(self._loss("value_fn=…"))(x)

        return Outside(value_at, gradient_at)

    def _loss(self, missing: str) -> Callable[[Float[Array, " d"]], Scalar]:
        value_fn = self.value_fn
        if value_fn is None:
            raise ValueError(f"{self.name} needs more than the gradient at this point: call update(…, {missing}).")
        return lambda x: jnp.asarray(value_fn(self.structured(x)), x.dtype)
