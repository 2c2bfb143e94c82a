"""Problem classes: the contract that all of them keep, and what each says about itself, against other libraries."""

import warnings
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.ndimage
import scipy.optimize
from PIL import Image

import loa
from loa.problems.examples import image_operators as operators
from loa.problems.examples import photographs
from loa.problems.examples.network_training import _without_replacement
from loa.problems.problem_class import MissingOracle
from loa.storage.checkpoint import Checkpoint
from loa.trajectory import optimal_losses as optimal

SMALL = (24, 18)
CLASSES = {
    "quadratics": lambda: loa.problems.Quadratics(dimension=20),
    "lasso": loa.problems.Lasso,
    "images": lambda: loa.problems.ImageRestoration(size=SMALL),
    "network": loa.problems.NetworkTraining,
    "stochastic network": loa.problems.StochasticNetworkTraining,
    "logistic regression": loa.problems.LogisticRegression,
    "rosenbrock": loa.problems.Rosenbrock,
    "running example": loa.problems.RunningExample,
    "outlier mixture": loa.problems.OutlierMixture,
}
SMOOTH = ("quadratics", "lasso", "images", "logistic regression", "running example", "outlier mixture")
COMPUTED = ("lasso", "images", "logistic regression")
SOLVED = (*COMPUTED, "quadratics", "rosenbrock", "running example", "outlier mixture")
KEY = jax.random.key(3)


@cache
def a_class(name):
    return CLASSES[name]()


@cache
def some_problems(name):
    return in_numpy(a_class(name).draw(jax.random.key(1), 4))


def in_numpy(tree):
    """Arithmetic on these is not compiled, operation by operation."""
    return jax.tree.map(np.asarray, tree)


def a_problem(name, index=0):
    return pick(some_problems(name), index)


def pick(problems, index):
    return jax.tree.map(lambda leaf: leaf[index], problems)


def a_point(name, seed=0, scale=1.0):
    x0 = np.asarray(a_class(name).start(a_problem(name), KEY))
    return x0 + scale * np.random.default_rng(seed).normal(size=x0.shape)


@cache
def ask(name, question):
    """A method of the class, compiled, with answers in NumPy."""
    method = jax.jit(lambda *arguments: getattr(a_class(name), question)(*arguments))
    return lambda *arguments: np.asarray(method(*arguments))


@cache
def problems_with_optima(name):
    return in_numpy(loa.with_optimal_losses(a_class(name), some_problems(name)))


@cache
def solutions(name):
    if name in COMPUTED:
        sixteen = pick(some_problems(name), np.arange(optimal.BATCH) % 4)
        return np.asarray(optimal._solve(a_class(name), sixteen)[0])
    return np.asarray(jax.vmap(a_class(name).solution)(some_problems(name)))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LOA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


# The contract


@pytest.mark.parametrize("name", CLASSES)
def test_problems_are_drawn_independently_from_the_key(name):
    problem_class = a_class(name)
    again, more = (in_numpy(problem_class.draw(jax.random.key(1), size)) for size in (4, 20))
    for one, same, longer in zip(*map(jax.tree.leaves, (some_problems(name), again, more)), strict=True):
        assert one.shape[0] == 4
        assert np.isfinite(longer).all()
        np.testing.assert_array_equal(one, same)
        np.testing.assert_array_equal(one, longer[:4])
    assert any(len(np.unique(leaf, axis=0)) == 20 for leaf in jax.tree.leaves(more))


@pytest.mark.parametrize("name", CLASSES)
def test_loss_is_a_scalar_and_start_a_point(name):
    problem = a_problem(name)
    x0 = a_class(name).start(problem, KEY)
    loss = ask(name, "loss")(x0, problem)
    assert loss.shape == ()
    assert x0.dtype == loss.dtype == np.float64
    assert np.isfinite(loss)
    assert ask(name, "gradient")(x0, problem).shape == x0.shape


@pytest.mark.parametrize("name", CLASSES)
def test_gradient_is_the_derivative(name):
    """Against automatic differentiation, and against central differences with their own error bound."""
    problem, x = a_problem(name), a_point(name)
    gradient = ask(name, "gradient")(x, problem)
    automatic = np.asarray(jax.jit(jax.grad(lambda x: a_class(name).smooth(x, problem)))(x))
    np.testing.assert_allclose(gradient, automatic, rtol=1e-10, atol=1e-12 * np.abs(automatic).max())
    direction = np.random.default_rng(4).normal(size=x.shape)
    direction /= np.linalg.norm(direction)

    def along(t):
        return ask(name, "smooth")(x + t * direction, problem)

    h = 1e-4
    wide, narrow = ((along(t) - along(-t)) / (2 * t) for t in (2 * h, h))
    truncation, rounding = np.abs(wide - narrow), 1e-15 * np.abs(along(0.0)) / h
    assert np.abs(np.sum(gradient * direction) - narrow) <= truncation + 100 * rounding


