"""Optax transformations as algorithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ..problems.oracle import Oracle
from .algorithm import Algorithm

if TYPE_CHECKING:
    import optax


class OptaxState(NamedTuple):
    """The point and the state that optax keeps."""

    x: Float[Array, ...]
    inner: Any


class FromOptax(Algorithm):
    r"""An algorithm that applies the updates of an optax transformation; made by `loa.from_optax`.

    \(x^{(t+1)} = x^{(t)} + u^{(t)}\), where u is the update that the transformation computes from the gradient. The
    parameters of the transformation were fixed when it was created, so h is empty.
    """

    transformation: optax.GradientTransformation = eqx.field(static=True)
    stochastic: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        if not (callable(getattr(self.transformation, "init", None)) and hasattr(self.transformation, "update")):
            raise TypeError(
                f"transformation must be an optax.GradientTransformation such as optax.adam(1e-3), "
                f"got {self.transformation!r}."
            )

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> OptaxState:
        return OptaxState(x0, jax.tree.map(jnp.asarray, self.transformation.init(x0)))

    def step(self, oracle: Oracle, state: OptaxState, key: Key[Array, ""]) -> OptaxState:
        x, inner = state
        gradient = oracle.stochastic_gradient(x, key) if self.stochastic else oracle.gradient(x)
        update, new_inner = self._update(oracle, gradient, inner, x)
        same_types = jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), new_inner, inner)
        return OptaxState(jnp.asarray(x + update, x.dtype), same_types)

    def iterate(self, state: OptaxState) -> Float[Array, ...]:
        return state.x

    def _update(self, oracle: Oracle, gradient: Any, inner: Any, x: Any) -> tuple[Any, Any]:
        """The update. The transformation gets more than the gradient only if it requires that."""
        try:
            return self.transformation.update(gradient, inner, x)
        except TypeError as error:
            if "required keyword" not in str(error):
                raise
        if self.stochastic:
            raise TypeError(
                "this optax transformation needs the loss besides the gradient, which has no meaning for stochastic "
                "gradients: use stochastic=False."
            )
        loss = _Uncounted(lambda point: oracle.problem_class.loss(point, oracle.problem))
        more = {"value": oracle.value(x), "grad": gradient, "value_fn": loss}
        update, new_inner = self.transformation.update(gradient, inner, x, **more)  # pyright: ignore[reportCallIssue]
        if loss.asked:
            _charge_line_search(oracle, new_inner)
        return update, new_inner


def from_optax(transformation: optax.GradientTransformation, *, stochastic: bool = False) -> FromOptax:
    """Turn an optax transformation into an algorithm.

    The transformation receives the gradient of the loss. It receives `value`, `grad` and `value_fn` only if it requires
    them, as the line searches and `optax.lbfgs` do. The trials of a line search are counted from the state of optax.

    Arguments:
        transformation: for example `optax.adam(1e-3)`.
        stochastic: whether to use stochastic gradients (for classes that have a `stochastic_loss`) or full ones.

    Returns:
        The algorithm.

    >>> import loa, optax
    >>> problem_class = loa.problems.Quadratics(dimension=5)
    >>> problems = problem_class.draw(jax.random.key(0), 3)
    >>> rmsprop = loa.from_optax(optax.rmsprop(1e-2))
    >>> loa.trajectories(rmsprop, problem_class, problems, horizon=10, key=jax.random.key(1)).losses.shape
    (3, 1, 11)
    """
    return FromOptax(transformation, stochastic)


class _Uncounted:
    """A loss that does not count its calls, but records whether there were any."""

    def __init__(self, loss: Callable[[Any], Any]):
        self.loss = loss
        self.asked = False

    def __call__(self, x: Any) -> Any:
        self.asked = True
        return self.loss(x)


def _charge_line_search(oracle: Oracle, inner: Any) -> None:
    """Count the trials of the line searches in the last step, as reported in the state of optax."""
    nodes = jax.tree.leaves(inner, is_leaf=_is_line_search)
    searches = [node for node in nodes if _is_line_search(node)]
    if not searches:
        raise TypeError(
            "this optax transformation evaluates the loss on its own and does not say how often (as those of "
            "optax.scale_by_zoom_linesearch and optax.scale_by_backtracking_linesearch do), so that its oracle calls "
            "cannot be counted."
        )
    for search in searches:
        trials = jnp.asarray(search.info.num_linesearch_steps, jnp.int32)
        gradients = trials if hasattr(search.info, "curvature_error") else int(search.grad is not None)
        calls = oracle.calls
        oracle.calls = calls._replace(value=calls.value + trials, gradient=calls.gradient + gradients)


def _is_line_search(node: Any) -> bool:
    return hasattr(node, "info") and hasattr(node.info, "num_linesearch_steps")
