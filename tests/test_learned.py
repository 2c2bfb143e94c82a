"""Learned algorithms: each step against its formulas, written out in NumPy, and what the docstrings claim."""

import dataclasses
from functools import lru_cache, partial
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from classes import LeastSquares
from jax.tree_util import Partial
from numpy.linalg import norm
from numpy.testing import assert_allclose
from scipy.fft import dctn
from test_coordinate_network import in_numpy

import loa
from loa import architectures as learned
from loa.architectures import (
    DenseCurvature,
    DiagonalCurvature,
    LearnedProximalNewton,
    LearnedQuasiNewton,
    LowRankCurvature,
)
from loa.architectures.coordinate_network import CoordinateNetwork
from loa.architectures.cosines import Cosines
from loa.architectures.proximal_newton import factor_of
from loa.learning import average_curvature, first_step
from loa.problems import ImageRestoration, Lasso, NetworkTraining, Quadratics, Rosenbrock, StochasticNetworkTraining
from loa.problems.examples.image_operators import differences, differences_adjoint
from loa.problems.examples.image_restoration import Restoration
from loa.problems.examples.lasso import SparseRecovery
from loa.problems.oracle import Calls

KEY = jax.random.key(7)
points = lambda *arguments: np.asarray(run(*arguments).x)  # noqa: E731
unit = lambda vector: vector / (norm(vector) or 1.0)  # noqa: E731


@eqx.filter_jit
def run(algorithm, problem_class, problem, x0, steps):
    """The states at times 0 … steps; the step at time t has the key `jax.random.split(KEY, steps)[t]`."""
    state = algorithm.init(loa.Oracle(problem_class, problem), x0)

    def body(state, key):
        after = algorithm.step(loa.Oracle(problem_class, problem), state, key)
        return after, after

    _, rest = jax.lax.scan(body, state, jax.random.split(KEY, steps))
    return jax.tree.map(lambda one, many: jnp.concatenate([one[None], many]), state, rest)


def by_matrices(network, channels):
    """A network that compiles in no time; `test_coordinate_network` compares the real one with matrix products."""
    for weight, relu in zip(network.weights, network.activated, strict=True):
        channels = jnp.maximum(jnp.tensordot(weight, channels, axes=1), 0 if relu else -jnp.inf)
    return channels


def drawn(kind):
    """An algorithm with random parameters: as it comes, and with networks by matrices."""
    rng, shapes = np.random.default_rng(8), eqx.filter_eval_shape(kind, key=KEY)
    algorithm = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape) / leaf.shape[-1] ** 0.5), shapes)
    fast = lambda leaf: Partial(by_matrices, leaf) if isinstance(leaf, CoordinateNetwork) else leaf  # noqa: E731
    return algorithm, jax.tree.map(fast, algorithm, is_leaf=lambda leaf: isinstance(leaf, CoordinateNetwork))


def widths(network):
    """Of the layers; all but the last have a ReLU."""
    assert network.activated == (True,) * (len(network.weights) - 1) + (False,)
    return [network.weights[0].shape[1], *(weight.shape[0] for weight in network.weights)]


def estimates(problem_class, problem):
    """Stochastic loss and gradient, as a function of point and key."""
    asked = jax.jit(lambda x, key: loa.Oracle(problem_class, problem).stochastic_value_and_gradient(x, key))
    return lambda x, key: map(np.asarray, asked(x, key))


@lru_cache
def small_lasso():
    """A class, one of its problems, and the same as A, b, λ and 1/L in NumPy."""
    problem_class = Lasso(rows=6, columns=9)
    A, b = np.asarray(problem_class.matrix), 3 * np.random.default_rng(9).normal(size=6)
    return problem_class, SparseRecovery(jnp.asarray(b), jnp.asarray(1.0)), (A, b, 1.0, 1 / norm(A, 2) ** 2)


def one(problems, number):
    return jax.tree.map(lambda leaf: leaf[number], problems)


@lru_cache
def small_images(*size):
    smooth = np.add.outer(np.sin(np.arange(size[0]) / 4), np.arange(size[1]) > size[1] / 2) / 3
    observed = np.clip(smooth + 0.1 * np.random.default_rng(5).normal(size=size), 0, 1)
    return ImageRestoration(size=size), Restoration(jnp.asarray(observed), jnp.asarray(0.2))


