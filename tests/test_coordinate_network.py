"""The coordinate-wise network: fused, by matrices, and differentiated."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa
from loa.architectures import LearnedQuadratics
from loa.architectures.coordinate_network import CoordinateNetwork
from loa.problems import Quadratics

KEY = jax.random.key(6)


def in_numpy(network, channels):
    hidden = np.asarray(channels)
    for weight, relu in zip(network.weights, network.activated, strict=True):
        hidden = np.einsum("oi,i...->o...", weight, hidden)
        hidden = np.maximum(hidden, 0) if relu else hidden
    return hidden


@pytest.mark.parametrize("coordinates", [(), (17,), (4, 5)])
def test_it_is_a_network_per_coordinate(coordinates):
    network = CoordinateNetwork((3, 10, 10, 7, 2), key=KEY, linear_after=(1,))
    channels = jax.random.normal(jax.random.key(1), (3, *coordinates))
    np.testing.assert_allclose(network(channels), in_numpy(network, channels), rtol=1e-12)
    batch = jnp.stack([channels, 2 * channels])
    np.testing.assert_allclose(jax.vmap(network)(batch)[1], in_numpy(network, 2 * channels), rtol=1e-12)


def test_derivatives_by_weights_and_inputs():
    network = CoordinateNetwork((2, 5, 5, 1), key=KEY)
    channels = jax.random.normal(jax.random.key(1), (2, 3))

    def objective(network, channels):
        return jnp.sum(jnp.sin(network(channels)))

    by_network, by_input = jax.grad(objective, argnums=(0, 1))(network, channels)
    shift = 1e-6
    for index in ((0, 1), (1, 2)):
        above, below = (objective(network, channels.at[index].add(sign * shift)) for sign in (1, -1))
        assert float(by_input[index]) == pytest.approx(float(above - below) / (2 * shift), rel=1e-5)
    for layer in range(3):

        def bumped(sign, layer=layer):
            place = lambda network: network.weights[layer]  # noqa: E731
            weight = network.weights[layer].at[0, 1].add(sign * shift)
            return objective(eqx.tree_at(place, network, weight), channels)

        slope = float(bumped(1) - bumped(-1)) / (2 * shift)
        assert float(by_network.weights[layer][0, 1]) == pytest.approx(slope, rel=1e-5)


def test_the_derivative_takes_the_matrix_path():
    network = CoordinateNetwork((3, 10, 10, 1), key=KEY)
    channels = jnp.ones((3, 50))
    forward = str(jax.make_jaxpr(network)(channels))
    backward = str(jax.make_jaxpr(jax.grad(lambda network: network(channels).sum()))(network))
    assert "dot_general" not in forward
    assert "dot_general" in backward


def test_learned_quadratics_is_the_papers_update():
    """One step against the formulas of appendix H, written out in NumPy."""
    problem_class = Quadratics()
    problem = problem_class.sample(jax.random.key(2))
    algorithm = LearnedQuadratics(key=KEY)
    oracle = loa.Oracle(problem_class, problem)
    state = algorithm.init(oracle, problem_class.start(problem, KEY))
    for _ in range(3):
        state = algorithm.step(oracle, state, KEY)
    x, before = np.asarray(state.x), np.asarray(state.previous)
    a, b = np.asarray(problem.diagonal), np.asarray(problem.target)
    gradient, momentum = a * (a * x - b), x - before
    losses = [0.5 * np.sum((a * point - b) ** 2) for point in (x, before)]
    d1, d2 = gradient / np.linalg.norm(gradient), momentum / np.linalg.norm(momentum)
    direction = in_numpy(algorithm.direction, np.stack([d1, d2, d1 * d2]))[0]
    features = np.log1p([np.linalg.norm(gradient), np.linalg.norm(momentum), *losses])
    expected = x + in_numpy(algorithm.step_size, features)[0] * direction
    np.testing.assert_allclose(algorithm.step(oracle, state, KEY).x, expected, rtol=1e-10, atol=1e-12)
    shapes = [weight.shape for weight in algorithm.direction.weights]
    assert shapes == [(10, 3), *[(10, 10)] * 5, (1, 10)]
    assert algorithm.direction.activated == (False, True, True, True, True, False, False)
    assert [weight.shape for weight in algorithm.step_size.weights] == [(8, 4), (8, 8), (8, 8), (8, 8), (1, 8)]
    assert algorithm.step_size.activated == (True, True, True, False, False)


def test_quadratics_are_the_papers():
    problem_class = Quadratics()
    problems = problem_class.draw(KEY, 500)
    smallest, largest = np.asarray(problems.diagonal[:, 0]) ** 2, np.asarray(problems.diagonal[:, -1]) ** 2
    assert problems.diagonal.shape == (500, 200)
    assert 1e-3 <= smallest.min() < 1.1e-3
    assert 4.9e-3 < smallest.max() <= 5e-3
    assert 1e2 <= largest.min() < 1.1e2
    assert 4.9e2 < largest.max() <= 5e2
    covariance = np.asarray(problem_class.factor.T @ problem_class.factor)
    spread = np.asarray(problems.target).std(axis=0) / np.sqrt(np.diag(covariance))
    assert np.abs(spread - 1).max() < 5 / np.sqrt(2 * 500)
    np.testing.assert_allclose(np.diff(problems.diagonal[0], 2), 0, atol=1e-12)
