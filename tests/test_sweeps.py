"""Laws of splitting with several sweeps, of Anderson acceleration and of Newton's method for separable mappings."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa
from loa.architectures import CosineCurvature, DenseCurvature, LearnedSplitting

LASSO = loa.problems.Lasso(rows=6, columns=9)
PROBLEMS = LASSO.draw(jax.random.key(0), 4)


def points_of(algorithm, steps):
    return np.asarray(loa.trajectories(algorithm, LASSO, PROBLEMS, horizon=steps, key=jax.random.key(1)).iterates)


@pytest.mark.parametrize(
    "make",
    [
        lambda sweeps: loa.ADMM(0.3, 1.5, sweeps=sweeps),
        lambda sweeps: LearnedSplitting(
            DenseCurvature.of(np.asarray(LASSO.matrix.T @ LASSO.matrix)), 0.5, relaxation=1.5, sweeps=sweeps
        ),
    ],
    ids=["ADMM", "learned"],
)
def test_three_sweeps_on_a_quadratic_are_three_steps(make):
    one, three = points_of(make(1), 12), points_of(make(3), 4)
    np.testing.assert_allclose(three, one[:, :, ::3], atol=1e-8 * np.abs(one).max())


def test_anderson_acceleration_finds_the_solutions_sooner_than_fista():
    criterion, key = loa.prox_residual_below(1e-8), jax.random.key(1)

    def times_of(algorithm):
        found = loa.evaluate(algorithm, LASSO, PROBLEMS, criterion=criterion, horizon=2000, key=key)
        assert (found.outcome == "solved").all()
        return found["stopping_time"].mean()

    assert times_of(loa.AndersonProximalGradient()) < times_of(loa.FISTA(restart=False))


def test_anderson_acceleration_with_progress_one_never_ends_above_the_proximal_gradient_method_at_half_its_speed():
    accelerated = loa.AndersonProximalGradient(log_progress=0.0)
    paths = [
        loa.kernels.evolution(each, LASSO, PROBLEMS, gap=loa.gaps.prox_residual, horizon=60, key=jax.random.key(1))
        for each in (accelerated, loa.ProximalGradient())
    ]
    best = [np.minimum.accumulate(np.asarray(path), axis=-1) for path in paths]
    assert (best[0][..., -1] <= 10 * best[1][..., 30]).all()


def test_newton_for_separable_mappings_makes_the_same_steps():
    both = [points_of(loa.SemismoothNewton(-3.0, frozen=True, separable=each), 6) for each in (False, True)]
    np.testing.assert_allclose(both[1], both[0], atol=1e-7 * np.abs(both[0]).max())


def test_the_cosine_basis_is_orthogonal():
    curvature = CosineCurvature(jnp.ones(20 * 17), shape=(20, 17))
    x = jax.random.normal(jax.random.key(0), (20 * 17,))
    np.testing.assert_allclose(curvature.point(curvature.coordinates(x)), x, atol=1e-5)
    np.testing.assert_allclose(jnp.linalg.norm(curvature.coordinates(x)), jnp.linalg.norm(x), rtol=1e-5)


def test_anderson_acceleration_with_as_many_differences_as_coordinates_solves_a_quadratic():
    class Bowls(loa.ProblemClass):
        def sample(self, key):
            return jax.random.normal(key, (3,))

        def loss(self, x, problem):
            return 0.5 * jnp.sum(jnp.array([1.0, 3.0, 10.0]) * (x - problem) ** 2)

        smooth = loss

        def prox(self, x, step_size, problem):
            return x

        def smoothness(self, problem):
            return jnp.asarray(10.0)

        def start(self, problem, key):
            return jnp.zeros(3)

    problems = Bowls().draw(jax.random.key(0), 4)
    accelerated = loa.AndersonProximalGradient(log_regularization=-60.0, log_progress=20.0, memory=3)
    points = loa.trajectories(accelerated, Bowls(), problems, horizon=5, key=jax.random.key(1)).iterates[:, 0]
    np.testing.assert_allclose(points[:, -1], problems, atol=1e-6)
    assert np.abs(points[:, 2] - problems).max() > 1e-2  # not before it has seen three differences