@pytest.mark.parametrize("as_printed", [False, True])
def test_learned_lasso_is_the_papers_update(as_printed):
    """Appendix J, with the masks of the two directions as in the published code, or as in the text."""
    problem_class, problem, (A, b, weight, beta) = small_lasso()
    algorithm, runnable = drawn(partial(learned.LearnedLasso, as_printed=as_printed))
    path = points(runnable, problem_class, problem, 0.03 * problem_class.start_point * (np.arange(9) % 3 != 0), 4)
    prox = lambda v: np.sign(v) * np.maximum(np.abs(v) - beta * weight, 0)  # noqa: E731
    occurred = np.zeros(6, bool)
    for before, x, after in zip([path[0], *path], path, path[1:], strict=False):
        gradient, momentum = A.T @ (A @ x - b), x - before
        p = prox(x - beta * gradient)
        support, rest = x != 0, x == 0
        h, h_before = (0.5 * norm(A @ point - b) ** 2 for point in (x, before))
        g, g_before = (weight * np.abs(point).sum() for point in (x, before))
        d1, d2, d3 = ([support * unit(v), rest * unit(v)] for v in (gradient, momentum, x - p))
        norms = [np.log(1 + norm(part * v)) for v in (gradient, momentum, p) for part in (support, rest)]
        changes = np.array([h + g - h_before - g_before, g - g_before, h - h_before]) / 1e5
        s = in_numpy(algorithm.weights, [*norms, *changes, d1[0] @ d2[0], d1[1] @ d2[1], weight])
        channels = s[:, None] * np.stack([*d1, *d2, *d3, d1[0] * d2[0], d1[1] * d2[1]])
        out1, out2 = in_numpy(algorithm.directions, channels)
        first, second = (support, rest) if as_printed else (rest, support)
        expected = prox(x + beta * (first * out1 - gradient + norm(momentum) * second * out2))
        assert_allclose(after, expected, rtol=1e-10, atol=1e-12)
        assert not np.allclose(after, p, atol=1e-3)
        occurred |= [norm(d) > 0 for d in (*d1, *d2, *d3)]
    assert occurred.all()
    assert widths(algorithm.weights) == [12, 30, 20, 10, 8]
    assert widths(algorithm.directions) == [8, 20, 20, 20, 2]


def test_learned_network_training_is_the_papers_update():
    """Appendix K."""
    problem_class = NetworkTraining()
    problem = problem_class.sample(jax.random.key(2))
    algorithm, runnable = drawn(learned.LearnedNetworkTraining)
    _, before, x, after = points(runnable, problem_class, problem, problem_class.start_point, 3)
    value_and_gradient = jax.jit(jax.value_and_grad(lambda x: problem_class.loss(x, problem)))
    (loss, gradient), (loss_before, _) = (map(np.asarray, value_and_gradient(point)) for point in (x, before))
    d1, d2 = unit(gradient), unit(x - before)
    norms = np.log([1 + norm(gradient), 1 + norm(x - before)])
    s = in_numpy(
        algorithm.weights, [*norms, (loss - loss_before) / 1e3, np.abs(gradient).max() / 1e3, d1 @ d2, 2 / 100]
    )
    channels = np.stack([algorithm.gradient_diagonal * d1, d1, d2, algorithm.momentum_diagonal * d2])
    (direction,) = in_numpy(algorithm.direction, s[:, None] * channels)
    assert_allclose(after - x, direction, rtol=1e-10, atol=1e-10 * norm(direction))
    assert norm(direction) > 1e-3
    assert widths(algorithm.weights) == [6, 30, 20, 10, 4]
    assert widths(algorithm.direction) == [4, 20, 20, 20, 1]


def test_learned_stochastic_training_is_the_papers_update():
    """Appendix L, with p₁, p₂ in the update and four features."""
    problem_class = StochasticNetworkTraining()
    problem = problem_class.sample(jax.random.key(2))
    algorithm, runnable = drawn(learned.LearnedStochasticTraining)
    path = points(runnable, problem_class, problem, problem_class.start_point, 3)
    estimate = estimates(problem_class, problem)
    m = v = np.zeros(351)
    for t, key in enumerate(jax.random.split(KEY, 3), start=1):
        loss, gradient = estimate(path[t - 1], key)
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        mean, square = m / (1 - 0.9**t), v / (1 - 0.999**t)
        d1, d2 = unit(mean), unit(square)
        *s, s4 = in_numpy(algorithm.weights, [np.log(1 + norm(mean)), np.log(1 + norm(square)), t / 1e3, loss / 1e3])
        p1, p2 = in_numpy(algorithm.preconditioners, np.array(s)[:, None] * np.stack([d1, d1 * d2, d2]))
        move = 0.001 * s4 * 0.001 * p1 * mean / (0.001 * np.abs(p2) * np.sqrt(square) + 1e-8)
        assert_allclose(path[t], path[t - 1] - move, rtol=1e-10, atol=1e-10 * norm(move))
        assert norm(move) > 1e-3
    assert widths(algorithm.weights) == [4, 15, 15, 4]
    assert widths(algorithm.preconditioners) == [3, 15, 15, 2]


