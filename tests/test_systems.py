"""Small linear systems against NumPy, and jobs that may not run on several devices at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from classes import LeastSquares
from numpy.testing import assert_allclose

import loa
from loa.algorithms.linear_systems import solve_positive
from loa.trajectory import checks as admission
from loa.trajectory import evaluation
from loa.trajectory.jaxprs import waiting

KEY = jax.random.key(0)


@pytest.mark.parametrize("size", [1, 7, 35])
def test_positive_systems_and_their_derivatives(size):
    root = np.random.default_rng(size).normal(size=(size, size))
    matrix, right = 1e3 * root @ root.T + np.eye(size), root[0]
    solution = np.linalg.solve(matrix, right)
    assert_allclose(solve_positive(matrix, right), solution, rtol=1e-6, atol=1e-9 * np.abs(solution).max())
    batch = jax.jit(jax.vmap(solve_positive, in_axes=(0, None)))(jnp.stack([matrix, 2 * matrix]), right)
    assert_allclose(batch[0], 2 * batch[1], rtol=1e-6, atol=1e-9 * np.abs(solution).max())
    twice = jax.vmap(jax.vmap(solve_positive, in_axes=(0, None)), in_axes=(None, 0))
    assert_allclose(twice(jnp.stack([matrix]), jnp.stack([right, 3 * right]))[1, 0], 3 * batch[0], rtol=1e-6)
    slope = jax.grad(lambda scale: jnp.sum(solve_positive(scale * matrix, right)))(2.0)
    assert_allclose(slope, -solution.sum() / 4, rtol=1e-5)


class Spectral(LeastSquares):
    """Its loss asks LAPACK."""

    def loss(self, x, problem):
        return super().loss(x, problem) + jnp.linalg.eigvalsh(jnp.outer(x, x))[-1]


@pytest.mark.parametrize(
    ("problem_class", "algorithm", "fewer"),
    [
        (Spectral(), loa.GradientDescent(0.01), True),
        (LeastSquares(), loa.LBFGS(memory=10), False),
        (loa.problems.Lasso(), loa.load("lasso"), False),
        (loa.problems.NetworkTraining(), loa.load("network"), False),
    ],
)
def test_steps_that_may_wait_for_threads_get_one_device(problem_class, algorithm, fewer, monkeypatch):
    used, shares = [], evaluation._shares
    monkeypatch.setattr(evaluation, "_shares", lambda job, devices: used.append(devices) or shares(job, ()))
    problems = problem_class.draw(KEY, 8)
    options = dict(criterion=loa.loss_below(1e-12), horizon=2, key=KEY)
    device = jax.devices()[0]
    loa.evaluate(algorithm, problem_class, problems, devices=[device, device], **options)
    assert [len(devices) for devices in used] == [1 if fewer else 2]


def test_what_counts_as_waiting():
    assert admission.Needs(1, waiting=900.0).one_device(300)
    assert not admission.Needs(1, waiting=900.0).one_device(200)
    assert waiting(jax.make_jaxpr(lambda x: jnp.fft.fft(x).real)(jnp.ones(8)).jaxpr) == np.inf