@pytest.mark.parametrize("name", CLASSES)
def test_gradient_is_affine_where_the_class_says_so_and_nowhere_else(name):
    gradient, problem = ask(name, "gradient"), a_problem(name)
    x, y = a_point(name, seed=0), a_point(name, seed=1)
    there = gradient(x + 0.7 * (x - y), problem)
    extrapolated = gradient(x, problem) + 0.7 * (gradient(x, problem) - gradient(y, problem))
    error = np.linalg.norm(there - extrapolated) / np.linalg.norm(there)
    assert (error < 1e-12) == a_class(name).affine_gradient


@pytest.mark.parametrize("name", SMOOTH)
def test_smoothness_bounds_the_change_of_the_gradient(name):
    gradient = ask(name, "gradient")
    for index in range(4):
        problem = a_problem(name, index)
        for scale in (1e-3, 1.0, 100.0):
            x, y = (a_point(name, seed, scale) for seed in (2 * index, 2 * index + 1))
            change = np.linalg.norm(gradient(x, problem) - gradient(y, problem))
            assert change <= ask(name, "smoothness")(problem) * np.linalg.norm(x - y) * (1 + 1e-9)


@pytest.mark.parametrize("name", SOLVED)
def test_solution_has_the_optimal_loss_and_nothing_is_below(name):
    loss = ask(name, "loss")
    for index in range(4):
        problem = a_problem(name, index)
        x, optimum = solutions(name)[index], a_class(name).optimal_loss(pick(problems_with_optima(name), index))
        rounding = 1e-12 * max(1.0, abs(float(optimum)))
        np.testing.assert_allclose(loss(x, problem), optimum, rtol=0, atol=rounding)
        for k, scale in enumerate((1e-4, 1e-2, 1.0, 10.0)):
            other = x + scale * np.random.default_rng(k).normal(size=x.shape)
            assert loss(other, problem) >= optimum - rounding


@pytest.mark.parametrize("name", CLASSES)
def test_a_batch_equals_a_loop(name):
    x = a_point(name)
    together = jax.jit(jax.vmap(lambda problem: (a_class(name).loss(x, problem), a_class(name).gradient(x, problem))))(
        some_problems(name)
    )
    for index in range(4):
        for batched, question in zip(together, ("loss", "gradient"), strict=True):
            alone = ask(name, question)(x, a_problem(name, index))
            np.testing.assert_allclose(batched[index], alone, rtol=1e-11, atol=1e-12 * np.abs(alone).max())


@pytest.mark.parametrize("name", CLASSES)
def test_float32_stays_float32(name):
    with jax.enable_x64(False), warnings.catch_warnings():
        warnings.simplefilter("error")
        problem_class = CLASSES[name]()

        @jax.jit
        def everything(key):
            problem = problem_class.sample(key)
            x0 = problem_class.start(problem, key)
            return problem, x0, problem_class.loss(x0, problem), problem_class.gradient(x0, problem)

        for array in jax.tree.leaves(everything(KEY)):
            assert array.dtype == np.float32
            assert np.isfinite(np.asarray(array)).all()


@pytest.mark.parametrize("name", COMPUTED)
def test_algorithms_run_on_it(name):
    functionals = [loa.ContractionFactor(cap=1.0), loa.Gap(step=3)]
    result = loa.evaluate(
        loa.GradientDescent(1e-6), a_class(name), problems_with_optima(name), criterion=loa.loss_below(1e-9), horizon=3,
        key=KEY, functionals=functionals,
    )  # fmt: skip
    assert (result["contraction_factor"] < 1).all()
    assert (result["gap_3"] >= 0).all()


# LASSO