def test_learned_images_is_the_papers_update_and_the_compact_one_two_weights():
    """Appendix I."""
    problem_class, problem = small_images(12, 9)
    names = "data_fidelity", "regularizer", "data_fidelity_gradient", "regularizer_gradient"
    ask = jax.jit(lambda x: [getattr(problem_class, name)(x, problem) for name in names])
    L = float(problem_class.smoothness(problem))
    algorithm, runnable = drawn(learned.LearnedImages)
    compact, runnable_compact = drawn(learned.CompactImages)
    for runs in (runnable, runnable_compact):
        _, before, x, after = points(runs, problem_class, problem, 0.5 * problem.observed, 3)
        h, r, h_gradient, r_gradient = map(np.asarray, ask(x))
        h_before, r_before, *_ = map(np.asarray, ask(before))
        gradient, momentum = h_gradient + r_gradient, x - before
        if runs is runnable:
            d1, d2, d3, d4 = map(unit, (gradient, momentum, h_gradient, r_gradient))
            norms = np.log(1 + norm(gradient)), np.log(1 + norm(momentum))
            changes = np.array([h + r - h_before - r_before, h - h_before, r - r_before]) / 1e3
            products = [np.vdot(a, b) for a, b in ((d1, d2), (d4, d2), (d3, d2), (d4, d3))]
            features = [float(problem.regularization), *norms, *changes, np.abs(gradient).max(), *products]
            s = in_numpy(algorithm.weights, features)
            out = in_numpy(algorithm.directions, s[:, None, None] * np.stack([d1, d2, d3, d4]))
            expected = x + norm(gradient) / L * out[0] - gradient / L + norm(momentum) * out[1]
        else:
            norms = np.log(norm(gradient) + 1e-8), np.log(norm(momentum) + 1e-8)
            out = in_numpy(compact.weights, [np.log(h + r) - np.log(h_before + r_before), *norms, 1])
            expected = x - out[0] / L * gradient + out[1] * momentum
        assert_allclose(after, expected, rtol=1e-10, atol=1e-10 * norm(after - x))
        assert min(norm(out[0]), norm(out[1])) > 1e-3
    assert widths(algorithm.weights) == [11, 30, 20, 10, 4]
    assert widths(algorithm.directions) == [4, 15, 15, 15, 2]
    assert widths(compact.weights) == [4, 20, 20, 2]


def bfgs(first, pairs):
    """The matrix H, as in textbooks: updates of `first`, rescaled to the last pair, by all pairs from old to new."""
    H = first * (pairs[-1][0] @ pairs[-1][1]) / (pairs[-1][1] @ first @ pairs[-1][1]) if pairs else first
    for s, y in pairs:
        E = np.eye(len(s)) - np.outer(s, y) / (s @ y)
        H = E @ H @ E.T + np.outer(s, s) / (s @ y)
    return H


