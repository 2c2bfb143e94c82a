r"""Learnable optimization algorithms \(\mathcal A(h, \theta, s, r)\) (section 3.2)."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, Scalar

from ..messages.arguments import check_type
from ..problems.oracle import Oracle
from .weights import as_distribution


class Algorithm(eqx.Module):
    r"""An iterative algorithm whose array leaves are its parameters.

    \(s^{(t+1)} = \mathcal A(h, \theta, s^{(t)}, r^{(t+1)})\).

    The array leaves of the module *are* the parameters h: a step size, or the weights of a network. θ is reached
    through the oracle, the state s is any pytree of arrays, the randomness r is the PRNG key. Everything is written
    for one problem. Points are arrays; those of a problem class that are dictionaries or other pytrees arrive as one
    vector. An algorithm with `on_vectors = True` gets every point as a vector, also matrices and images.

    >>> class SignDescent(Algorithm):
    ...     step_size: jax.Array = eqx.field(converter=jnp.asarray)
    ...     def init(self, oracle, x0):
    ...         return x0
    ...     def step(self, oracle, state, key):
    ...         return state - self.step_size * jnp.sign(oracle.gradient(state))
    """

    on_vectors: ClassVar[bool] = False
    """Whether points must be vectors; arrays of another shape are then flattened."""

    @abstractmethod
    def init(self, oracle: Oracle, x0: Any) -> Any:
        r"""The initial state over the initial point.

        \(s^{(0)}\) in the paper. An algorithm whose initial state is random, given the point, has a third argument:
        `init(self, oracle, x0, key)`.
        """

    @abstractmethod
    def step(self, oracle: Oracle, state: Any, key: Key[Array, ""]) -> Any:
        """One application of the algorithm: the next state."""

    def iterate(self, state: Any) -> Any:
        r"""The point of the optimization space that a state stands for.

        The projection \(x = \mathrm{proj}_X(s)\).

        The state itself, unless the algorithm has memory.
        """
        return state

    def resumed(self, oracle: Oracle, state: Any) -> Any:
        """The state at the same iterate for a loss that has changed slightly: a new beginning, unless memory helps."""
        return self.init(oracle, self.iterate(state))

    def known(self, state: Any) -> tuple[Scalar, Any] | None:
        """Loss and gradient at the iterate, as the oracle gave them, of an algorithm whose state holds both.

        Criteria and functionals then use these, so that looking at the trajectory costs almost nothing.
        """
        return None

    def recovers(self, state: Any) -> Bool[Array, ""] | bool:
        """Whether the next step deals with a loss that is not finite here, which ends other trajectories."""
        return False


def initial_state(algorithm: Algorithm, oracle: Oracle, x0: Any, key: Key[Array, ""]) -> Any:
    """The initial state of an algorithm at a point; the key is for those whose `init` has an argument `key`.

    >>> from loa import GradientDescent
    >>> from loa.problems import RunningExample
    >>> float(initial_state(GradientDescent(0.1), Oracle(RunningExample(), 1.0), jnp.array(2.0), jax.random.key(0)))
    2.0
    """
    is_random = "key" in inspect.signature(algorithm.init).parameters
    own: Any = {"key": key} if is_random else {}
    return jax.tree.map(jnp.asarray, algorithm.init(oracle, x0, **own))


class Aside(NamedTuple):
    """A part of a state that steps usually leave alone.

    The engine ignores it when it chooses how many trajectories fit into the cache of a processor.
    """

    content: Any


class Stack(eqx.Module):
    r"""A finite set of parameters of one algorithm, optionally a distribution on it.

    The parameters are \(h_1, \dots, h_K\).

    `algorithms` is one module whose array leaves carry a leading axis of length K; make it with `loa.stack`. Arrays
    that all candidates have in common are held once, in `common`, and are None in `algorithms`. An algorithm without
    parameters is a stack of one.
    """

    algorithms: Algorithm
    weights: Float[np.ndarray, " candidate"] | None = None
    common: Algorithm | None = None

    def __len__(self) -> int:
        arrays = jax.tree.leaves(eqx.filter(self.algorithms, eqx.is_array))
        return arrays[0].shape[0] if arrays else 1

    def __getitem__(self, index: int) -> Algorithm:
        check_type("the index of a candidate", index, int | np.integer, "a whole number")
        if not -len(self) <= index < len(self):
            raise IndexError(f"candidate {index} of a stack of {len(self)}.")
        own = jax.tree.map(lambda leaf: leaf[index] if eqx.is_array(leaf) else leaf, self.algorithms)
        return own if self.common is None else eqx.combine(own, self.common)

    def weighted(self, weights: Any) -> Stack:
        """The same candidates as a distribution."""
        return Stack(self.algorithms, as_distribution(weights, len(self)), self.common)


def stack(algorithms: Iterable[Algorithm], weights: Any = None) -> Stack:
    """Stack algorithms of the same kind: a finite set of parameters or, with weights, a distribution on it.

    An array that is the very same object in all of them is held once.

    Arguments:
        algorithms: algorithms of one class, with parameters of the same shapes.
        weights: one probability per algorithm; None for a set without a distribution.

    Returns:
        The stack.

    >>> from loa import GradientDescent
    >>> len(stack([GradientDescent(0.1), GradientDescent(0.2)], weights=[0.25, 0.75]))
    2
    """
    check_type("algorithms", algorithms, Iterable, "a list of algorithms")
    algorithms = list(algorithms)
    if not algorithms:
        raise ValueError("a stack needs at least one algorithm.")
    for algorithm in algorithms:
        check_type("each of the algorithms", algorithm, Algorithm, "a loa.Algorithm")
    if any(_form(algorithm) != _form(algorithms[0]) for algorithm in algorithms):
        raise ValueError(
            "only algorithms of the same class that differ in nothing but the values of array parameters, of the same "
            "shapes, can be stacked; a field that is a plain number becomes one by eqx.field(converter=jnp.asarray)."
        )
    arrays = [eqx.filter(algorithm, eqx.is_array) for algorithm in algorithms]
    if not jax.tree.leaves(arrays[0]) and len(algorithms) > 1:
        raise ValueError(f"{type(algorithms[0]).__name__} has no array parameters, so there is nothing to stack.")
    shared = jax.tree.map(lambda first, *others: all(other is first for other in others), *arrays)
    if all(jax.tree.leaves(shared)):
        shared = False  # a stack of equals, in which something must tell their number
    common, _ = eqx.partition(arrays[0], shared)
    own = [eqx.partition(each, shared)[1] for each in arrays]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *own)
    plain = eqx.filter(algorithms[0], eqx.is_array, inverse=True)
    distribution = None if weights is None else as_distribution(weights, len(algorithms))
    return Stack(eqx.combine(stacked, plain), distribution, common if jax.tree.leaves(common) else None)


def _form(algorithm: Algorithm) -> tuple[Any, list[Any]]:
    """All of an algorithm but the values of its parameters."""
    leaves, structure = jax.tree.flatten(algorithm)
    return structure, [(leaf.shape, leaf.dtype) if eqx.is_array(leaf) else leaf for leaf in leaves]
