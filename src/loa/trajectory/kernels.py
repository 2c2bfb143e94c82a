r"""Distributions of trajectories (section 3.3, appendices B and F).

A probability kernel is represented by how one samples from it: a function of a key. The transition kernel γ makes
one step, its semigroup \(\gamma^t\) makes t of them, the joint kernel Γ moves N problems at once, and ψ, the
distribution of whole trajectories, is sampled by `trajectories`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from ..algorithms.algorithm import Algorithm
from ..problems.gaps import Gap
from ..problems.oracle import Calls, Oracle
from ..problems.problem_class import ProblemClass, check_key, count_problems, whole_number


def trajectory_key(key: Key[Array, ""], problem: Any, replicate: Any) -> Key[Array, ""]:
    """The randomness of one trajectory: a function of the indices of problem and replicate, and of nothing else.

    All algorithms get the same one, so that comparisons between them are paired. The number folded in first keeps it
    apart from what `problem_class.draw` makes of the same key.
    """
    return jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(key, 0x10A), problem), replicate)


def initial(algorithm: Algorithm, problem_class: ProblemClass, problem: Any, key: Key[Array, ""]) -> tuple[Any, Calls]:
    r"""Sample the initial state \(s^{(0)}\) of the trajectory with this key; also the oracle calls made."""
    oracle = Oracle(problem_class, problem)
    x0 = jnp.asarray(problem_class.start(problem, jax.random.fold_in(key, 0)))
    state = jax.tree.map(jnp.asarray, algorithm.init(oracle, x0))
    return state, oracle.calls


def in_precision_of_problems(algorithm: Any, problem_class: ProblemClass, problems: Any) -> Any:
    """The algorithm, or stack of algorithms, with its parameters in the precision of the points it will work on."""
    return in_precision(algorithm, _some_coordinate(problem_class, problems).dtype)


def in_precision(algorithm: Any, dtype: Any) -> Any:
    """The algorithm with its parameters in this precision."""
    return jax.tree.map(lambda leaf: leaf.astype(dtype) if eqx.is_inexact_array(leaf) else leaf, algorithm)


@eqx.filter_jit
def _some_coordinate(problem_class: ProblemClass, problems: Any) -> Array:
    """A number like those of the points. Under `jit` only so that its type is worked out once."""
    first = jax.tree.map(lambda leaf: leaf[0], problems)
    return jnp.zeros((), jnp.asarray(problem_class.start(first, jax.random.key(0))).dtype)


def transition(algorithm: Algorithm, problem_class: ProblemClass, problem: Any, state: Any, key: Key[Array, ""]) -> Any:
    r"""Sample from the transition kernel \(\gamma(h, \theta, s, \cdot)\): one step of the algorithm (appendix B)."""
    return algorithm.step(Oracle(problem_class, problem), state, key)


def semigroup(
    algorithm: Algorithm, problem_class: ProblemClass, problem: Any, state: Any, steps: int, key: Key[Array, ""]
) -> Any:
    r"""Sample from \(\gamma^t(h, \theta, s, \cdot)\): t steps of the algorithm (appendix B); no step for t = 0."""

    def body(time: Int[Array, ""], state: Any) -> Any:
        return transition(algorithm, problem_class, problem, state, jax.random.fold_in(key, time))

    return jax.lax.fori_loop(0, steps, body, state)


def joint_transition(
    algorithm: Algorithm, problem_class: ProblemClass, problems: Any, states: Any, key: Key[Array, ""]
) -> Any:
    r"""Sample from the joint kernel \(\Gamma(h, \theta_{[N]}, s_{[N]}) = \bigotimes_n \gamma(h, \theta_n, s_n)\).

    Problems and states are stacked along the leading axis; the problems move independently (appendix F).
    """

    def one(index: Int[Array, ""], problem: Any, state: Any) -> Any:
        return transition(algorithm, problem_class, problem, state, jax.random.fold_in(key, index))

    return jax.vmap(one)(jnp.arange(count_problems(problems)), problems, states)


def evolution(
    algorithm: Algorithm,
    problem_class: ProblemClass,
    problems: Any,
    *,
    gap: Gap,
    horizon: int,
    key: Key[Array, ""],
    batch: int = 32,
) -> Float[np.ndarray, "problem time"]:
    r"""The gap \(v(x^{(t)}, \theta_n)\) for t = 0 … horizon, whether solved or not, without holding trajectories.

    With the same key these are the trajectories that `loa.evaluate` sees.
    """
    check_key(key)
    count = count_problems(problems)
    algorithm = in_precision_of_problems(algorithm, problem_class, problems)
    return np.asarray(_evolution(algorithm, problem_class, problems, gap, horizon, key, min(batch, count)))


@eqx.filter_jit
def _evolution(algorithm, problem_class, problems, gap, horizon, key, batch) -> Array:
    def one(sample: tuple[Int[Array, ""], Any]) -> Array:
        index, problem = sample
        own_key = trajectory_key(key, index, jnp.zeros((), jnp.int32))
        state, _ = initial(algorithm, problem_class, problem, own_key)

        def look(state: Any) -> Array:
            return gap(problem_class, algorithm.iterate(state), problem)

        def body(state: Any, time: Int[Array, ""]) -> tuple[Any, Array]:
            step_key = jax.random.fold_in(own_key, time + 1)
            return transition(algorithm, problem_class, problem, state, step_key), look(state)

        last, before = jax.lax.scan(body, state, jnp.arange(horizon))
        return jnp.append(before, look(last))

    return jax.lax.map(one, (jnp.arange(count_problems(problems)), problems), batch_size=batch)


class Trajectories(NamedTuple):
    """Whole trajectories; every leaf has the leading axes (problem, replicate, time = 0 … horizon)."""

    states: Any
    iterates: Any
    losses: Any


def trajectories(
    algorithm: Algorithm,
    problem_class: ProblemClass,
    problems: Any,
    *,
    horizon: int,
    key: Key[Array, ""],
    replicates: int = 1,
) -> Trajectories:
    r"""Sample whole trajectories from \(\psi(h, \theta_n, \cdot)\) for a stack of problems.

    With the same key these are the trajectories that `loa.evaluate` sees, run on to the horizon. All of them are
    held in memory: for statistics of many long ones use `loa.evaluate`.
    """
    check_key(key)
    if not isinstance(algorithm, Algorithm):
        raise TypeError(f"algorithm must be one loa.Algorithm (of a stack, take stack[k]), got {algorithm!r}.")
    horizon, replicates = whole_number("horizon", horizon), whole_number("replicates", replicates)
    count_problems(problems)
    algorithm = in_precision_of_problems(algorithm, problem_class, problems)
    return _trajectories(algorithm, problem_class, problems, horizon, key, replicates)


@eqx.filter_jit
def _trajectories(algorithm, problem_class, problems, horizon, key, replicates) -> Trajectories:
    def one(index: Int[Array, ""], replicate: Int[Array, ""], problem: Any) -> Trajectories:
        own_key = trajectory_key(key, index, replicate)
        state, _ = initial(algorithm, problem_class, problem, own_key)

        def body(state: Any, time: Int[Array, ""]) -> tuple[Any, Any]:
            step_key = jax.random.fold_in(own_key, time + 1)
            return transition(algorithm, problem_class, problem, state, step_key), state

        last, before = jax.lax.scan(body, state, jnp.arange(horizon))
        states = jax.tree.map(lambda many, one: jnp.concatenate([many, jnp.asarray(one)[None]]), before, last)
        iterates = jax.vmap(algorithm.iterate)(states)
        return Trajectories(states, iterates, jax.vmap(lambda x: problem_class.loss(x, problem))(iterates))

    over_replicates = jax.vmap(one, in_axes=(None, 0, None))
    over_problems = jax.vmap(over_replicates, in_axes=(0, None, 0))
    return over_problems(jnp.arange(count_problems(problems)), jnp.arange(replicates), problems)