@pytest.mark.parametrize(("dense", "memory", "bad_pairs"), [(False, 12, 0), (True, 12, 0), (True, 3, 1)])
def test_quasi_newton_makes_bfgs_steps_in_the_learned_curvature(dense, memory, bad_pairs):
    problem_class = Rosenbrock(dimension=5)
    problem = problem_class.sample(jax.random.key(0))
    root = np.random.default_rng(0).normal(size=(5, 5))
    matrix = 30 * root @ root.T if dense else np.diag([10.0, 300.0, 20.0, 500.0, 50.0])
    curvature = DenseCurvature.of(matrix) if dense else DiagonalCurvature(jnp.diag(jnp.asarray(matrix)))
    algorithm = LearnedQuasiNewton(curvature, np.log(0.1), np.log(2.0), 0.4, np.log(0.9), np.log(0.3), memory)
    path = points(algorithm, problem_class, problem, problem_class.start(problem, KEY), 12)
    value_and_gradient = jax.jit(jax.value_and_grad(lambda x: problem_class.loss(x, problem)))
    pairs, shortened, before = [], [], None
    for x, after in pairwise(path):
        loss, gradient = map(np.asarray, value_and_gradient(x))
        pairs += [(x - before[0], gradient - before[1])] if before else []
        good = [(s, y) for s, y in pairs if s @ y > 0]
        first = np.linalg.inv(matrix + (0.1 + 2.0 * loss**0.4) * np.eye(5))
        move = -0.9 * bfgs(first, good[-memory:]) @ gradient
        expected = move * min(1, 0.3 / norm(move))
        assert_allclose(after - x, expected, atol=1e-4 * norm(expected))  # directions are in float32
        shortened.append(norm(move) > 0.3)
        before = x, gradient
    assert set(shortened) == {True, False}
    assert len(pairs) - len(good) == bad_pairs


def test_a_step_that_float32_cannot_measure_is_still_as_long_as_the_radius():
    class Steep(loa.ProblemClass):
        def sample(self, key):
            return jnp.zeros(())

        def loss(self, x, problem):
            return 0.25 * jnp.sum(x**4)

        def start(self, problem, key):
            return jnp.full(3, 1e7)

    algorithm = LearnedQuasiNewton(DiagonalCurvature(jnp.ones(3)), -5.0, -50.0, 0.0, 0.0, 3.0)
    path = points(algorithm, Steep(), jnp.zeros(()), jnp.full(3, 1e7), 3)
    assert_allclose([norm(after - x) for x, after in pairwise(path)], np.exp(3.0), rtol=1e-4)


def test_dense_curvature_is_the_matrix_without_negative_eigenvalues():
    root = np.random.default_rng(1).normal(size=(6, 4))
    for matrix in (root @ root.T, root @ root.T - np.eye(6)):
        curvature = DenseCurvature.of(matrix)
        V = np.asarray(jax.vmap(curvature.point, out_axes=1)(jnp.eye(6)))
        assert_allclose(V.T @ V, np.eye(6), atol=1e-12)
        assert_allclose(curvature.coordinates(np.arange(6.0)), V.T @ np.arange(6.0), atol=1e-12)
        values, vectors = np.linalg.eigh(matrix)
        assert_allclose(V * curvature.spectrum @ V.T, vectors * np.maximum(values, 0) @ vectors.T, atol=1e-12)
    assert values.min() < -0.5


def test_proximal_newton_solves_the_damped_system_and_rests_at_solutions():
    problem_class, problem, (A, b, weight, beta) = small_lasso()
    B, eye = 0.2 * A.T @ A + 0.1 * np.eye(9), np.eye(9)
    algorithm = LearnedProximalNewton(factor_of(B), np.log(1e-3), np.log(0.5), 0.6, 0.7, -0.4)
    caution, before, grown = 0.0, np.inf, []
    for x, after in pairwise(points(algorithm, problem_class, problem, problem_class.start_point, 10)):
        ahead = x - beta * A.T @ (A @ x - b)
        D = np.diag(1.0 * (np.abs(ahead) > beta * weight))
        F = x - D @ (ahead - np.sign(ahead) * beta * weight)
        grown.append(norm(F) >= before)
        caution += 0.7 if grown[-1] else -0.4
        mu = 1e-3 + np.exp(caution) * 0.5 * norm(F) ** 0.6
        move = np.linalg.solve(eye - D @ (eye - beta * B) + beta * mu * eye, F)
        assert_allclose(x - after, move, atol=1e-4 * norm(move))  # the system is solved in float32
        before = norm(F)
    assert set(grown) == {True, False}

    solution = points(loa.FISTA(), problem_class, problem, problem_class.start_point, 3000)[-1]
    assert 0 < np.sum(solution != 0) < 9
    assert factor_of(A.T @ A).shape == (6, 9)
    for curvature in (np.eye(9) + 1.0, A.T @ A):
        algorithm = eqx.tree_at(lambda a: a.factor, algorithm, factor_of(curvature))
        path = points(algorithm, problem_class, problem, jnp.asarray(solution), 60)
        assert_allclose(path, np.broadcast_to(solution, path.shape), rtol=0, atol=1e-10)
    assert_allclose(points(algorithm, problem_class, problem, problem_class.start_point, 60)[-1], solution, atol=1e-10)


