"""What sample problems of a class look like: their dimension, curvature, losses and distances."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...algorithms.algorithm import Algorithm
from ...architectures import CosineCurvature, Curvature, DenseCurvature, DiagonalCurvature
from ...learning import average_curvature
from ...problems.problem_class import ProblemClass, count_problems
from ...problems.vector_points import VectorPoints, form_of_points, vectors_of
from ...trajectory.kernels import iterates_after, trajectories
from ..experiment import LearningSetup

SAMPLE = 32
TEACHER_STEPS = 40

PROBES, SMALLEST_IMAGE = 8, 16
"""Random directions per problem that curvatures of images are estimated from, and the shortest side of an image."""

HERE, AWAY = np.zeros(()), np.ones(())

LARGEST_DENSE = 1000
"""Coordinates up to which a dense curvature is learned; beyond, a diagonal."""


class Scales(NamedTuple):
    """Logarithms of the loss at the start, and of how far a teacher goes."""

    log_loss: float
    log_distance: float


class Sample:
    """Some training problems, and what they show. Each quantity is computed when it is first asked for."""

    def __init__(self, setup: LearningSetup, teacher: Algorithm):
        self.setup, self.teacher = setup, teacher
        self.problems = setup.problems(SAMPLE)
        first = jax.tree.map(lambda leaf: leaf[0], self.problems)
        self.form = form_of_points(setup.experiment.problem_class, first)
        self.dimension = self.form.dimension
        self.size = count_problems(self.problems)

    @cached_property
    def vectors(self) -> ProblemClass:
        """The problem class with vectors as points."""
        return VectorPoints(self.setup.experiment.problem_class, self.form)

    @cached_property
    def scales(self) -> Scales:
        path = trajectories(
            self.teacher, self.setup.experiment.problem_class, self.problems, horizon=TEACHER_STEPS,
            key=self.setup.key,
        )  # fmt: skip
        losses, points = np.asarray(path.losses)[:, 0], jax.tree.map(lambda leaf: leaf[:, 0], path.iterates)
        moves = vectors_of(jax.tree.map(lambda leaf: leaf[:, -1] - leaf[:, 0], points))
        return Scales(_log_median(np.abs(losses[:, 0])), _log_median(np.sqrt((moves**2).sum(axis=1))))

    @cached_property
    def arrivals(self) -> Float[Array, "problem d"]:
        """Where the teacher gets, as vectors: curvatures of large problems are measured there."""
        points = iterates_after(
            self.teacher, self.setup.experiment.problem_class, self.problems, steps=TEACHER_STEPS,
            key=self.setup.key, checkpoints=self.setup.evaluations,
        )  # fmt: skip
        return jnp.asarray(vectors_of(points))

    @cached_property
    def matrix(self) -> Float[np.ndarray, "d d"]:
        """The average Hessian of the smooth part along the teacher's way, from fewer problems in high dimensions."""
        count = int(np.clip(3200 // self.dimension, 6, SAMPLE))
        some = jax.tree.map(lambda leaf: leaf[:count], self.problems)
        times = [0, 20, TEACHER_STEPS] if self.dimension <= 200 else [TEACHER_STEPS]
        return average_curvature(
            self.setup.experiment.problem_class, some, teacher=self.teacher, times=times, key=self.setup.key,
            checkpoints=self.setup.evaluations,
        )  # fmt: skip

    @cached_property
    def curvature(self) -> Curvature:
        """The average curvature of the class: dense if that is small enough, else the diagonal."""
        if self.dimension <= LARGEST_DENSE:
            return DenseCurvature.of(self.matrix)
        products = _products_at(self.vectors, self.problems, self.arrivals, self._signs)
        return DiagonalCurvature(jnp.maximum(_mean_of_finite(products * self._signs), 0.0))

    @property
    def has_images(self) -> bool:
        """Whether a point is one image, rather than a small matrix."""
        return self.form.is_array and len(self.form.shapes[0]) == 2 and min(self.form.shapes[0]) >= SMALLEST_IMAGE

    @cached_property
    def cosine_curvature(self) -> CosineCurvature:
        """The average curvature of images in the cosine basis."""
        basis = CosineCurvature(jnp.ones(self.dimension), shape=self.form.shapes[0])
        about = (basis, self.vectors, self.problems, self.arrivals)
        found = [_diagonal_in(*about, jax.random.key(number)) for number in range(PROBES)]
        spectrum = np.mean(found, axis=0)
        return CosineCurvature(jnp.maximum(spectrum, 1e-6 * spectrum.max()), shape=basis.shape)

    @cached_property
    def quadratic(self) -> bool:
        """Whether the smooth part seems to be quadratic: its Hessians are the same at other points."""
        if self.setup.experiment.problem_class.affine_gradient:
            return True
        here, there = (np.asarray(_products(self.vectors, self.problems, self._signs, away)) for away in (HERE, AWAY))
        return bool(np.allclose(here, there, rtol=1e-6, atol=1e-9 * np.abs(here).max()))

    @cached_property
    def separable(self) -> bool:
        """Whether the proximal mapping seems to act on each coordinate alone: its derivative is diagonal."""
        slopes = np.asarray(_slopes(self.vectors, self.problems, self._signs))
        return not np.any(slopes * (1.0 - np.eye(self.dimension)))

    @cached_property
    def spread(self) -> float:
        """How much the Hessians at the start differ between problems, relative to their average; 0 if not at all."""
        same = jnp.broadcast_to(self._signs[0], self._signs.shape)
        each = np.asarray(_products(self.vectors, self.problems, same, HERE))
        mean = each.mean(axis=0)
        return float(np.sqrt(((each - mean) ** 2).sum(axis=1).mean() / max((mean**2).sum(), 1e-300)))

    @cached_property
    def _signs(self) -> Float[Array, "problem d"]:
        """A random direction for each problem."""
        return jax.random.rademacher(jax.random.key(2), (self.size, self.dimension), float)

    @cached_property
    def log_steepest(self) -> float:
        """The logarithm of the typical largest curvature at the start, by power iteration."""
        return _log_median(np.asarray(_steepest(self.vectors, self.problems)))


@eqx.filter_jit
def _products(
    problem_class: ProblemClass, problems: Any, directions: Array, away: Float[np.ndarray, ""]
) -> Float[Array, "problem d"]:
    """The Hessian of each problem times a direction, at the start or away from it."""

    def one(problem: Any, direction: Array) -> Array:
        start = problem_class.start(problem, jax.random.key(0))
        x = start + away * jnp.cos(jnp.arange(start.size, dtype=start.dtype))
        return problem_class.hessian_product(x, direction.astype(x.dtype), problem)

    return jax.vmap(one)(problems, directions)


@eqx.filter_jit
def _products_at(
    problem_class: ProblemClass, problems: Any, points: Float[Array, "problem d"], directions: Array
) -> Float[Array, "problem d"]:
    """The Hessian of each problem at a point of its own, times a direction."""
    return jax.vmap(problem_class.hessian_product)(points, directions.astype(points.dtype), problems)


@eqx.filter_jit
def _diagonal_in(
    basis: Curvature, problem_class: ProblemClass, problems: Any, points: Float[Array, "problem d"], key: Any
) -> Float[Array, " d"]:
    """An estimate of the diagonal of the average Hessian in other coordinates, from one random direction a problem."""
    signs = jax.random.rademacher(key, points.shape, float)
    products = _products_at(problem_class, problems, points, jax.vmap(basis.point)(signs))
    return _mean_of_finite(signs * jax.vmap(basis.coordinates)(products))


def _mean_of_finite(values: Float[Array, "problem d"]) -> Float[Array, " d"]:
    """The average over the problems on which the teacher has not diverged."""
    finite = jnp.all(jnp.isfinite(values), axis=1)
    return jnp.sum(jnp.where(finite[:, None], values, 0.0), axis=0) / jnp.maximum(jnp.sum(finite), 1)


@eqx.filter_jit
def _slopes(problem_class: ProblemClass, problems: Any, directions: Array) -> Float[Array, "some d d"]:
    """The derivatives of the proximal mappings of a few problems, at points away from the start."""

    def one(problem: Any, direction: Array) -> Array:
        start = problem_class.start(problem, jax.random.key(0))
        point = start + direction.astype(start.dtype) * jnp.arange(1, start.size + 1) / start.size
        return jax.jacobian(lambda v: problem_class.prox(v, 1.0 / problem_class.smoothness(problem), problem))(point)

    few = jax.tree.map(lambda leaf: leaf[:4], problems)
    return jax.vmap(one)(few, directions[:4])


@eqx.filter_jit
def _steepest(problem_class: ProblemClass, problems: Any) -> Float[Array, " problem"]:
    def one(problem: Any) -> Any:
        x = problem_class.start(problem, jax.random.key(0))

        def body(_: Any, v: Any) -> Any:
            w = problem_class.hessian_product(x, v, problem)
            return w / (jnp.linalg.norm(w) + 1e-30)

        v = jax.lax.fori_loop(0, 30, body, jax.random.normal(jax.random.key(1), x.shape, x.dtype))
        return jnp.abs(jnp.sum(v * problem_class.hessian_product(x, v, problem)))

    return jax.vmap(one)(problems)


def _log_median(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(np.log(max(np.median(finite), 1e-12))) if finite.size else 0.0
