"""Problem classes, oracles and criteria."""

from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from classes import Bowls, LeastSquares

import loa
from loa.problems.problem_class import OPTIONAL, MissingOracle
from loa.problems.remembered import remembered

KEY = jax.random.key(4)


def sample_bowl(key):
    return 1.0 + jax.random.uniform(key, (3,))


def bowl(x, problem):
    return 0.5 * jnp.sum(problem * x**2)


def test_a_class_from_two_functions():
    problem_class = loa.FromFunctions(sample_bowl, bowl, start=jnp.ones(3))
    problems = problem_class.draw(KEY, 20)
    result = loa.evaluate(
        loa.GradientDescent(0.5), problem_class, problems, criterion=loa.loss_below(1e-6), horizon=100, key=KEY
    )
    assert (result.outcome == "solved").all()


def test_a_start_may_be_a_function():
    problem_class = loa.FromFunctions(sample_bowl, bowl, start=lambda problem, key: jax.random.normal(key, (3,)))
    starts = loa.trajectories(
        loa.GradientDescent(0.5), problem_class, problem_class.draw(KEY, 4), horizon=1, key=KEY, replicates=2
    ).iterates[:, :, 0]
    assert len(np.unique(starts)) == starts.size


def test_a_class_from_instances_draws_each_alike():
    problem_class = loa.FromInstances(jnp.arange(5.0), lambda x, a: (x - a) ** 2, start=0.0)
    keys = jax.random.split(KEY, 1000)
    draws = np.asarray(jax.vmap(lambda key: problem_class.draw(key, 2))(keys)).astype(int)
    assert (draws[:, 0] != draws[:, 1]).all()
    assert np.abs(np.bincount(draws.ravel(), minlength=5) - 400).max() < 5 * np.sqrt(2000 * 0.2 * 0.8)
    with pytest.raises(ValueError, match="has 5 instances, and a draw takes each at most once, but 6"):
        problem_class.draw(KEY, 6)
    options = {"criterion": loa.loss_below(1e-6), "horizon": 99, "key": KEY}
    result = loa.evaluate(loa.GradientDescent(0.25), problem_class, problem_class.instances, **options)
    assert result["stopping_time"].shape == (5, 1)


def test_oracle_counts_each_kind():
    problem_class = LeastSquares()
    oracle = loa.Oracle(problem_class, problem_class.sample(KEY))
    x = jnp.ones(4)
    oracle.value(x)
    oracle.value_and_gradient(x)
    oracle.gradient(x)
    oracle.prox(x, 0.1)
    oracle.stochastic_gradient(x, KEY)
    oracle.hessian_product(x, x)
    oracle.hessian(x)
    assert tuple(map(int, oracle.calls)) == (2, 2, 1, 1, 5)


def test_oracle_counts_inside_loops_and_branches():
    problem_class = LeastSquares()

    def count(problem, trials, branch):
        oracle = loa.Oracle(problem_class, problem)
        x = jnp.ones(4)
        oracle.while_loop(lambda i: i < trials, lambda i: i + 1 + 0 * oracle.value(x).astype(int), 0)
        oracle.while_loop(lambda i: i + 0 * oracle.prox(x, 1.0)[0].astype(int) < trials, lambda i: i + 1, 0)
        oracle.cond(branch, oracle.gradient, lambda x: x, x)
        return oracle.calls

    problems = problem_class.draw(KEY, 3)
    calls = jax.jit(jax.vmap(count))(problems, jnp.array([0, 2, 5]), jnp.array([True, False, True]))
    np.testing.assert_array_equal(calls.value, [0, 2, 5])
    np.testing.assert_array_equal(calls.gradient, [1, 0, 1])
    np.testing.assert_array_equal(calls.prox, [1, 3, 6], err_msg="a condition is asked once more than the body")


def test_calls_in_a_plain_jax_loop_are_an_error_not_a_wrong_count():
    problem_class = Bowls()
    problem = problem_class.sample(KEY)

    def miscounted(x):
        oracle = loa.Oracle(problem_class, problem)
        jax.lax.fori_loop(0, 3, lambda i, x: x - oracle.gradient(x), x)
        return oracle.calls.gradient

    with pytest.raises(jax.errors.UnexpectedTracerError):
        jax.jit(miscounted)(jnp.ones(4))