def test_sweeps_of_proximal_newton_are_admm_on_the_model_and_rest_at_solutions():
    problem_class, problem, (A, b, weight, _) = small_lasso()
    B, rho, relaxation = 0.8 * A.T @ A + 0.1 * np.eye(9), 0.7, 1.6
    plain = LearnedProximalNewton(factor_of(B), np.log(1e-3), np.log(0.5), 0.6, 0.7, -0.4)
    algorithm = dataclasses.replace(plain, log_penalty=jnp.log(rho), relaxation=jnp.asarray(relaxation), sweeps=3)
    start = np.asarray(problem_class.start_point)
    z, gradient = points(plain, problem_class, problem, start, 1)[-1], A.T @ (A @ start - b)
    u = -(gradient + B @ (z - start)) / rho
    for _ in range(3):
        w = np.linalg.solve(B + rho * np.eye(9), B @ start - gradient + rho * (z - u))  # minimizes the smooth part
        relaxed = relaxation * w + (1 - relaxation) * z
        z = np.sign(relaxed + u) * np.maximum(np.abs(relaxed + u) - weight / rho, 0)
        u = u + relaxed - z
    after = points(algorithm, problem_class, problem, start, 1)[-1]
    assert_allclose(after, z, atol=1e-4 * norm(z))  # systems are solved in float32

    solution = points(loa.FISTA(), problem_class, problem, start, 3000)[-1]
    for factor in factor_of(B), factor_of(np.eye(9) + 1.0):
        path = points(eqx.tree_at(lambda a: a.factor, algorithm, factor), problem_class, problem, solution, 20)
        assert_allclose(path, np.broadcast_to(solution, path.shape), rtol=0, atol=1e-10)
    assert_allclose(points(algorithm, problem_class, problem, start, 60)[-1], solution, atol=1e-10)


@pytest.mark.parametrize("shape", [(24, 18), (7, 5), (6, 9)])
def test_cosines_are_the_transform_with_even_frequencies_first(shape):
    image, basis = np.random.default_rng(0).normal(size=shape), Cosines(shape)
    height, width = (np.r_[0:n:2, 1:n:2] for n in shape)
    coefficients = basis.coefficients(jnp.asarray(image))
    assert_allclose(coefficients, dctn(image, norm="ortho")[np.ix_(height, width)], atol=1e-5)
    assert_allclose(basis.image(coefficients), image, atol=1e-5)


def test_first_step_is_the_least_squares_fit_and_comes_first():
    problem_class = Lasso(rows=6, columns=9)
    problems = problem_class.draw(jax.random.key(0), 60)
    teacher = loa.FISTA(restart=True)
    jump = first_step(problem_class, problems, teacher=teacher, steps=200, key=KEY)
    start = np.asarray(problem_class.start_point)
    gradients = np.stack([np.asarray(problem_class.gradient(start, one(problems, n))) for n in range(60)])
    ends = np.stack([points(teacher, problem_class, one(problems, n), start, 200)[-1] for n in range(60)])
    inputs = np.hstack([gradients, np.ones((60, 1))])
    fit = np.linalg.lstsq(inputs, ends - start, rcond=1e-8)[0]
    assert_allclose(jump(gradients[0]), inputs[0] @ fit, rtol=1e-6)

    plain = LearnedProximalNewton(np.eye(9), -3.0, 0.0, 1.0, 1.0, -1.0)
    jumping = dataclasses.replace(plain, first_step=jump)
    problem = one(problems, 0)
    path = points(jumping, problem_class, problem, start, 5)
    assert_allclose(path[1], start + jump(gradients[0]), rtol=1e-9)
    later = dataclasses.replace(plain, log_damping=jnp.asarray(-1.0))  # the first step has made it less cautious
    assert_allclose(path[1:], points(later, problem_class, problem, path[1], 4), rtol=1e-4)


