"""How algorithms are learned, and baselines tuned, for a problem class of which nothing particular is known.

All ranges that are searched are relative to what sample problems show: their curvature, losses and distances.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..algorithms import FISTA, LBFGS, Adam, HeavyBall
from ..algorithms.algorithm import Algorithm
from ..architectures import (
    DenseCurvature,
    LearnedProximalNewton,
    LearnedQuadratics,
    LearnedQuasiNewton,
    LearnedStochasticNewton,
)
from ..architectures.proximal_newton import factor_of
from ..learning import OneStepContraction, average_curvature, first_step
from ..learning.tuning import Interval
from ..trajectory.kernels import trajectories
from .experiment import Lesson
from .recipes import trained, tuned

LARGEST_DENSE = 500
"""Coordinates up to which a dense curvature is learned; beyond, a network treats every coordinate alike."""

SAMPLE = 32
TEACHER_STEPS = 40


class Scales(NamedTuple):
    """What sample problems look like: logarithms of their loss at the start and of how far a teacher goes."""

    log_loss: float
    log_distance: float


def learn_smooth(lesson: Lesson) -> Algorithm:
    """A quasi-Newton method in the learned curvature; for large problems a coordinate-wise network."""
    if not _is_short_vector(lesson):
        return _learn_coordinatewise(lesson)
    scales = _scales(lesson, LBFGS())
    curvature = _curvature(lesson, LBFGS())
    top = float(jnp.log(curvature.spectrum.max() + 1e-30))

    def make(floor: float, damping: float, power: float, log_step: float, radius: float) -> LearnedQuasiNewton:
        return LearnedQuasiNewton(
            curvature,
            log_floor=top + floor,
            log_damping=top + damping - power * scales.log_loss,
            power=power,
            log_step=log_step,
            log_radius=scales.log_distance + radius,
        )

    space = {
        "floor": (-16.0, -2.0), "damping": (-14.0, 1.0), "power": (0.0, 1.5), "log_step": (-0.7, 0.2),
        "radius": (-2.0, 3.0),
    }  # fmt: skip
    return tuned(lesson, make, space, problems=100, candidates=64)


def learn_proximal(lesson: Lesson) -> Algorithm:
    """A semismooth Newton method in the learned curvature of the smooth part."""
    if not _is_short_vector(lesson):
        raise ValueError(
            f"there is no default for problems with a prox whose points are not vectors of at most {LARGEST_DENSE} "
            "coordinates: define `learn` in the file."
        )
    problem_class, fista = lesson.experiment.problem_class, FISTA(restart=True)
    matrix = average_curvature(
        problem_class, lesson.problems(SAMPLE), teacher=fista, times=[0, TEACHER_STEPS], key=lesson.key,
        checkpoints=lesson.evaluations,
    )  # fmt: skip
    factor, top = factor_of(matrix), float(np.log(np.linalg.norm(matrix, 2) + 1e-30))
    problems = lesson.problems(max(2 * len(matrix) + 2, lesson.times(5 * len(matrix))))
    jump = first_step(
        problem_class, problems, teacher=fista, steps=lesson.experiment.horizon, key=lesson.key,
        checkpoints=lesson.evaluations,
    )  # fmt: skip

    def make(floor: float, **numbers: float) -> LearnedProximalNewton:
        return LearnedProximalNewton(factor, log_floor=top + floor, first_step=jump, **numbers)  # pyright: ignore

    space = {
        "floor": (-11.5, -6.0), "log_damping": (-4.0, 3.0), "power": (0.2, 2.0), "log_up": (0.0, 2.0),
        "log_down": (-1.2, 0.0),
    }  # fmt: skip
    return tuned(lesson, make, space, problems=64, candidates=64)


def learn_stochastic(lesson: Lesson) -> Algorithm:
    """Preconditioned momentum in the learned curvature, with decaying steps and averaging."""
    if not _is_short_vector(lesson):
        raise ValueError(
            f"there is no default for mini-batch problems whose points are not vectors of at most {LARGEST_DENSE} "
            "coordinates: define `learn` in the file."
        )
    scales = _scales(lesson, LBFGS())
    curvature = _curvature(lesson, LBFGS())
    top = float(jnp.log(curvature.spectrum.max() + 1e-30))

    def make(floor: float, damping: float, radius: float, **numbers: float) -> LearnedStochasticNewton:
        return LearnedStochasticNewton(
            curvature,
            log_floor=top + floor,
            log_damping=top + damping - scales.log_loss,
            log_radius=scales.log_distance + radius,
            loss_memory=2.6,
            **numbers,  # pyright: ignore[reportArgumentType]
        )

    space = {
        "floor": (-14.0, -2.0), "damping": (-12.0, 1.0), "radius": (-6.0, 0.0), "log_step": (-3.0, 0.0),
        "log_decay_time": (2.0, 7.0), "momentum": (-1.0, 2.0), "averaging": (-0.5, 3.0), "step_power": (0.0, 1.0),
        "averaging_power": (0.3, 1.5), "damping_power": (0.0, 2.0),
    }  # fmt: skip
    return tuned(lesson, make, space, problems=100, candidates=64, rounds=4)


def tuned_heavy_ball(lesson: Lesson) -> Algorithm:
    """Heavy ball with the best step size and momentum."""
    steepest = float(np.exp(_log_steepest(lesson)))
    space = {"step_size": Interval(1e-3 / steepest, 4.0 / steepest, logarithmic=True), "momentum": (0.0, 0.99)}
    return tuned(lesson, HeavyBall, space, problems=64, candidates=64)


def tuned_adam(lesson: Lesson) -> Algorithm:
    """Mini-batch Adam with the best learning rate and momentum."""
    rate = float(np.exp(_scales(lesson, LBFGS()).log_distance)) / TEACHER_STEPS
    space = {"learning_rate": Interval(1e-3 * rate, 10.0 * rate, logarithmic=True), "beta1": (0.5, 0.99)}
    return tuned(lesson, lambda **numbers: Adam(stochastic=True, **numbers), space, problems=64, candidates=32)


def _learn_coordinatewise(lesson: Lesson) -> Algorithm:
    """A network that imitates the best heavy ball and is then trained further."""
    network = LearnedQuadratics(key=jax.random.fold_in(lesson.key, 2))
    objective = OneStepContraction(lesson.experiment.task.gap)
    teacher = tuned_heavy_ball(lesson)
    return trained(lesson, network, teacher, objective=objective, steps=40_000, learning_rate=3e-4)


def _is_short_vector(lesson: Lesson) -> bool:
    shape = _start_shape(lesson)
    return len(shape) == 1 and shape[0] <= LARGEST_DENSE


def _start_shape(lesson: Lesson) -> tuple[int, ...]:
    problem_class, problems = lesson.experiment.problem_class, lesson.problems(1)
    first = jax.tree.map(lambda leaf: leaf[0], problems)
    return jax.eval_shape(lambda: jnp.asarray(problem_class.start(first, jax.random.key(0)))).shape


def _curvature(lesson: Lesson, teacher: Algorithm) -> DenseCurvature:
    """The average curvature along a teacher's way."""
    matrix = average_curvature(
        lesson.experiment.problem_class, lesson.problems(SAMPLE), teacher=teacher, times=[5, 20, TEACHER_STEPS],
        key=lesson.key, checkpoints=lesson.evaluations,
    )  # fmt: skip
    return DenseCurvature.of(matrix)


