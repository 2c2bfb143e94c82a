"""A distribution on parameters as one randomized algorithm: h ~ ρ for each trajectory (section 5)."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Scalar

from ..messages.arguments import check_type
from ..problems.oracle import Oracle
from .algorithm import Algorithm, Stack, initial_state
from .weights import as_distribution


class RandomizedState(NamedTuple):
    """Which candidate was drawn for this trajectory, and its state."""

    candidate: Int[Array, ""]
    state: Any


class Randomized(Algorithm):
    """An algorithm that draws its parameters when a trajectory begins, and keeps them; made by `loa.randomized`."""

    algorithms: Algorithm
    common: Algorithm | None
    probabilities: Float[Array, " candidate"]

    @property
    def on_vectors(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.algorithms.on_vectors

    def init(self, oracle: Oracle, x0: Any, key: Key[Array, ""] | None = None) -> RandomizedState:
        if key is None:
            raise ValueError("a randomized algorithm draws its parameters when it begins: init needs a key.")
        draw_key, own_key = jax.random.split(key)
        candidate = jax.random.categorical(draw_key, jnp.log(self.probabilities)).astype(jnp.int32)
        return RandomizedState(candidate, initial_state(self.drawn(candidate), oracle, x0, own_key))

    def step(self, oracle: Oracle, state: RandomizedState, key: Key[Array, ""]) -> RandomizedState:
        return state._replace(state=self.drawn(state.candidate).step(oracle, state.state, key))

    def iterate(self, state: RandomizedState) -> Any:
        return self.drawn(state.candidate).iterate(state.state)

    def known(self, state: RandomizedState) -> tuple[Scalar, Any] | None:
        return self.drawn(state.candidate).known(state.state)

    def recovers(self, state: RandomizedState) -> Bool[Array, ""] | bool:
        return self.drawn(state.candidate).recovers(state.state)

    def drawn(self, candidate: Int[Array, ""]) -> Algorithm:
        """The algorithm with the parameters of this candidate."""
        own = jax.tree.map(lambda leaf: leaf[candidate] if eqx.is_array(leaf) else leaf, self.algorithms)
        return own if self.common is None else eqx.combine(own, self.common)


def randomized(stack: Stack) -> Randomized:
    r"""Turn a stack with weights into one randomized algorithm, which draws its parameters for each trajectory.

    \(h \sim \rho\), then \(\xi \sim \psi(h, \theta, \cdot)\): the algorithm that the paper's bounds on a posterior are
    about. Whatever runs an algorithm runs this one, and what is measured or certified of it is a mean, quantile, CVaR
    or distribution under ρ. The parameters come from the key of the trajectory, so that replicates draw their own.

    Arguments:
        stack: candidates with weights ρ, from `loa.stack`, `loa.learning.posterior_on` or a run's `posterior` file.

    Returns:
        The algorithm. Its state says which candidate was drawn.

    >>> import loa
    >>> either = loa.randomized(loa.stack([loa.GradientDescent(0.5), loa.GradientDescent(1.0)], weights=[0.5, 0.5]))
    >>> found = loa.evaluate(either, loa.problems.RunningExample(), jnp.ones(200), criterion=loa.gap_below(1e-6),
    ...                      horizon=100, key=jax.random.key(0))
    >>> sorted(set(found["stopping_time"].ravel().tolist()))
    [1, 10]
    """
    check_type("stack", stack, Stack, "a loa.Stack with weights")
    if stack.weights is None:
        raise ValueError("a stack without weights is a set of algorithms: give it weights, or take one, stack[k].")
    weights = jnp.asarray(as_distribution(stack.weights, len(stack)))
    return Randomized(stack.algorithms, stack.common, weights)