def test_a_curvature_of_low_rank_is_the_dense_one_with_one_number_for_the_rest():
    root, x = np.random.default_rng(5).normal(size=(7, 7)), jnp.asarray(np.random.default_rng(6).normal(size=7))
    spectrum, basis = np.linalg.eigh(root @ root.T)
    spectrum[:4] = spectrum[:4].mean()
    dense, low = DenseCurvature(basis=basis, spectrum=spectrum), LowRankCurvature.of(root @ root.T, rank=3)

    def inverse(w):
        return 1.0 / (w + 0.3)

    expected = np.linalg.solve(basis @ np.diag(spectrum + 0.3) @ basis.T, x)
    assert_allclose(dense.apply(inverse, x), expected, rtol=1e-10)
    assert_allclose(low.apply(inverse, x), expected, rtol=1e-10)
    assert_allclose(low.point(inverse(low.spectrum) * low.coordinates(x)), expected, rtol=1e-10)
    assert_allclose(norm(low.coordinates(x)), norm(x), rtol=1e-12)
    for rank in (0, 7):
        with pytest.raises(ValueError, match=f"rank must be at least 1 and less than 7, got {rank}"):
            LowRankCurvature.of(root @ root.T, rank)


def test_stochastic_newton_is_damped_momentum_and_shows_its_average():
    problem_class = LeastSquares()
    problem = problem_class.sample(jax.random.key(2))
    root = np.random.default_rng(3).normal(size=(4, 4))
    matrix, radius, T = root @ root.T, 1.5, 5.0
    logs, logits = np.log([0.7, T, 0.3, 0.2, radius]), np.log([0.8 / 0.2, 0.6 / 0.4, 0.5 / 0.5])
    algorithm = learned.LearnedStochasticNewton(DenseCurvature.of(matrix), *logs, *logits, 0.6, 0.9, 1.2)
    states, estimate = run(algorithm, problem_class, problem, jnp.zeros(4), 6), estimates(problem_class, problem)
    (x, average, g), running_loss, shortened = np.zeros((3, 4)), 0.0, []
    for t, key in enumerate(jax.random.split(KEY, 6), start=1):
        loss, gradient = estimate(x, key)
        g, running_loss = 0.8 * g + 0.2 * gradient, 0.6 * running_loss + 0.4 * loss
        sigma = 1 / (1 + t / T)
        damping, slowness = (0.3 + 0.2 * running_loss / (1 - 0.6**t)) * sigma**1.2, sigma**0.6
        move = -0.7 * slowness * np.linalg.solve(matrix + damping * np.eye(4), g / (1 - 0.8**t))
        shortened.append(norm(move) > slowness * radius)
        x = x + move * min(1, slowness * radius / norm(move))
        average = average + 0.5 * sigma**0.9 * (x - average)
        assert_allclose(states.x[t], x, rtol=1e-5)
        assert_allclose(jax.vmap(algorithm.iterate)(states)[t], average, rtol=1e-5)
    assert set(shortened) == {True, False}


def test_spectral_quasi_newton_makes_bfgs_steps_in_the_cosine_basis_down_to_exact_solutions():
    problem_class, problem = small_images(24, 18)
    algorithm = learned.LearnedSpectralQuasiNewton(-0.5, 3.0, -0.1, -0.3, 0.1)
    states = run(algorithm, problem_class, problem, jnp.zeros((24, 18)), 200)
    path, gradient = np.asarray(states.x), jax.jit(lambda x: problem_class.gradient(x, problem))
    basis = Cosines((24, 18))
    through = basis.image(basis.frequencies() * basis.coefficients(path[1]))
    assert_allclose(through, differences_adjoint(*differences(path[1])), atol=1e-5)
    squares = (4 * np.sin(0.5 * np.pi * np.arange(n) / n) ** 2 for n in (24, 18))
    spectrum = np.maximum(np.add.outer(*squares), 1e-6)
    scale = (np.exp(-0.5) + 0.2 * np.exp(3.0) * spectrum ** np.exp(-0.1)) ** -0.5
    scaled = [(scale * dctn(np.asarray(gradient(x)), norm="ortho")).ravel() for x in path[:5]]
    moves = [(dctn(after - x, norm="ortho") / scale).ravel() for x, after in pairwise(path[:6])]
    for time in range(5):
        pairs = [(moves[t], scaled[t + 1] - scaled[t]) for t in range(time)]
        move = -np.exp(0.1 if pairs else -0.3) * bfgs(np.eye(24 * 18), pairs) @ scaled[time]
        assert_allclose(moves[time], move, atol=1e-5 * norm(move))
    assert states.gradient.dtype == states.memory.S.dtype == jnp.float32
    assert norm(gradient(path[-1])) < 1e-4
    solution = points(loa.LBFGS(), problem_class, problem, jnp.zeros((24, 18)), 200)[-1]
    assert_allclose(path[-1], solution, atol=1e-4)


