r"""Distributions of trajectories (section 3.3, appendices B and F).

A probability kernel is represented by how one samples from it: a function of a key. The transition kernel γ makes
one step, its semigroup \(\gamma^t\) makes t of them, the joint kernel Γ makes one on each of N problems, and ψ, the
distribution of whole trajectories, is sampled by `trajectories`. All of them go through `loa.trajectory.walk`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from ..algorithms.algorithm import Algorithm, Stack
from ..algorithms.randomized import randomized
from ..messages.arguments import check_type
from ..problems.gaps import Gap
from ..problems.problem_class import MissingOracle, ProblemClass, check_key, count_problems, whole_number
from ..problems.vector_points import dtype_of
from ..storage.resuming import Evaluations, as_evaluations
from .resumable_loop import resumable_loop
from .walk import Moment, Walk, step_key, trajectory_key


def in_precision_of_problems(algorithm: Any, problem_class: ProblemClass, problems: Any) -> Any:
    """The algorithm, or stack of algorithms, with its parameters in the precision of the points it will work on."""
    return in_precision(algorithm, _some_coordinate(problem_class, problems).dtype)


def in_precision(algorithm: Any, dtype: Any) -> Any:
    """The algorithm with its parameters in this precision."""
    return jax.tree.map(lambda leaf: leaf.astype(dtype) if eqx.is_inexact_array(leaf) else leaf, algorithm)


@eqx.filter_jit
def _some_coordinate(problem_class: ProblemClass, problems: Any) -> Array:
    """A number of the same type as the points. It is under `jit` only so that its type is derived once."""
    first = jax.tree.map(lambda leaf: leaf[0], problems)
    try:
        start = problem_class.start(first, jax.random.key(0))
    except MissingOracle:
        raise
    except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
        name, reason = type(problem_class).__name__, (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise ValueError(f"{name}.start fails on the first of these problems: {reason}") from error
    return jnp.zeros((), dtype_of(start))


def transition(algorithm: Algorithm, problem_class: ProblemClass, problem: Any, state: Any, key: Key[Array, ""]) -> Any:
    r"""Make one step of an algorithm.

    It is a sample from the transition kernel \(\gamma(h, \theta, s, \cdot)\) (appendix B).

    Returns:
        the next state.
    """
    return Walk(algorithm, problem_class, problem).move(Moment.beginning(state), key).state


def semigroup(
    algorithm: Algorithm, problem_class: ProblemClass, problem: Any, state: Any, steps: int, key: Key[Array, ""]
) -> Any:
    r"""Make several steps of an algorithm.

    It is a sample from \(\gamma^t(h, \theta, s, \cdot)\) (appendix B). From the initial state of a trajectory, with the
    key of that trajectory, these are its first steps.

    Returns:
        the state after `steps` steps, which is the given one for 0 steps.
    """
    return Walk(algorithm, problem_class, problem).knowing().after(Moment.beginning(state), steps, key).state


def joint_transition(
    algorithm: Algorithm, problem_class: ProblemClass, problems: Any, states: Any, key: Key[Array, ""], *, time: Any = 0
) -> Any:
    r"""Make one step on each of several problems, independently: sample from the joint kernel Γ (appendix F).

    \(\Gamma(h, \theta_{[N]}, s_{[N]}) = \bigotimes_n \gamma(h, \theta_n, s_n)\). Problems and states are stacked along
    the leading axis. Steps at different times have different keys: with `time` = 0, 1, … from the initial states, these
    are the steps of the trajectories that `loa.evaluate` sees with the same key.

    Returns:
        the next states, stacked.
    """

    def one(index: Int[Array, ""], problem: Any, state: Any) -> Any:
        own_key = step_key(trajectory_key(key, index), time)
        return transition(algorithm, problem_class, problem, state, own_key)

    return jax.vmap(one)(jnp.arange(count_problems(problems)), problems, states)


def joint_semigroup(
    algorithm: Algorithm, problem_class: ProblemClass, problems: Any, states: Any, steps: int, key: Key[Array, ""]
) -> Any:
    r"""Make several steps on each of several problems, independently.

    This samples from \(\Gamma^t = \Gamma^{t-1} \cdot \Gamma\) (appendix F): these are `steps` joint transitions, one
    after the other. From the initial states they are the first steps of the trajectories that `loa.evaluate` sees with
    the same key.

    Returns:
        the states after `steps` steps, stacked; the given ones for 0 steps.
    """

    def one(index: Int[Array, ""], problem: Any, state: Any) -> Any:
        return semigroup(algorithm, problem_class, problem, state, steps, trajectory_key(key, index))

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
    checkpoints: Evaluations | Path | str | None = None,
) -> Float[np.ndarray, "problem time"]:
    r"""Compute an optimality gap at every time of every trajectory, without holding the trajectories in memory.

    With the same key these are the trajectories that `loa.evaluate` sees. They continue to the horizon whether the
    problem is solved or not. `checkpoints` is a directory, as in `loa.evaluate`.

    Returns:
        \(v(x^{(t)}, \theta_n)\) for t = 0 … horizon.
    """
    check_key(key)
    algorithm = in_precision_of_problems(algorithm, problem_class, problems)
    return np.asarray(_each(_Gaps(gap, horizon), algorithm, problem_class, problems, key, batch, checkpoints))


class _Gaps(NamedTuple):
    gap: Gap
    steps: int

    def of(self, walk: Walk, key: Key[Array, ""]) -> Array:
        return walk.along(key, self.steps, lambda record: record.gap(self.gap))


def iterates_after(
    algorithm: Algorithm,
    problem_class: ProblemClass,
    problems: Any,
    *,
    steps: int,
    key: Key[Array, ""],
    batch: int = 32,
    checkpoints: Evaluations | Path | str | None = None,
) -> Any:
    r"""Compute where an algorithm gets in a number of steps, without holding the trajectories in memory.

    With the same key these are points of the trajectories that `loa.evaluate` sees. `checkpoints` is a directory, as in
    `loa.evaluate`.

    Returns:
        \(x^{(t)}\) for t = `steps`, stacked along the axis of the problems; for 0 steps, the starting points.
    """
    check_key(key)
    check_type("problem_class", problem_class, ProblemClass, "an instance of a loa.ProblemClass")
    steps = whole_number("steps", steps, least=0)
    count_problems(problems)
    algorithm = in_precision_of_problems(algorithm, problem_class, problems)
    return _each(_Iterates(steps), algorithm, problem_class, problems, key, batch, checkpoints)


class _Iterates(NamedTuple):
    steps: int

    def of(self, walk: Walk, key: Key[Array, ""]) -> Any:
        return walk.record(walk.after(walk.begin(key), self.steps, key)).iterate


def _each(
    quantity: _Gaps | _Iterates,
    algorithm: Algorithm,
    problem_class: ProblemClass,
    problems: Any,
    key: Key[Array, ""],
    batch: int,
    checkpoints: Evaluations | Path | str | None,
) -> Any:
    """A quantity of the trajectory on each problem; a batch of them is computed together."""
    count = count_problems(problems)
    fixed = (quantity, algorithm, problem_class, jax.tree.map(jnp.asarray, problems), key, min(batch, count))
    form = eqx.filter_eval_shape(_of_batch, fixed, jnp.zeros((), jnp.int32))[1]
    rows = jax.tree.map(lambda leaf: jnp.zeros((count, *leaf.shape[1:]), leaf.dtype), form)
    return resumable_loop(
        _write_batch, fixed, rows, -(-count // min(batch, count)), checkpoints=as_evaluations(checkpoints),
        what=f"{quantity.steps} steps of {type(algorithm).__name__} on {type(problem_class).__name__}",
    )  # fmt: skip


def _write_batch(fixed: Any, number: Int[Array, ""], rows: Any) -> Any:
    indices, values = _of_batch(fixed, number)
    return jax.tree.map(lambda leaf, new: leaf.at[indices].set(new), rows, values)


def _of_batch(fixed: Any, number: Int[Array, ""]) -> tuple[Int[Array, " batch"], Any]:
    """The indices of a batch of problems and the quantity on each; the last batch may repeat the last problem."""
    quantity, algorithm, problem_class, problems, key, batch = fixed
    indices = jnp.minimum(number * batch + jnp.arange(batch), count_problems(problems) - 1)

    def one(index: Int[Array, ""]) -> Any:
        problem = jax.tree.map(lambda leaf: leaf[index], problems)
        return quantity.of(Walk(algorithm, problem_class, problem).knowing(), trajectory_key(key, index))

    return indices, jax.vmap(one)(indices)


class Trajectories(NamedTuple):
    """Whole trajectories; every leaf has the leading axes (problem, replicate, time = 0 … horizon).

    The iterates have the form that `start` of the problem class has; in the states, points are arrays.
    """

    states: Any
    iterates: Any
    losses: Any


def trajectories(
    algorithm: Algorithm | Stack,
    problem_class: ProblemClass,
    problems: Any,
    *,
    horizon: int,
    key: Key[Array, ""],
    replicates: int = 1,
) -> Trajectories:
    r"""Sample whole trajectories of an algorithm, with all states, iterates and losses.

    They are drawn from \(\psi(h, \theta_n, \cdot)\) for each problem of a stack. With the same key these are the
    trajectories that `loa.evaluate` sees, continued to the horizon. All of them are held in memory: for statistics of
    many long ones use `loa.evaluate`.

    Arguments:
        algorithm: one algorithm; or a stack with weights, from which one is drawn for each trajectory.
        problem_class: the class of the problems.
        problems: a stack of problems, from `problem_class.draw` or your own.
        horizon: the number of steps, at least 1.
        key: the same key gives the same trajectories.
        replicates: trajectories per problem, for random algorithms and starts.

    Returns:
        `Trajectories`, whose leaves have the leading axes (problem, replicate, time = 0 … horizon).

    >>> import loa
    >>> parabolas, problems = loa.problems.RunningExample(), jnp.array([1.0, 2.0])
    >>> path = loa.trajectories(loa.GradientDescent(0.5), parabolas, problems, horizon=3, key=jax.random.key(0))
    >>> path.iterates[:, 0].tolist()
    [[0.0, 0.5, 0.75, 0.875], [0.0, 0.5, 0.5, 0.5]]
    """
    check_key(key)
    algorithm = randomized(algorithm) if isinstance(algorithm, Stack) else algorithm
    check_type("algorithm", algorithm, Algorithm, "one loa.Algorithm or a loa.Stack with weights")
    check_type("problem_class", problem_class, ProblemClass, "an instance of a loa.ProblemClass")
    horizon, replicates = whole_number("horizon", horizon), whole_number("replicates", replicates)
    count_problems(problems)
    algorithm = in_precision_of_problems(algorithm, problem_class, problems)
    return _trajectories(algorithm, problem_class, problems, horizon, key, replicates)


@eqx.filter_jit
def _trajectories(algorithm, problem_class, problems, horizon, key, replicates) -> Trajectories:
    def one(index: Int[Array, ""], replicate: Int[Array, ""], problem: Any) -> Trajectories:
        walk = Walk(algorithm, problem_class, problem).knowing()
        states = walk.along(trajectory_key(key, index, replicate), horizon, lambda record: record.state)
        iterates = jax.vmap(walk.point)(states)
        return Trajectories(states, iterates, jax.vmap(lambda x: problem_class.loss(x, problem))(iterates))

    over_replicates = jax.vmap(one, in_axes=(None, 0, None))
    over_problems = jax.vmap(over_replicates, in_axes=(0, None, 0))
    return over_problems(jnp.arange(count_problems(problems)), jnp.arange(replicates), problems)
