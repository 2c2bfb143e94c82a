"""The gradient method of Barzilai and Borwein against NumPy, step by step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa


class Bowls(loa.ProblemClass):
    """Quadratics ½ xᵀ diag(θ) x from one start."""

    def sample(self, key):
        return jax.random.uniform(key, (4,), minval=0.1, maxval=10.0)

    def loss(self, x, problem):
        return 0.5 * jnp.sum(problem * x**2)

    def start(self, problem, key):
        return jnp.asarray([1.0, -2.0, 3.0, 0.5])

    def optimal_loss(self, problem):
        return 0.0


class Hilltops(Bowls):
    """Concave: the curvature is nowhere positive."""

    def loss(self, x, problem):
        return -0.5 * jnp.sum(problem * x**2)


def by_hand(problem, x, step_size, steps):
    points, gradient = [x], problem * x
    step_size = 1 / np.linalg.norm(gradient) if step_size is None else step_size
    for _ in range(steps):
        after = x - step_size * gradient
        move, change = after - x, problem * after - gradient
        if move @ change > 0:
            step_size = (move @ move) / (move @ change)
        x, gradient = after, problem * after
        points.append(x)
    return np.array(points)


@pytest.mark.parametrize("step_size", [None, 0.05])
def test_it_follows_the_formula(step_size):
    bowls = Bowls()
    problems = bowls.draw(jax.random.key(0), 3)
    algorithm = loa.BarzilaiBorwein(step_size)
    found = loa.trajectories(algorithm, bowls, problems, horizon=12, key=jax.random.key(1)).iterates[:, 0]
    for problem, points in zip(np.asarray(problems), np.asarray(found), strict=True):
        expected = by_hand(problem, np.asarray(bowls.start(None, None)), step_size, 12)
        np.testing.assert_allclose(points, expected, rtol=1e-8, atol=1e-10)


def test_where_the_curvature_is_not_positive_the_step_size_stays():
    hilltops = Hilltops()
    problems = hilltops.draw(jax.random.key(0), 1)
    states = loa.trajectories(loa.BarzilaiBorwein(0.05), hilltops, problems, horizon=3, key=jax.random.key(1)).states
    np.testing.assert_allclose(states.step_size[0, 0], 0.05)