def test_gradient_is_that_of_the_loss():
    problem_class = LeastSquares()
    problem, x = problem_class.sample(KEY), jnp.arange(4.0)
    shifts = 1e-6 * jnp.eye(4)
    slopes = [(problem_class.loss(x + s, problem) - problem_class.loss(x - s, problem)) / 2e-6 for s in shifts]
    np.testing.assert_allclose(problem_class.gradient(x, problem), slopes, rtol=1e-6)


def test_stochastic_gradient_is_unbiased():
    problem_class = LeastSquares()
    problem, x = problem_class.sample(KEY), jnp.arange(4.0)
    keys = jax.random.split(KEY, 20_000)
    samples = jax.vmap(lambda key: loa.Oracle(problem_class, problem).stochastic_gradient(x, key))(keys)
    error = np.asarray(samples.mean(0) - problem_class.gradient(x, problem))
    assert (np.abs(error) < 5 * np.asarray(samples.std(0)) / np.sqrt(20_000)).all()


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        (loa.loss_below(0.6), [True, True, False]),
        (loa.gradient_norm_below(0.9), [True, False, False]),
        (loa.distance_below(1.5), [True, True, False]),
        (loa.loss_below(0.6) & loa.gradient_norm_below(0.9), [True, False, False]),
        (loa.loss_below(0.1) | loa.distance_below(1.5), [True, True, False]),
    ],
)
def test_criteria(criterion, expected):
    """On ½|x|² at x = 0, 1, 2: losses 0, ½, 2; gradients and distances 0, 1, 2."""
    problem_class = Bowls(dimension=1)
    found = [bool(criterion(problem_class, jnp.array([x]), jnp.ones(1))) for x in (0.0, 1.0, 2.0)]
    assert found == expected


def test_prox_residual():
    problem_class = LeastSquares()
    problem, x = problem_class.sample(KEY), jnp.array([1.0, -2.0, 0.1, 0.0])
    for step in (None, 0.05):
        beta = 1 / float(problem_class.smoothness(problem)) if step is None else step
        forward = np.asarray(x - beta * problem_class.gradient(x, problem))
        expected = np.linalg.norm(x - np.sign(forward) * np.maximum(np.abs(forward) - beta, 0))
        for factor, solved in ((1.01, True), (0.99, False)):
            criterion = loa.prox_residual_below(factor * expected, step)
            assert bool(criterion(problem_class, x, problem)) == solved


def test_a_gap_of_ones_own_can_be_the_criterion():
    problem_class = loa.problems.RunningExample()
    problem = jnp.asarray(2.0)
    assert not loa.gap_below(1e-3)(problem_class, jnp.asarray(0.0), problem), "the loss is 0 there, but not its gap"
    assert loa.gap_below(1e-3)(problem_class, jnp.asarray(0.5), problem)
    assert loa.gap_below(0.6, gap=loa.gaps.distance)(problem_class, jnp.asarray(0.0), problem)


class Everything(Bowls):
    """A class that says all that a class can say, and more."""

    finite: ClassVar[bool] = True
    affine_gradient: ClassVar[bool] = True
    shift: float = 3.0

    def smooth(self, x, problem):
        return self.loss(x, problem) + 1.0

    def gradient(self, x, problem):
        return problem * x + 10.0

    def value_and_gradient(self, x, problem):
        return self.loss(x, problem), self.gradient(x, problem)

    def hessian_product(self, x, direction, problem):
        return problem * direction

    def hessian(self, x, problem):
        return jnp.diag(problem)

    def residuals(self, x, problem):
        return jnp.sqrt(problem) * x

    def prox(self, x, step_size, problem):
        return x + step_size

    def constraint(self, problem):
        return loa.sets.Box(0.0, 1.0)

    def stochastic_loss(self, x, problem, key):
        return self.loss(x, problem) + 2.0

    def optimal_accuracy(self, problem):
        return 0.5

    def next(self, problem, x, key):
        return problem + 1.0

    def own(self, x):
        return x + self.shift


SOME = ("smoothness", "optimal_loss", "solution")


@pytest.mark.parametrize("method", OPTIONAL)
def test_a_class_has_what_it_defines(method):
    assert Everything().has(method)
    assert Bowls().has(method) == (method in SOME)
    assert not loa.FromFunctions(sample_bowl, bowl, start=jnp.ones(3)).has(method)
    assert not loa.FromInstances(jnp.arange(5.0), lambda x, a: (x - a) ** 2, start=0.0).has(method)