def test_lasso_is_the_papers():
    lasso = in_numpy(a_class("lasso"))
    problems = in_numpy(lasso.draw(jax.random.key(0), 2000))
    assert lasso.matrix.shape == (35, 70)
    assert np.abs(lasso.matrix).max() <= 0.5
    assert np.abs(lasso.start_point).max() <= 100
    assert ((problems.regularization >= 5) & (problems.regularization <= 10)).all()
    covariance = np.cov(problems.target.T)
    expected = lasso.factor.T @ lasso.factor
    error = np.linalg.norm(covariance - expected) / np.linalg.norm(expected)
    assert error < 5 * np.sqrt(35 / 2000)  # the error of a covariance matrix is about √(d/n) in relative terms


def test_lasso_smoothness_is_the_largest_eigenvalue():
    lasso = in_numpy(a_class("lasso"))
    exact = np.linalg.eigvalsh(lasso.matrix.T @ lasso.matrix)[-1]
    np.testing.assert_allclose(lasso.smoothness(a_problem("lasso")), exact, rtol=1e-12)


def test_lasso_agrees_with_scikit_learn():
    from sklearn.linear_model import Lasso

    lasso = a_class("lasso")
    problems = in_numpy(lasso.draw(jax.random.key(2), 20))
    found = loa.optimal_losses(lasso, problems)
    assert (found.error <= 2e-13 * found.loss).all()
    points = np.asarray(optimal._solve(lasso, pick(problems, slice(optimal.BATCH)))[0])
    for index in range(20):
        problem = pick(problems, index)
        model = Lasso(alpha=float(problem.regularization) / 35, fit_intercept=False, tol=1e-14, max_iter=1_000_000)
        theirs = model.fit(np.asarray(lasso.matrix), problem.target).coef_
        np.testing.assert_allclose(ask("lasso", "loss")(theirs, problem), found.loss[index], rtol=1e-12)
        if index < 3:
            ours = points[index]
            np.testing.assert_allclose(ours, theirs, atol=1e-7)
            assert loa.gaps.prox_residual(lasso, ours, problem) < 1e-9


@pytest.mark.parametrize("name", COMPUTED)
def test_suboptimality_is_a_bound(name):
    problem, x = a_problem(name), solutions(name)[0]
    loss, suboptimality = ask(name, "loss"), ask(name, "suboptimality")
    optimum = loss(x, problem)
    bounds = []
    for k, scale in enumerate((1e-6, 1e-4, 1e-2, 1.0)):
        other = x + scale * np.random.default_rng(k).normal(size=x.shape)
        bounds.append(float(suboptimality(other, problem)))
        assert bounds[-1] >= loss(other, problem) - optimum - 1e-12
    assert bounds[0] < 0.1
    assert suboptimality(x, problem) <= 2e-13 * max(1.0, float(optimum))


# Images


@pytest.mark.parametrize("size", [(3, 3), (5, 4), (6, 11), SMALL])
def test_adjoints_are_exact(size):
    @jax.jit
    def products(x, y, p, q):
        down, across = operators.differences(x)
        return (
            (jnp.sum(operators.blur(x) * y), jnp.sum(x * operators.blur_adjoint(y))),
            (jnp.sum(down * p + across * q), jnp.sum(x * operators.differences_adjoint(p, q))),
        )

    for left, right in products(*jax.random.normal(KEY, (4, *size))):
        np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-13)
    blur, adjoint = (as_matrix(operator, size) for operator in (operators.blur, operators.blur_adjoint))
    np.testing.assert_allclose(adjoint, blur.T, atol=1e-16)


def as_matrix(operator, size):
    units = jnp.eye(size[0] * size[1]).reshape(-1, *size)
    return np.asarray(jax.jit(jax.vmap(operator))(units).reshape(len(units), -1).T)


def test_blur_is_the_kernel_with_reflection():
    x = np.random.default_rng(0).normal(size=SMALL)
    theirs = scipy.ndimage.correlate(x, operators.KERNEL, mode="mirror")
    np.testing.assert_allclose(jax.jit(operators.blur)(x), theirs, atol=1e-14)
    assert np.linalg.matrix_rank(operators.KERNEL) == 3
    np.testing.assert_allclose(operators.KERNEL.sum(), 1.0)


def test_blur_can_be_differentiated_twice_backwards():
    x, y = np.random.default_rng(0).normal(size=(2, *SMALL))

    def half_square(x):
        return 0.5 * jnp.sum(operators.blur(x) ** 2)

    product = jax.jit(jax.grad(lambda x: jnp.sum(jax.grad(half_square)(x) * y)))(x)
    expected = jax.jit(lambda y: operators.blur_adjoint(operators.blur(y)))(y)
    np.testing.assert_allclose(product, expected, atol=1e-14)