def _scales(lesson: Lesson, teacher: Algorithm) -> Scales:
    path = trajectories(
        teacher, lesson.experiment.problem_class, lesson.problems(SAMPLE), horizon=TEACHER_STEPS, key=lesson.key
    )
    losses, points = np.asarray(path.losses)[:, 0], np.asarray(path.iterates)[:, 0]
    distances = np.sqrt(((points[:, -1] - points[:, 0]) ** 2).reshape(len(points), -1).sum(axis=1))
    return Scales(_log_median(np.abs(losses[:, 0])), _log_median(distances))


def _log_steepest(lesson: Lesson) -> float:
    """The logarithm of the typical largest curvature at the start, by power iteration."""
    problem_class = lesson.experiment.problem_class

    def one(problem: Any) -> Any:
        x = jnp.asarray(problem_class.start(problem, jax.random.key(0)))

        def multiply(v: Any) -> Any:
            return jax.jvp(lambda y: problem_class.gradient(y, problem), (x,), (v,))[1]

        def body(_: Any, v: Any) -> Any:
            w = multiply(v)
            return w / (jnp.linalg.norm(w.ravel()) + 1e-30)

        v = jax.lax.fori_loop(0, 30, body, jax.random.normal(jax.random.key(1), x.shape, x.dtype))
        return jnp.abs(jnp.sum(v * multiply(v)))

    return _log_median(np.asarray(jax.jit(jax.vmap(one))(lesson.problems(SAMPLE))))


def _log_median(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(np.log(max(np.median(finite), 1e-12))) if finite.size else 0.0
