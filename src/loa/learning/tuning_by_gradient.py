"""Tuning by gradients through the trajectory, for functionals that can be differentiated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Scalar

from ..algorithms.algorithm import Algorithm
from ..messages.arguments import check_type
from ..messages.waiting import waiting_for
from ..problems.problem_class import ProblemClass, check_key, count_problems, whole_number
from ..trajectory.checks import check_functionals
from ..trajectory.functionals import End, Functional
from ..trajectory.kernels import in_precision_of_problems
from ..trajectory.walk import Walk, trajectory_key
from .tuning import Interval, Tuned, checked_space, first_position, made_by, setting_at, warn_at_the_edge


def tune_by_gradient(
    algorithm_factory: Callable[..., Algorithm],
    space: Mapping[str, Interval | tuple[float, float]],
    problem_class: ProblemClass,
    problems: Any,
    *,
    functional: Functional,
    horizon: int,
    key: Key[Array, ""],
    start: Mapping[str, float] | None = None,
    iterations: int = 100,
) -> Tuned:
    """Find the parameters that minimize the mean of a differentiable functional, by gradients through the trajectory.

    L-BFGS minimizes it over exactly `horizon` steps. This suits functionals such as `Gap(step=k)` or
    `ContractionFactor`; a stopping time has no useful derivative.

    Arguments:
        algorithm_factory, space: as in `loa.tune`.
        problem_class: the class of the problems.
        problems: a stack of problems to learn from.
        functional: what is minimized.
        horizon: the number of steps.
        key: a PRNG key, for random starts and algorithms.
        start: where the search begins; the middle of each range that it does not name.
        iterations: the largest number of iterations of L-BFGS.

    Returns:
        `Tuned`: the best algorithm, its parameters, and all settings that were tried.

    >>> import loa
    >>> example = loa.problems.RunningExample()
    >>> tuned = tune_by_gradient(loa.GradientDescent, {"step_size": (0.01, 0.19)}, example,
    ...                          example.draw(jax.random.key(0), 20), functional=loa.Gap(step=5), horizon=5,
    ...                          key=jax.random.key(1))
    >>> tuned.value < tuned.tried[0][1]
    True
    """
    from scipy import optimize

    check_key(key)
    check_functionals([functional])
    check_type("problem_class", problem_class, ProblemClass, "an instance of a loa.ProblemClass")
    count_problems(problems)
    whole_number("iterations", iterations)
    if functional.steps > whole_number("horizon", horizon):
        raise ValueError(f"{functional.name} needs {functional.steps} steps, but the horizon is {horizon}.")
    intervals = checked_space(space)
    tried: list[tuple[dict[str, float], float]] = []

    given = (_Maker(algorithm_factory, tuple(intervals.items())), problem_class, problems, functional, horizon, key)

    def value_and_slope(position: np.ndarray) -> tuple[float, np.ndarray]:
        with waiting_for(f"the gradient of {functional.name} through {horizon} steps"):
            value, gradient = jax.block_until_ready(_value_and_slope(jnp.asarray(position), *given))
        tried.append((setting_at(intervals, position), float(value)))
        return float(value), np.asarray(gradient, float)

    first = first_position(intervals, {} if start is None else start)
    value, gradient = value_and_slope(first)
    if not (math.isfinite(value) and np.isfinite(gradient).all()):
        raise ValueError(
            f"{functional.name} is {value} at {setting_at(intervals, first)}: start elsewhere with start=…."
        )
    if not np.any(gradient):
        raise ValueError(f"{functional.name} has no derivative by {', '.join(intervals)}: use loa.tune instead.")
    options = {"maxiter": iterations, "ftol": 1e-15, "gtol": 1e-10}
    found = optimize.minimize(
        value_and_slope, first, jac=True, bounds=[(0.0, 1.0)] * len(first), method="L-BFGS-B", options=options
    )
    if not math.isfinite(found.fun):
        raise ValueError(f"{functional.name} became {found.fun} on the way: choose a smaller space or another start.")
    parameters = setting_at(intervals, found.x)
    warn_at_the_edge(intervals, parameters)
    return Tuned(algorithm_factory(**parameters), parameters, float(found.fun), tried)


class _Maker(eqx.Module):
    """Makes the algorithm at a position of the search space; programs are recognized by it."""

    factory: Callable[..., Algorithm] = eqx.field(static=True)
    intervals: tuple[tuple[str, Interval], ...] = eqx.field(static=True)

    def __call__(self, position: Float[Array, " parameter"]) -> Algorithm:
        setting = {name: i.at(p) for (name, i), p in zip(self.intervals, position, strict=True)}
        return made_by(self.factory, setting)


@eqx.filter_jit
def _value_and_slope(position: Float[Array, " parameter"], maker: _Maker, *given: Any) -> tuple[Scalar, Array]:
    """The mean of a functional and its gradient by the position; compiled once for equal shapes."""
    return jax.value_and_grad(lambda at: _mean_after(maker(at), *given))(position)


def _mean_after(algorithm, problem_class, problems, functional: Functional, horizon: int, key) -> Scalar:
    """Mean of a functional over trajectories of a fixed length, differentiable by the algorithm."""
    algorithm = in_precision_of_problems(algorithm, problem_class, problems)

    def one(index: Any, problem: Any) -> Scalar:
        walk, own_key = Walk(algorithm, problem_class, problem).knowing(), trajectory_key(key, index)

        def body(carry: Any, _: None) -> tuple[Any, None]:
            moment, fold = carry
            moment = walk.step(moment, own_key)
            return (moment, functional.update(fold, walk.record(moment))), None

        first = walk.begin(own_key)
        (_, fold), _ = jax.lax.scan(body, (first, functional.init(walk.record(first))), length=horizon)
        time = jnp.asarray(horizon)
        return functional.result(fold, End(time, jnp.asarray(False), jnp.asarray(True), time, horizon))

    return jnp.mean(jax.vmap(one)(jnp.arange(count_problems(problems)), problems))
