"""A problem class whose points are dictionaries, tuples or matrices does what it does with vectors."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import loa
from loa.algorithms.semismooth_newton import SemismoothNewton
from loa.architectures import DenseCurvature, LearnedQuasiNewton
from loa.experiments.experiment import LearningSetup
from loa.experiments.from_file.problem_class import experiment_for
from loa.learning import average_curvature, first_step, imitate, langevin_support, train
from loa.problems.vector_points import Form, VectorPoints, form_of_points

KEY = jax.random.key(0)


class Vectors(loa.ProblemClass):
    """A matrix, a vector and a number are fitted, and their entries are one vector of 5."""

    def sample(self, key):
        return jnp.exp(jax.random.uniform(key, (5,), minval=-1.0, maxval=1.0)), jax.random.normal(key, (5,))

    def loss(self, x, problem):
        curvature, target = problem
        return jnp.sum(curvature * (jnp.cosh(x - target) - 1.0)) + self.rest(x)

    def rest(self, x):
        return 0.0

    def start(self, problem, key):
        return 0.1 * jax.random.normal(key, (5,))

    def optimal_loss(self, problem):
        return 0.0

    def solution(self, problem):
        return problem[1]


def split(x):
    return {"bias": x[0], "layers": (x[1:3].reshape(2, 1), x[3:])}


def joined(point):
    first, second = point["layers"]
    return jnp.concatenate([point["bias"][None], first.ravel(), second])


class Dictionaries(Vectors):
    """The same with a dictionary of the three."""

    def loss(self, x, problem):
        return super().loss(joined(x), problem)

    def start(self, problem, key):
        return split(super().start(problem, key))

    def solution(self, problem):
        return split(super().solution(problem))


class Rows(Vectors):
    """The same with a matrix of one row."""

    def loss(self, x, problem):
        assert x.shape == (1, 5)
        return super().loss(x[0], problem)

    def start(self, problem, key):
        return super().start(problem, key)[None]

    def solution(self, problem):
        return super().solution(problem)[None]


def shrunk(x, step_size):
    return jnp.sign(x) * jnp.maximum(jnp.abs(x) - 0.2 * step_size, 0.0)


class Sparse(Vectors):
    """With an l1 norm, and a stochastic loss that leaves one coordinate out."""

    def rest(self, x):
        return 0.2 * jnp.sum(jnp.abs(x))

    def smooth(self, x, problem):
        return Vectors.loss(Vectors(), x, problem)

    def prox(self, x, step_size, problem):
        return shrunk(x, step_size)

    def smoothness(self, problem):
        return jnp.asarray(30.0)

    def stochastic_loss(self, x, problem, key):
        return self.smooth(x * (jnp.arange(5) != jax.random.randint(key, (), 0, 5)), problem)


class SparseDictionaries(Sparse):
    """The same with a product of points, each with its own prox."""

    def loss(self, x, problem):
        return super().loss(joined(x), problem)

    def smooth(self, x, problem):
        return super().smooth(joined(x), problem)

    def prox(self, x, step_size, problem):
        return jax.tree.map(lambda part: shrunk(part, step_size), x)

    def stochastic_loss(self, x, problem, key):
        return Sparse.stochastic_loss(Sparse(), joined(x), problem, key)

    def start(self, problem, key):
        return split(super().start(problem, key))


TEACHER = loa.GradientDescent(0.2)
PROBLEMS = Vectors().draw(KEY, 6)
SETTING = dict(criterion=loa.gradient_norm_below(1e-3), horizon=40, key=KEY)
ON_BOTH = {
    "L-BFGS": (loa.LBFGS(), Vectors(), Dictionaries()),
    "gradient descent": (loa.GradientDescent(0.2), Vectors(), Dictionaries()),
    "FISTA": (loa.FISTA(), Sparse(), SparseDictionaries()),
    "mini-batches": (loa.SGD(0.05), Sparse(), SparseDictionaries()),
}


@pytest.mark.parametrize("name", ON_BOTH)
def test_an_evaluation_is_that_of_the_same_class_with_vectors(name):
    algorithm, *classes = ON_BOTH[name]
    criterion = loa.prox_residual_below(1e-4) if classes[0].has("prox") else loa.distance_below(1e-4)
    functionals = [loa.StoppingTime(), loa.OracleCalls(), loa.Gap(7, gap=loa.gaps.loss)]
    setting = SETTING | dict(criterion=criterion, functionals=functionals)
    one, other = (loa.evaluate(algorithm, each, PROBLEMS, **setting) for each in classes)
    assert_array_equal(one["stopping_time"], other["stopping_time"])
    assert_array_equal(one["oracle_calls"], other["oracle_calls"])
    assert_allclose(one["gap_7"], other["gap_7"], rtol=1e-10)
    assert len(np.unique(one["gap_7"])) == 6


def test_trajectories_have_iterates_in_the_form_of_the_start():
    flat, trees = (loa.trajectories(loa.LBFGS(), c, PROBLEMS, horizon=4, key=KEY) for c in (Vectors(), Dictionaries()))
    assert jax.tree.map(jnp.shape, trees.iterates) == {"bias": (6, 1, 5), "layers": ((6, 1, 5, 2, 1), (6, 1, 5, 2))}
    assert_allclose(trees.losses, flat.losses, rtol=1e-10)
    last = jax.tree.map(lambda leaf: leaf[3, 0, -1], trees.iterates)
    assert_allclose(joined(last), flat.iterates[3, 0, -1], rtol=1e-8)


class LargestBias(loa.Functional):
    """A functional that looks into the point."""

    name: str = "largest_bias"

    def init(self, record):
        return jnp.abs(record.iterate["bias"])

    def update(self, carry, record):
        return jnp.maximum(carry, jnp.abs(record.iterate["bias"]))

    def result(self, carry, end):
        return carry


def test_gaps_and_functionals_see_points_in_the_form_of_the_start():
    def bias(problem_class, x, problem):
        return jnp.abs(x["bias"] - problem_class.solution(problem)["bias"]) + 0.0 * problem_class.loss(x, problem)

    setting = dict(criterion=loa.gap_below(1e-2, bias), horizon=80, key=KEY, functionals=[LargestBias()])
    found = loa.evaluate(loa.GradientDescent(0.2), Dictionaries(), PROBLEMS, **setting)
    path = loa.trajectories(loa.GradientDescent(0.2), Dictionaries(), PROBLEMS, horizon=80, key=KEY).iterates["bias"]
    solved = np.abs(path[:, 0] - PROBLEMS[1][:, :1]) < 1e-2
    end = np.argmax(solved, axis=1)
    assert (found.outcome == "solved").all()
    assert_allclose(found["largest_bias"][:, 0], [abs(p[: e + 1]).max() for p, e in zip(path[:, 0], end, strict=True)])


def test_training_and_imitation_make_the_same_steps():
    trained, imitated = [], []
    for problem_class in (Vectors(), Dictionaries()):
        options = dict(**SETTING, batch=4, learning_rate=0.01)
        trained.append(
            train(loa.GradientDescent(0.01), problem_class, **options, steps=8, checks=1, validation=4, pool=8)
        )
        imitated.append(imitate(loa.GradientDescent(0.01), TEACHER, problem_class, **options, steps=4, pool=8))
    assert trained[0].algorithm.step_size > 0.011
    assert_allclose(trained[0].algorithm.step_size, trained[1].algorithm.step_size, rtol=1e-10)
    assert imitated[0].step_size > 0.011
    assert_allclose(imitated[0].step_size, imitated[1].step_size, rtol=1e-10)


@pytest.mark.slow
def test_a_prior_around_an_algorithm_for_dictionaries():
    setting = SETTING | dict(criterion=loa.distance_below(0.5), size=2, chains=2, thinning=2, step_size=1e-4)
    flat, trees = (langevin_support(TEACHER, each, PROBLEMS, **setting) for each in (Vectors(), Dictionaries()))
    assert_allclose(flat.stack.algorithms.step_size, trees.stack.algorithms.step_size, rtol=1e-10)


def test_curvature_and_first_step_are_those_of_vectors():
    given = dict(teacher=TEACHER, key=KEY)
    expected = average_curvature(Vectors(), PROBLEMS, times=[0, 3], **given)
    jump = first_step(Vectors(), Vectors().draw(KEY, 20), steps=5, **given)
    for problem_class in (Dictionaries(), Rows()):
        assert_allclose(
            average_curvature(problem_class, PROBLEMS, times=[0, 3], **given), expected, rtol=1e-8, atol=1e-9
        )
        found = first_step(problem_class, Vectors().draw(KEY, 20), steps=5, **given)
        assert_allclose(found.gain, jump.gain, rtol=1e-6, atol=1e-8)


def test_an_algorithm_on_vectors_flattens_matrices_and_returns_matrices():
    matrix = average_curvature(Vectors(), PROBLEMS, teacher=TEACHER, times=[0], key=KEY)
    learned = LearnedQuasiNewton(DenseCurvature.of(matrix), log_floor=-3.0, log_damping=-3.0, power=1.0)
    flat, rows = (loa.evaluate(learned, each, PROBLEMS, **SETTING) for each in (Vectors(), Rows()))
    assert_array_equal(flat["stopping_time"], rows["stopping_time"])
    assert (rows.outcome == "solved").all()
    path = loa.trajectories(learned, Rows(), PROBLEMS, horizon=2, key=KEY)
    assert path.iterates.shape == (6, 1, 3, 1, 5)


@pytest.mark.slow
def test_an_algorithm_on_vectors_imitates_one_on_matrices():
    pupil = LearnedQuasiNewton(DenseCurvature.of(np.eye(5)), log_floor=0.0, log_damping=0.0, power=1.0)
    taught = imitate(pupil, TEACHER, Rows(), **SETTING, steps=1, batch=2, pool=4)
    assert taught.log_step != pupil.log_step


class Planes(Sparse):
    """Sparse problems with a matrix of one row, whose prox sees no other shape."""

    def loss(self, x, problem):
        return super().loss(x[0], problem)

    def smooth(self, x, problem):
        return super().smooth(x[0], problem)

    def prox(self, x, step_size, problem):
        assert x.shape == (1, 5)
        return shrunk(x, step_size)

    def start(self, problem, key):
        return super().start(problem, key)[None]


def test_second_order_methods_do_the_same_for_dictionaries_and_matrices():
    setting = SETTING | dict(criterion=loa.prox_residual_below(1e-6))
    classes = Sparse(), SparseDictionaries(), Planes()
    found = [loa.evaluate(SemismoothNewton(), each, PROBLEMS, **setting) for each in classes]
    assert (found[0].outcome == "solved").all()
    assert_array_equal(found[0]["stopping_time"], found[1]["stopping_time"])
    assert_array_equal(found[0]["stopping_time"], found[2]["stopping_time"])


def test_residuals_and_a_hessian_of_its_own_get_points_in_the_form_of_the_start():
    class Known(Dictionaries):
        def residuals(self, x, problem):
            return joined(x) - problem[1]

        def hessian(self, x, problem):
            return jnp.diag(problem[0] * jnp.cosh(joined(x) - problem[1]))

    problem = jax.tree.map(lambda leaf: leaf[0], PROBLEMS)
    form, x = form_of_points(Known(), problem), jnp.linspace(-1.0, 1.0, 5)
    known, derived = (VectorPoints(each, form) for each in (Known(), Dictionaries()))
    assert_allclose(known.residuals(x, problem), x - problem[1])
    assert_allclose(known.hessian(x, problem), Vectors().hessian(x, problem), atol=1e-12)
    assert_allclose(derived.hessian(x, problem), Vectors().hessian(x, problem), atol=1e-12)


class Fit(NamedTuple):
    """A problem whose optimal loss is to be computed."""

    target: jax.Array
    optimal_loss: jax.Array | None = None


class Ridge(loa.problems.ComputedOptimum):
    """Strongly convex, with a dictionary as a point; its optimal loss is known to the test alone."""

    def sample(self, key):
        return Fit(jax.random.normal(key, (3,)))

    def loss(self, x, problem):
        return 0.5 * jnp.sum((x["a"] - problem.target) ** 2) + 0.5 * jnp.sum(x["a"] ** 2) + 0.5 * (x["b"] - 1.0) ** 2

    def start(self, problem, key):
        return {"a": jnp.zeros(3), "b": jnp.zeros(())}

    def suboptimality(self, x, problem):
        slope = self.gradient(x, problem)
        return 0.5 * jnp.sum(slope["a"] ** 2) + 0.5 * slope["b"] ** 2


def test_optimal_losses_of_a_class_of_dictionaries(tmp_path, monkeypatch):
    monkeypatch.setenv("LOA_CACHE", str(tmp_path / "cache"))
    problems = loa.with_optimal_losses(Ridge(), Ridge().draw(KEY, 2))
    assert_allclose(problems.optimal_loss, 0.25 * np.sum(problems.target**2, axis=1), atol=1e-12)


@pytest.mark.slow
def test_an_experiment_on_dictionaries_has_a_criterion_and_a_curvature():
    experiment = experiment_for(Dictionaries(), name="dictionaries", horizon=50)
    (threshold,) = experiment.criterion.thresholds()
    assert threshold.tolerance == experiment_for(Vectors(), name="vectors").criterion.thresholds()[0].tolerance
    learned = experiment.recipe.learned["loa"](LearningSetup(experiment, effort=0.02))
    problems = experiment.draw("test", 0, 8)
    setting = dict(criterion=experiment.criterion, horizon=50, key=KEY)
    assert (loa.evaluate(learned, experiment.problem_class, problems, **setting).outcome == "solved").all()


def test_a_fixed_start_may_be_a_dictionary_and_a_list_of_numbers_is_an_array():
    def loss(x, problem):
        return jnp.sum((x["a"] - problem) ** 2) + x["b"] ** 2

    fits = loa.FromFunctions(lambda key: jax.random.normal(key, (2,)), loss, start={"a": jnp.zeros(2), "b": 1.0})
    problems = fits.draw(KEY, 2)
    path = loa.trajectories(loa.GradientDescent(0.5), fits, problems, horizon=1, key=KEY).iterates
    assert_allclose(path["a"][:, 0, 1], problems)
    assert loa.FromFunctions(jax.random.normal, loss, start=[0.0, 1.0]).start_point.shape == (2,)


def test_arrays_of_different_precision_become_those_of_the_highest():
    point = {"a": jnp.zeros(2, jnp.float32), "b": jnp.ones((1, 2), jnp.float64)}
    form = Form.of(point)
    assert form.vector(point).dtype == jnp.float64
    assert {leaf.dtype for leaf in jax.tree.leaves(form.point(form.vector(point)))} == {jnp.dtype(jnp.float64)}
    assert form.vector({"a": point["a"], "b": 0.0}).dtype == jnp.float32


def test_a_prox_gets_a_step_size_for_every_coordinate_in_the_form_of_a_point():
    class Weighted(SparseDictionaries):
        def prox(self, x, step_size, problem):
            return jax.tree.map(shrunk, x, step_size)

    problem = jax.tree.map(lambda leaf: leaf[0], PROBLEMS)
    vectors = VectorPoints(Weighted(), form_of_points(Weighted(), problem))
    x, step_sizes = jnp.linspace(-1.0, 1.0, 5), jnp.arange(5.0)
    assert_allclose(vectors.prox(x, step_sizes, problem), shrunk(x, step_sizes))
    assert vectors.has("prox")
    assert not vectors.has("gradient")
    assert vectors.smoothness(problem) == 30.0