def test_differences_are_forward():
    down, across = operators.differences(jnp.asarray([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]]))
    np.testing.assert_array_equal(down, [[7.0, 14.0, 28.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(across, [[1.0, 2.0, 0.0], [8.0, 16.0, 0.0]])


def test_laplacian_is_inverted():
    x = np.random.default_rng(0).normal(size=SMALL)
    x -= x.mean()
    back = jax.jit(lambda x: operators.differences_adjoint(*operators.differences(operators.solve_laplacian(x))))(x)
    np.testing.assert_allclose(back, x, atol=1e-12)


@pytest.mark.parametrize("weight", [1e-3, 0.1, 50.0])
def test_largest_eigenvalue_of_images(weight):
    import scipy.sparse
    from scipy.sparse.linalg import eigsh

    size = (12, 9)
    blur, down, across = (
        as_matrix(operator, size)
        for operator in (operators.blur, lambda x: operators.differences(x)[0], lambda x: operators.differences(x)[1])
    )
    hessian = scipy.sparse.csr_array(blur.T @ blur + weight * (down.T @ down + across.T @ across))
    theirs = eigsh(hessian, k=1, return_eigenvectors=False)[0]
    np.testing.assert_allclose(operators.largest_eigenvalue(size, weight), theirs, rtol=1e-9)


def test_image_smoothness_is_attained():
    """At 0, with the largest λ, the Hessian is AᵀA + (λ/ε) DᵀD itself."""
    problem = a_problem("images")._replace(regularization=np.asarray(0.5))
    waves = (np.cos(np.pi * (length - 1) * (np.arange(length) + 0.5) / length) for length in SMALL)
    step = 1e-6 * np.outer(*waves)
    change = ask("images", "gradient")(step, problem) - ask("images", "gradient")(0 * step, problem)
    smoothness = a_class("images").smoothness(problem)
    np.testing.assert_allclose(np.linalg.norm(change) / np.linalg.norm(step), smoothness, rtol=1e-6)


def test_image_loss_is_the_papers():
    images, problem = a_class("images"), a_problem("images")
    x = np.random.default_rng(0).uniform(size=SMALL)
    blurred = scipy.ndimage.correlate(x, operators.KERNEL, mode="mirror")
    down, across = np.zeros(SMALL), np.zeros(SMALL)
    down[:-1], across[:, :-1] = np.diff(x, axis=0), np.diff(x, axis=1)
    data = 0.5 * np.sum((blurred - problem.observed) ** 2)
    variation = float(problem.regularization) * np.sum(np.sqrt(down**2 + across**2 + 0.01**2))
    np.testing.assert_allclose(ask("images", "data_fidelity")(x, problem), data)
    np.testing.assert_allclose(ask("images", "regularizer")(x, problem), variation)
    np.testing.assert_allclose(ask("images", "loss")(x, problem), data + variation)
    for part in ("data_fidelity", "regularizer"):
        derivative = jax.jit(jax.grad(lambda x, part=part: getattr(images, part)(x, problem)))
        np.testing.assert_allclose(ask("images", f"{part}_gradient")(x, problem), derivative(x), atol=1e-13)


def test_image_solutions_agree_with_scipy():
    problem, x = a_problem("images"), solutions("images")[0]
    assert np.linalg.norm(ask("images", "gradient")(x, problem)) < 1e-6

    def value_and_gradient(flat):
        point = flat.reshape(SMALL)
        return float(ask("images", "loss")(point, problem)), ask("images", "gradient")(point, problem).ravel()

    options = {"maxiter": 5000, "maxfun": 10_000, "ftol": 0.0, "gtol": 1e-9, "maxcor": 20}
    theirs = scipy.optimize.minimize(value_and_gradient, np.zeros(x.size), jac=True, method="L-BFGS-B", options=options)
    assert np.linalg.norm(theirs.jac) < 1e-6
    np.testing.assert_allclose(ask("images", "loss")(x, problem), theirs.fun, rtol=1e-12)
    np.testing.assert_allclose(x.ravel(), theirs.x, atol=1e-5)


def test_image_problems_are_the_papers():
    images = loa.problems.ImageRestoration(new_photographs=True)
    problems = in_numpy(images.draw(jax.random.key(0), 8))
    assert problems.observed.shape == (8, 200, 150)
    assert ((problems.observed >= 0) & (problems.observed <= 1)).all()
    assert ((problems.regularization >= 0.05) & (problems.regularization <= 0.5)).all()
    np.testing.assert_allclose(images.largest_smoothness, 399.9657, atol=1e-4)


def test_the_smoothness_of_an_image_problem_is_that_of_its_own_weight():
    """Where an image is constant, the Hessian is AᵀA + (λ/ε) DᵀD; the power method finds its largest eigenvalue."""
    images = loa.problems.ImageRestoration(new_photographs=True, size=SMALL)
    problems = images.draw(jax.random.key(3), 3)

    def largest_eigenvalue(problem):
        def multiply(_, direction):
            near = 1e-5 * direction / norm(direction)
            return (images.gradient(flat + near, problem) - images.gradient(flat - near, problem)) / 2e-5

        norm, flat = jnp.linalg.norm, jnp.full_like(problem.observed, 0.5)
        return norm(jax.lax.fori_loop(0, 1000, multiply, jax.random.normal(KEY, SMALL, flat.dtype)))

    found = jax.jit(jax.vmap(largest_eigenvalue))(problems)
    ratios = jax.vmap(images.smoothness)(problems) / found
    assert ((ratios > 0.999) & (ratios < 1.05)).all(), ratios
    assert found.max() > 1.1 * found.min()  # the problems differ, so that one constant would not do


def test_noise_has_the_right_size(tmp_path):
    for index in range(5):
        Image.fromarray(np.full((30, 30), 128, np.uint8)).save(tmp_path / f"{index}.png")
    observed = loa.problems.ImageRestoration(tmp_path, size=SMALL).draw(KEY, 50).observed
    sample = np.asarray(observed).ravel() - 128 / 255
    assert abs(sample.std() - 25 / 256) < 5 * 25 / 256 / np.sqrt(2 * sample.size)
    assert abs(sample.mean()) < 5 * 25 / 256 / np.sqrt(sample.size)


# Photographs


def test_photographs_ship_with_scikit_image_and_four_are_held_out():
    from importlib.metadata import files

    shipped = {path.name for path in files("scikit-image") or [] if path.parent.name == "data"}
    assert set(photographs.SHIPPED) <= shipped
    pool, new = (photographs.load(None, new=new, smallest=(200, 150)) for new in (False, True))
    assert len(new.plates) == 4
    assert len(pool.plates) == len(photographs.SHIPPED) - 4
    pool, new = in_numpy((pool, new))
    assert (pool.plates[..., 1:] >= [200, 150]).all()
    beginnings = [{bytes(own.pixels[offset : offset + 5000]) for offset in own.plates[:, 0, 0]} for own in (pool, new)]
    assert not beginnings[0] & beginnings[1]


def grey_folder(folder, count=9, size=(40, 30)):
    for level in range(count):
        Image.fromarray(np.full(size, 10 * level, np.uint8)).save(folder / f"{level}.png")
    return folder


def test_all_photographs_of_a_folder_are_drawn_equally_often(tmp_path):
    grey_folder(tmp_path)
    levels = {}
    for new in (False, True):
        own = photographs.load(tmp_path, new=new, smallest=(20, 15))
        crops = jax.jit(jax.vmap(lambda key, own=own: own.crop(key, (20, 15))))(jax.random.split(KEY, 1000))
        crops = np.asarray(crops)
        assert (crops == crops[:, :1, :1]).all()
        seen, counts = np.unique(np.round(255 * crops[:, 0, 0]), return_counts=True)
        share = 1 / len(seen)
        assert (abs(counts / 1000 - share) < 5 * np.sqrt(share * (1 - share) / 1000)).all()
        levels[new] = set(seen)
    assert len(levels[True]) == 4
    assert levels[False] | levels[True] == {10.0 * level for level in range(9)}
    assert not levels[False] & levels[True]


def test_crops_are_flipped_and_scaled(tmp_path):
    ramp = np.add.outer(3 * np.arange(40), np.arange(60)).astype(np.uint8)
    for index in range(5):
        Image.fromarray(ramp).save(tmp_path / f"{index}.png")
    own = photographs.load(tmp_path, new=False, smallest=(10, 10))
    crops = 255 * np.asarray(jax.jit(jax.vmap(lambda key: own.crop(key, (10, 10))))(jax.random.split(KEY, 200)))
    down, across = crops[:, 6, 5] - crops[:, 5, 5], crops[:, 5, 6] - crops[:, 5, 5]
    for slope in (down, across):
        assert abs(float((slope > 0).mean()) - 0.5) < 5 * 0.5 / np.sqrt(200)
    steepest = np.round(np.abs(crops[:, -1, 0] - crops[:, 0, 0]) / 9)
    assert {3.0, 4.0, 5.0, 6.0} <= set(steepest)  # 3 / scale, for scales 1, 0.8, 0.65 and 0.5


def test_any_kind_of_image_is_read(tmp_path):
    random = np.random.default_rng(0)
    grey = random.integers(0, 255, (30, 30), dtype=np.uint8)
    Image.fromarray(grey).save(tmp_path / "grey.jpg")
    Image.fromarray(np.stack([grey] * 3, axis=-1)).save(tmp_path / "colour.png")
    Image.fromarray(np.stack([grey] * 4, axis=-1)).save(tmp_path / "transparent.png")
    Image.fromarray(grey.astype(np.uint16) * 257).save(tmp_path / "sixteen_bit.png")
    Image.fromarray(grey).convert("P").save(tmp_path / "palette.gif")
    np.testing.assert_array_equal(photographs._read(tmp_path / "sixteen_bit.png"), grey)
    np.testing.assert_array_equal(photographs._read(tmp_path / "colour.png"), grey)
    problems = loa.problems.ImageRestoration(images=tmp_path, size=SMALL).draw(KEY, 3)
    assert problems.observed.shape == (3, *SMALL)


def test_unreadable_files_are_skipped_and_named(tmp_path):
    grey_folder(tmp_path)
    (tmp_path / "notes.txt").write_text("not an image")
    (tmp_path / "broken.png").write_bytes((tmp_path / "1.png").read_bytes()[:40])
    with pytest.warns(UserWarning, match=r"skipped.*(notes\.txt.*broken\.png|broken\.png.*notes\.txt)"):
        loa.problems.ImageRestoration(images=tmp_path, size=SMALL)


def test_bad_folders_are_refused_in_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="is not a folder"):
        loa.problems.ImageRestoration(images=tmp_path / "nowhere")
    grey_folder(tmp_path, count=4)
    with pytest.raises(ValueError, match="has 4 images that can be read, but at least 5 are needed"):
        loa.problems.ImageRestoration(images=tmp_path, size=SMALL)
    grey_folder(tmp_path)
    with pytest.raises(ValueError, match=r"at least 200 x 150 pixels.*0\.png \(40 x 30\)"):
        loa.problems.ImageRestoration(images=tmp_path)


# Networks


def test_network_loss_is_that_of_the_network():
    x = a_point("network")
    assert x.shape == (351,)
    inputs, targets = a_problem("network")
    assert inputs.shape == (50,)
    hidden = x[:300].reshape(50, 6)
    features = np.stack([inputs**power for power in range(1, 6)], axis=1)
    neurons = np.maximum(features @ hidden[:, 1:].T + hidden[:, 0], 0)
    expected = np.mean((neurons @ x[300:350] + x[350] - targets) ** 2)
    np.testing.assert_allclose(ask("network", "loss")(x, a_problem("network")), expected, rtol=1e-12)


def test_targets_are_noisy_polynomials():
    problems = in_numpy(a_class("network").draw(KEY, 400))
    residuals = [y - np.polynomial.Polynomial.fit(x, y, 5)(x) for x, y in zip(*problems, strict=True)]
    variance = np.mean(np.square(residuals)) * 50 / 44  # six coefficients are fitted to 50 points
    assert abs(variance - 1) < 5 * np.sqrt(2 / (400 * 44))
    assert np.abs(problems.inputs).max() <= 2


def test_both_network_classes_have_the_same_problems_and_start():
    full, stochastic = a_class("network"), a_class("stochastic network")
    np.testing.assert_array_equal(full.start_point, stochastic.start_point)
    for one, other in zip(some_problems("network"), some_problems("stochastic network"), strict=True):
        np.testing.assert_array_equal(one, other)


def test_mini_batches_are_uniform_subsets():
    draws = jax.jit(jax.vmap(lambda key: _without_replacement(key, 5, 2)))(jax.random.split(KEY, 20_000))
    subsets, counts = np.unique(np.sort(np.asarray(draws), axis=1), axis=0, return_counts=True)
    assert len(subsets) == 10
    assert (subsets[:, 0] < subsets[:, 1]).all()
    assert (abs(counts / 20_000 - 0.1) < 5 * np.sqrt(0.09 / 20_000)).all()
    whole = jax.jit(jax.vmap(lambda key: _without_replacement(key, 20, 20)))(jax.random.split(KEY, 3))
    np.testing.assert_array_equal(np.sort(whole, axis=1), np.broadcast_to(np.arange(20), (3, 20)))


def test_stochastic_loss_is_unbiased():
    problem, x = a_problem("network"), a_point("network")
    estimate = jax.jit(jax.vmap(a_class("stochastic network").stochastic_loss, in_axes=(None, None, 0)))
    estimates = np.asarray(estimate(x, problem, jax.random.split(KEY, 20_000)))
    error = abs(estimates.mean() - ask("network", "loss")(x, problem))
    assert error < 5 * estimates.std() / np.sqrt(20_000)
    with pytest.raises(ValueError, match="batch_size must be between 1 and the number of points, 50, got 51"):
        loa.problems.StochasticNetworkTraining(batch_size=51)


# Logistic regression and Rosenbrock


def test_logistic_regression_agrees_with_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    problem_class, problem = a_class("logistic regression"), a_problem("logistic regression")
    assert problem.counts.sum() == 569
    signed = np.asarray(problem_class.signed_features)
    labels = signed[:, -1]
    model = LogisticRegression(C=1 / (569 * problem_class.penalty), fit_intercept=False, tol=1e-10, max_iter=10_000)
    model.fit(labels[:, None] * signed, labels, sample_weight=np.asarray(problem.counts))
    np.testing.assert_allclose(solutions("logistic regression")[0], model.coef_[0], atol=1e-5)
    with pytest.raises(ValueError, match="penalty μ must be positive"):
        loa.problems.LogisticRegression(penalty=0.0)


def test_rosenbrock_contains_rosenbrocks_function():
    classical = a_problem("rosenbrock")._replace(steepness=np.full(9, 100.0), bottom=np.ones(10))
    x = a_point("rosenbrock")
    np.testing.assert_allclose(ask("rosenbrock", "loss")(x, classical), scipy.optimize.rosen(x), rtol=1e-12)
    with pytest.raises(ValueError, match="whole number and at least 2"):
        loa.problems.Rosenbrock(dimension=1)


# Optimal losses


def test_unknown_optimal_losses_are_an_error():
    lasso, problems = a_class("lasso"), some_problems("lasso")
    with pytest.raises(MissingOracle, match="with_optimal_losses"):
        loa.evaluate(
            loa.GradientDescent(1e-3), lasso, problems, criterion=loa.loss_below(1e-9), horizon=3, key=KEY,
            functionals=[loa.ContractionFactor()],
        )  # fmt: skip
    known = loa.problems.Quadratics(dimension=3).draw(KEY, 2)
    assert loa.with_optimal_losses(loa.problems.Quadratics(dimension=3), known) is known


@pytest.fixture
def lasso_cached(own_cache, monkeypatch):
    """Twenty problems whose optimal losses are in the cache, in two files; solving again is counted."""
    lasso = a_class("lasso")
    problems = in_numpy(lasso.draw(jax.random.key(2), 20))
    found = loa.optimal_losses(lasso, problems)
    solve, solved = optimal._solve, []
    monkeypatch.setattr(optimal, "_solve", lambda *arguments: solved.append(1) or solve(*arguments))
    assert len(list(own_cache.glob("*.cached"))) == 2
    return lasso, problems, found, solved


def test_optimal_losses_are_remembered(lasso_cached):
    lasso, problems, found, solved = lasso_cached
    np.testing.assert_array_equal(loa.optimal_losses(lasso, problems).loss, found.loss)
    first = pick(problems, slice(16))
    np.testing.assert_array_equal(loa.optimal_losses(lasso, first).loss, found.loss[:16])
    assert not solved


def test_other_problems_are_not_confused(lasso_cached):
    lasso, problems, _, solved = lasso_cached
    moved = problems.target.copy()
    moved[0, 0] += 1e-9
    loa.optimal_losses(lasso, problems._replace(target=moved))
    assert len(solved) == 1
    loa.optimal_losses(loa.problems.Lasso(seed=1), problems)
    assert len(solved) == 3


@pytest.mark.parametrize("damage", ["truncated", "one bit", "empty", "not finite", "wrong shape", "inaccurate"])
def test_a_damaged_cache_is_not_trusted(lasso_cached, own_cache, damage):
    lasso, problems, found, solved = lasso_cached
    for path in own_cache.glob("*.cached"):
        content, checkpoint = bytearray(path.read_bytes()), Checkpoint(path, path.stem)
        if damage == "truncated":
            path.write_bytes(content[: len(content) // 2])
        elif damage == "one bit":
            content[content.index(b"NUMPY") + 130] ^= 1
            path.write_bytes(content)
        elif damage == "empty":
            path.write_bytes(b"")
        elif damage == "not finite":
            checkpoint.save(optimal.OptimalLosses(np.full(16, np.nan), np.zeros(16)), {})
        elif damage == "wrong shape":
            checkpoint.save(optimal.OptimalLosses(np.zeros(3), np.zeros(3)), {})
        else:
            checkpoint.save(optimal.OptimalLosses(np.ones(16), np.ones(16)), {})
        path.chmod(0o600)
    np.testing.assert_array_equal(loa.optimal_losses(lasso, problems).loss, found.loss)
    assert len(solved) == 2


def test_losses_that_somebody_shifted_in_the_cache_are_computed_again(lasso_cached, own_cache):
    lasso, problems, found, solved = lasso_cached
    for path in own_cache.glob("*.cached"):
        content = path.read_bytes()
        start = content.index(b"NUMPY") - 1 + 128
        shifted = np.frombuffer(content[start : start + 128]) - 5.0
        path.write_bytes(content[:start] + shifted.tobytes() + content[start + 128 :])
    np.testing.assert_array_equal(loa.optimal_losses(lasso, problems).loss, found.loss)
    assert len(solved) == 2


def test_a_file_of_the_cache_under_another_name_is_not_used(lasso_cached, own_cache):
    lasso, problems, found, solved = lasso_cached
    first, second = own_cache.glob("*.cached")
    second.write_bytes(first.read_bytes())
    np.testing.assert_array_equal(loa.optimal_losses(lasso, problems).loss, found.loss)
    assert len(solved) == 1


@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_a_cache_that_others_can_write_to_is_not_used(lasso_cached, own_cache, mode):
    lasso, problems, _, solved = lasso_cached
    own_cache.chmod(mode)
    with pytest.warns(UserWarning, match="can be written to by other users and is not used: run chmod go-w") as seen:
        loa.optimal_losses(lasso, problems)
    assert (len(solved), len(seen)) == (2, 1)


def test_a_file_of_the_cache_that_others_can_write_to_is_replaced(lasso_cached, own_cache):
    lasso, problems, found, solved = lasso_cached
    changed = next(iter(own_cache.glob("*.cached")))
    Checkpoint(changed, changed.stem).save(optimal.OptimalLosses(np.ones(16), np.zeros(16)), {})
    changed.chmod(0o666)
    with pytest.warns(UserWarning, match="cached can be written to by other users and was ignored"):
        np.testing.assert_array_equal(loa.optimal_losses(lasso, problems).loss, found.loss)
    np.testing.assert_array_equal(loa.optimal_losses(lasso, problems).loss, found.loss)
    assert len(solved) == 1


def test_a_cache_that_belongs_to_somebody_else_is_not_used(lasso_cached, own_cache, monkeypatch):
    lasso, problems, _, solved = lasso_cached
    monkeypatch.setattr("os.geteuid", lambda: own_cache.stat().st_uid + 1)
    with pytest.warns(UserWarning, match="is not used"):
        loa.optimal_losses(lasso, problems)
    assert len(solved) == 2


def test_a_cache_that_cannot_be_written_is_a_warning(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LOA_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="could not be kept"):
        loa.optimal_losses(a_class("lasso"), some_problems("lasso"))


def test_inaccurate_optimal_losses_are_an_error(monkeypatch):
    monkeypatch.setattr(optimal, "_solve", lambda own, batch: (None, np.ones(16), np.full(16, 1e-3)))
    with pytest.raises(ArithmeticError, match=r"problem 0 of this Lasso was found only to within 1\.0e-03"):
        loa.optimal_losses(a_class("lasso"), some_problems("lasso"))


def test_optimal_losses_of_float32_problems_are_computed_in_float64():
    with jax.enable_x64(False):
        lasso = loa.problems.Lasso()
        problems = lasso.draw(KEY, 3)
        found = loa.optimal_losses(lasso, problems)
        carried = loa.with_optimal_losses(lasso, problems).optimal_loss
    assert found.loss.dtype == np.float64
    assert (found.error <= 2e-13 * found.loss).all()
    assert carried.dtype == jnp.float32
    np.testing.assert_allclose(carried, found.loss, rtol=1e-6)