def test_average_curvature_is_the_mean_hessian_of_the_smooth_part():
    lasso, _, (A, *_) = small_lasso()
    found = average_curvature(lasso, lasso.draw(KEY, 2), teacher=loa.FISTA(), times=[0], key=KEY)
    assert_allclose(found, A.T @ A, atol=1e-12)

    class Quartics(Quadratics):
        def loss(self, x, problem):
            return super().loss(x, problem) + jnp.sum(x**4) / 12

    quartics, teacher = Quartics(dimension=4), loa.GradientDescent(1e-3)
    problems = quartics.draw(KEY, 3)
    found = average_curvature(quartics, problems, teacher=teacher, times=[1, 3], key=KEY)
    path = np.asarray(loa.trajectories(teacher, quartics, problems, horizon=3, key=KEY).iterates)
    hessians = np.asarray(problems.diagonal)[:, None] ** 2 + path[:, 0, [1, 3]] ** 2
    assert_allclose(found, np.diag(hessians.mean(axis=(0, 1))), rtol=1e-10, atol=1e-12)


def test_oracle_calls_of_a_step():
    ones, images, lasso = DiagonalCurvature(np.ones(351)), small_images(12, 9)[0], small_lasso()[0]
    none, value, both = Calls(0, 0, 0, 0, 0), Calls(1, 0, 0, 0, 0), Calls(1, 1, 0, 0, 0)
    one_batch = Calls(0, 0, 0, 1, 0)

    def count(make, parameters, problem_class):
        algorithm, problem = make(*parameters) if parameters else make(key=KEY), problem_class.sample(KEY)
        oracle = loa.Oracle(problem_class, problem)
        state, first = algorithm.init(oracle, problem_class.start(problem, KEY)), oracle.calls
        algorithm.step(oracle, algorithm.step(oracle, state, KEY), KEY)
        return first, oracle.calls

    for make, parameters, problem_class, first, per_step in (
        (learned.LearnedQuadratics, (), Quadratics(dimension=4), value, both),
        (learned.LearnedImages, (), images, value, both),
        (learned.CompactImages, (), images, value, both),
        (learned.LearnedLasso, (), lasso, value, Calls(1, 1, 2, 0, 0)),
        (learned.LearnedNetworkTraining, (), NetworkTraining(), value, both),
        (learned.LearnedStochasticTraining, (), StochasticNetworkTraining(), none, one_batch),
        (LearnedQuasiNewton, (ones, 0.0, 0.0, 1.0), NetworkTraining(), none, both),
        (LearnedProximalNewton, (np.eye(9), -3.0, 0.0, 1.0, 1.0, -1.0), lasso, none, Calls(0, 1, 1, 0, 0)),
        (partial(LearnedProximalNewton, sweeps=3), (np.eye(9), *[0.0] * 5), lasso, none, Calls(0, 1, 4, 0, 0)),
        (learned.LearnedSpectralQuasiNewton, (0.0, 0.0), images, none, Calls(0, 1, 0, 0, 0)),
        (learned.LearnedStochasticNewton, (ones, *[0.0] * 8), StochasticNetworkTraining(), none, one_batch),
    ):
        counted = jax.jit(partial(count, make, parameters, problem_class))()  # the counters alone are compiled
        expected = first, tuple(a + 2 * b for a, b in zip(first, per_step, strict=True))
        assert tuple(tuple(map(int, calls)) for calls in counted) == expected, make


def test_mini_batches_that_leave_neurons_dead_have_finite_derivatives():
    """Their gradients are exactly 0 in some coordinates, where a plain square root has no derivative."""
    problem_class = loa.problems.StochasticNetworkTraining()
    problem = problem_class.sample(KEY)
    algorithm = jax.tree.map(lambda weight: 0.1 * weight, learned.LearnedStochasticTraining(key=KEY))
    oracle = loa.Oracle(problem_class, problem)
    x = problem_class.start_point
    assert np.any(np.asarray(oracle.stochastic_gradient(x, KEY)) == 0)

    def loss_after_two_steps(algorithm):
        state = algorithm.init(oracle, x)
        for number in range(2):
            state = algorithm.step(oracle, state, jax.random.fold_in(KEY, number))
        return problem_class.loss(state.x, problem)

    slopes = jax.tree.leaves(eqx.filter_jit(eqx.filter_grad(loss_after_two_steps))(algorithm))
    assert all(np.isfinite(slope).all() for slope in slopes)