def test_every_method_with_a_default_is_optional():
    given = {"sample", "loss", "start", "draw", "at_most", "has", "defines", "term", "check_numbers"}
    methods = {name for name, value in vars(loa.ProblemClass).items() if callable(value) and not name.startswith("_")}
    assert methods - given == set(OPTIONAL)


def test_a_method_may_be_a_field_that_is_absent():
    class Given(Bowls):
        prox: Callable | None = eqx.field(static=True, default=None)  # pyright: ignore

    assert not Given().has("prox")
    assert Given(prox=lambda x, step_size, problem: x).has("prox")


@pytest.mark.parametrize("name", ["loss", "curvature", "_missing"])
def test_what_is_not_an_optional_method_is_refused(name):
    with pytest.raises(
        ValueError, match=f"'{name}' is not an optional method of a problem class; these are gradient, "
    ):
        Bowls().has(name)


def test_a_class_that_remembers_is_otherwise_the_same():
    """Every attribute is that of the class, but for loss and gradient."""
    problem_class = Everything()
    x, problem = jnp.ones(4), problem_class.sample(KEY)
    there = remembered(problem_class, x, problem)
    assert isinstance(there, loa.ProblemClass)
    own = {"loss", "gradient", "value_and_gradient", "sample", "start"}
    names = {name for name in dir(problem_class) if not name.startswith("_")} - own
    assert {"own", "shift", "finite", "affine_gradient", "has", *OPTIONAL} - own <= names
    for name in (*names, "_missing"):
        assert getattr(there, name) == getattr(problem_class, name), name
    np.testing.assert_array_equal(there.sample(KEY), problem)
    np.testing.assert_array_equal(there.start(problem, KEY), problem_class.start(problem, KEY))
    np.testing.assert_array_equal(there.loss(2 * x, problem), problem_class.loss(2 * x, problem))
    np.testing.assert_array_equal(there.gradient(2 * x, problem), problem_class.gradient(2 * x, problem))
    with pytest.raises(MissingOracle, match="Bowls has no prox"):
        remembered(Bowls(), x, problem).prox(x, 0.1, problem)


def test_what_is_remembered_is_used_under_all_transformations():
    """Wrong numbers come out wherever this point of this problem is asked for, and nowhere else."""
    wrong = (jnp.asarray(-7.0), jnp.full(4, -8.0))

    @jax.jit
    @jax.vmap
    def asked(x, problem):
        there = remembered(Bowls(), x, problem, wrong)
        inside = jax.lax.fori_loop(0, 2, lambda _, total: total + there.loss(x, problem), 0.0)
        derivative = jax.grad(lambda y: there.loss(y, problem))(x)
        return inside, there.gradient(x, problem), there.value_and_gradient(x, problem)[1], derivative

    problems = Bowls().draw(KEY, 3)
    x = jnp.ones((3, 4))
    inside, gradient, both, derivative = asked(x, problems)
    np.testing.assert_array_equal(inside, [-14.0] * 3)
    np.testing.assert_array_equal(gradient, np.full((3, 4), -8.0))
    np.testing.assert_array_equal(both, gradient)
    np.testing.assert_allclose(derivative, problems * x, err_msg="a point to differentiate at is another point")


class Iterated(Bowls):
    """A loss with a loop that JAX cannot differentiate backwards."""

    def loss(self, x, problem):
        return 0.5 * jax.lax.while_loop(lambda y: y > 1e6, lambda y: y / 2, jnp.sum(problem * x**2))


class RandomSearch(loa.Algorithm):
    """An algorithm that asks for values only."""

    def init(self, oracle, x0):
        return x0

    def step(self, oracle, state, key):
        trial = 0.9 * state + 0.01 * jax.random.normal(key, state.shape)
        return jnp.where(oracle.value(trial) < oracle.value(state), trial, state)


def test_a_loss_without_a_derivative_is_for_algorithms_that_ask_for_values():
    problems = Iterated().draw(KEY, 5)
    options = dict(criterion=loa.loss_below(1e-3), horizon=200, key=KEY)
    searched = loa.evaluate(RandomSearch(), Iterated(), problems, **options)
    np.testing.assert_array_equal(
        searched["stopping_time"], loa.evaluate(RandomSearch(), Bowls(), problems, **options)["stopping_time"]
    )
    assert (searched.outcome == "solved").all()
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        loa.evaluate(loa.GradientDescent(0.5), Iterated(), problems, **options)
