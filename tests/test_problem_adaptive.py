"""Parameters that depend on the problem: the regression is what it says, and it finds 1/θ on the running example."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa
from loa.architectures import ProblemAdaptive
from loa.architectures.problem_adaptive import problem_features
from loa.learning import Interval, adapt

KEY = jax.random.key(4)
EXAMPLE = loa.problems.RunningExample()
OPTIONS = dict(criterion=loa.distance_below(1e-3), horizon=200, key=KEY)


class Bowls(loa.ProblemClass):
    """½ xᵀHx - bᵀx with matrices H of very different size."""

    def sample(self, key):
        size, matrix, right = jax.random.split(key, 3)
        root = jax.random.normal(matrix, (3, 3))
        scale = jnp.exp(jax.random.uniform(size, minval=-3.0, maxval=3.0))
        return scale * (root @ root.T + jnp.eye(3)), jax.random.normal(right, (3,))

    def loss(self, x, problem):
        return 0.5 * x @ problem[0] @ x - problem[1] @ x

    def start(self, problem, key):
        return jnp.zeros(3)


@pytest.fixture(scope="module")
def found():
    problems = EXAMPLE.draw(jax.random.key(0), 30)
    space = {"step_size": Interval(0.02, 2.0, logarithmic=True)}
    return adapt(loa.GradientDescent, space, EXAMPLE, problems, candidates=16, **OPTIONS)


def test_the_step_size_of_the_running_example_is_one_over_theta(found):
    """Section 3.5: the best step on θx²/2 - x is 1/θ. No constant step is near to it on all problems."""
    fresh = EXAMPLE.draw(jax.random.key(77), 100)
    steps = [float(found.algorithm.chosen_for(loa.Oracle(EXAMPLE, theta), jnp.zeros(())).step_size) for theta in fresh]
    np.testing.assert_allclose(steps * np.asarray(fresh), 1.0, atol=0.03)
    adaptive, constant = (
        loa.evaluate(each, EXAMPLE, fresh, **OPTIONS)["stopping_time"].mean()
        for each in (found.algorithm, found.constant)
    )
    assert adaptive <= 2.0 < 5.0 < constant
    assert found.value <= found.constant_value


def test_features_are_gradient_norm_and_curvatures():
    matrix, right = Bowls().sample(KEY)
    oracle = loa.Oracle(Bowls(), (matrix, right))
    length, along, largest = np.exp(problem_features(oracle, jnp.zeros(3)))
    np.testing.assert_allclose(length, np.linalg.norm(right), rtol=1e-6)
    np.testing.assert_allclose(along, np.linalg.norm(matrix @ right) / length, rtol=1e-6)
    powers = [np.linalg.matrix_power(np.asarray(matrix, float), k) @ np.asarray(right, float) for k in (3, 4)]
    np.testing.assert_allclose(largest, np.linalg.norm(powers[1]) / np.linalg.norm(powers[0]), rtol=1e-5)
    assert (int(oracle.calls.gradient), int(oracle.calls.hessian_product)) == (1, 4)


def adaptive(slopes, **changes):
    options = dict(names=("step_size",), logarithmic=(True,), lowest=(-9.0,), highest=(9.0,))
    return ProblemAdaptive(loa.HeavyBall(0.1, 0.5), [np.log(0.1)], [slopes], **(options | changes))


def test_without_slopes_it_is_the_algorithm_inside():
    problems = Bowls().draw(KEY, 5)
    plain, wrapped = (
        loa.trajectories(each, Bowls(), problems, horizon=8, key=KEY).iterates
        for each in (loa.HeavyBall(0.1, 0.5), adaptive([0.0, 0.0, 0.0]))
    )
    np.testing.assert_allclose(wrapped, plain, rtol=1e-5)


def test_predictions_are_cut_off_and_unusual_features_are_bounded():
    oracle = loa.Oracle(Bowls(), Bowls().sample(KEY))
    chosen = adaptive([0.0, 0.0, 1e3], highest=(-1.0,), lowest=(-2.0,)).chosen_for(oracle, jnp.zeros(3))
    assert float(chosen.step_size) in (pytest.approx(np.exp(-1.0)), pytest.approx(np.exp(-2.0)))
    flat = loa.FromFunctions(lambda key: jax.random.uniform(key, (2,)), lambda x, c: c @ x, start=jnp.zeros(2))
    slope = adaptive([0.0, 1.0, 1.0]).chosen_for(loa.Oracle(flat, flat.sample(KEY)), jnp.zeros(2))
    assert float(slope.step_size) == pytest.approx(0.1)  # no curvature, so that these features say nothing


def test_ten_problems_are_enough_where_size_is_what_varies():
    """The largest curvature varies by a factor of 400; the best constant step suits the steepest problems."""
    space = {"step_size": Interval(1e-3, 10.0, logarithmic=True)}
    options = dict(criterion=loa.gradient_norm_below(1e-3), horizon=300, key=KEY)
    found = adapt(loa.GradientDescent, space, Bowls(), Bowls().draw(KEY, 10), candidates=16, **options)
    fresh = Bowls().draw(jax.random.key(5), 50)
    steps = [
        loa.evaluate(each, Bowls(), fresh, **options)["stopping_time"].mean()
        for each in (found.algorithm, found.constant)
    ]
    assert steps[0] < 0.6 * steps[1]


def test_what_is_refused():
    with pytest.raises(ValueError, match="has no parameter 'stride'"):
        adaptive([0.0, 0.0, 0.0], names=("stride",))
    with pytest.raises(ValueError, match="one entry for each parameter"):
        adaptive([0.0, 0.0, 0.0], lowest=())
    with pytest.raises(ValueError, match="nothing can adapt"):
        adapt(lambda size: loa.LBFGS(), {"size": (0.0, 1.0)}, Bowls(), Bowls().draw(KEY, 4), **OPTIONS)


def test_it_can_be_saved(found, tmp_path):
    from loa.storage.saved_algorithms import save

    path = tmp_path / "adaptive.safetensors"
    save(path, found.algorithm)
    assert eqx.tree_equal(loa.load(path), found.algorithm)
