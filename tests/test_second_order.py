"""Second-order oracles, what is computed once per problem, and the algorithms that live on both."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import loa
from loa.problems.per_problem import smoothness_once

KEY = jax.random.key(3)


class Boxes(loa.ProblemClass):
    """Least squares with a matrix of its own for every problem, over non-negative vectors."""

    def sample(self, key):
        first, second = jax.random.split(key)
        return jax.random.normal(first, (9, 5)) + 0.5, jax.random.normal(second, (9,))

    def smooth(self, x, problem):
        matrix, target = problem
        return 0.5 * jnp.sum((matrix @ x - target) ** 2)

    loss = smooth

    def prox(self, x, step_size, problem):
        return jnp.maximum(x, 0.0)

    def smoothness(self, problem):
        return jnp.linalg.eigvalsh(problem[0].T @ problem[0])[-1]

    def start(self, problem, key):
        return jnp.zeros(5)


class Simplices(Boxes):
    """The same over the probability simplex, whose projection does not act on single coordinates."""

    def prox(self, x, step_size, problem):
        descending = jnp.sort(x)[::-1]
        levels = (jnp.cumsum(descending) - 1.0) / jnp.arange(1, 6)
        return jnp.maximum(x - levels[jnp.sum(descending > levels) - 1], 0.0)

    def start(self, problem, key):
        return jnp.full(5, 0.2)


class Curves(loa.ProblemClass):
    """Sums of two exponentials through six points."""

    times = jnp.linspace(0.0, 2.0, 6)

    def sample(self, key):
        return jnp.array([1.0, 0.5, 1.0, 3.0]) + 0.2 * jax.random.normal(key, (4,))

    def curve(self, x):
        return x[0] * jnp.exp(-x[2] * self.times) + x[1] * jnp.exp(-x[3] * self.times)

    def residuals(self, x, problem):
        return self.curve(x) - self.curve(problem)

    def loss(self, x, problem):
        return 0.5 * jnp.sum(self.residuals(x, problem) ** 2)

    def start(self, problem, key):
        return jnp.array([0.8, 0.8, 0.8, 2.0])


def times_of(algorithm, problem_class, problems, criterion, horizon=300):
    return loa.evaluate(algorithm, problem_class, problems, criterion=criterion, horizon=horizon, key=KEY)


def test_products_hessians_and_jacobians_are_right_and_counted():
    curves, x, direction = Curves(), jnp.array([0.7, 0.9, 1.1, 1.9]), jnp.array([1.0, -2.0, 0.5, 3.0])
    problem = curves.sample(KEY)
    oracle = loa.Oracle(curves, problem)
    hessian = jax.hessian(curves.loss)(x, problem)
    np.testing.assert_allclose(oracle.hessian(x), hessian, rtol=1e-12)
    np.testing.assert_allclose(oracle.hessian_product(x, direction), hessian @ direction, rtol=1e-12)
    assert int(oracle.calls.hessian_product) == 4 + 1
    residuals, jacobian = oracle.residuals_and_jacobian(x)
    np.testing.assert_allclose(jacobian.T @ residuals, jax.grad(curves.loss)(x, problem), rtol=1e-10)
    assert (int(oracle.calls.hessian_product), int(oracle.calls.value)) == (9, 1)
    assert int(oracle.calls.gradient) == 0


def test_the_derivative_of_a_projection_onto_the_simplex_is_the_true_one():
    oracle = loa.Oracle(Simplices(), Simplices().sample(KEY))
    point, jacobian = oracle.prox_and_jacobian(jnp.array([0.9, 0.5, -0.3, 0.2, -1.0]), 0.1)
    active = np.asarray(point) > 0
    expected = np.diag(active.astype(float)) - np.outer(active, active) / active.sum()
    np.testing.assert_allclose(jacobian, expected, atol=1e-12)


def test_residuals_that_are_missing_are_asked_for_in_a_sentence():
    with pytest.raises(TypeError, match=r"define `def residuals\(self, x, problem\)`"):
        loa.Oracle(Boxes(), Boxes().sample(KEY)).residuals_and_jacobian(jnp.zeros(5))


class Counting(Boxes):
    """Calls Python whenever a smoothness constant is computed."""

    note: object = eqx.field(static=True, default=None)

    def smoothness(self, problem):
        jax.debug.callback(self.note, problem[0][0, 0])
        return super().smoothness(problem)


def test_smoothness_is_computed_once_per_problem_and_not_once_per_step():
    seen = []
    counting = Counting(lambda number: seen.append(float(number)))
    problems = Boxes().draw(KEY, 6)
    result = times_of(loa.FISTA(), counting, problems, loa.prox_residual_below(1e-9))
    jax.effects_barrier()
    assert result["stopping_time"].sum() > 60
    assert len(seen) <= 2 * 6  # some slots may be begun and not used
    assert {round(each, 12) for each in seen} == {round(float(each), 12) for each in problems[0][:, 0, 0]}


class Unstated(Boxes):
    """The same problems, without a word on their smoothness."""

    def smoothness(self, problem):
        return loa.ProblemClass.smoothness(self, problem)


def test_smoothness_is_estimated_where_a_class_with_a_prox_does_not_state_it():
    """The power method finds the largest eigenvalue of a quadratic from below; the margin is 1.1."""
    problems = Boxes().draw(KEY, 20)
    estimated, exact = jax.vmap(Unstated().smoothness)(problems), jax.vmap(Boxes().smoothness)(problems)
    assert np.all(estimated >= exact)
    assert np.all(estimated <= 1.1 * exact * (1 + 1e-9))
    result = times_of(loa.FISTA(), Unstated(), problems, loa.prox_residual_below(1e-9))
    assert (result.outcome == "solved").all()


def test_a_known_constant_is_used_for_its_own_problem_only():
    boxes, mine, other = Boxes(), Boxes().sample(KEY), Boxes().sample(jax.random.key(4))
    known = smoothness_once(boxes, mine, jnp.asarray(7.0))
    assert float(known.smoothness(mine)) == 7.0
    assert float(known.smoothness(other)) == pytest.approx(float(boxes.smoothness(other)))
    assert smoothness_once(Curves(), mine) == Curves()


@pytest.mark.parametrize(
    "algorithm",
    [
        loa.ADMM(-1.0),
        loa.SemismoothNewton(),
        loa.SemismoothNewton(frozen=True),
        loa.SemismoothNewton(frozen=True, log_step=3.0),
    ],
    ids=["ADMM", "semismooth Newton", "frozen", "long steps"],
)
def test_solutions_agree_with_scipy(algorithm):
    problems = Boxes().draw(KEY, 8)
    assert (times_of(algorithm, Boxes(), problems, loa.prox_residual_below(1e-10)).outcome == "solved").all()
    ends = loa.trajectories(algorithm, Boxes(), problems, horizon=150, key=KEY).iterates[:, 0, -1]
    for matrix, target, end in zip(*problems, ends, strict=True):
        np.testing.assert_allclose(end, scipy.optimize.nnls(np.asarray(matrix), np.asarray(target))[0], atol=1e-8)


class ElasticNets(loa.ProblemClass):
    """Least squares with correlated columns, a small ridge, and the 1-norm."""

    constraint = loa.sets.L1Norm(0.1)

    def sample(self, key):
        left, right, noise = jax.random.split(key, 3)
        matrix = jax.random.normal(left, (30, 3)) @ jax.random.normal(right, (3, 12))
        matrix = matrix + 0.5 * jax.random.normal(noise, (30, 12))
        return matrix, matrix[:, :4].sum(axis=1)

    def smooth(self, x, problem):
        return 0.5 * jnp.mean((problem[0] @ x - problem[1]) ** 2) + 0.005 * jnp.sum(x**2)

    def start(self, problem, key):
        return jnp.zeros(12)


def test_with_long_steps_semismooth_newton_finds_active_constraints_sooner():
    """Whatever β is, a zero of F is a solution, and for a large one the method is that of primal-dual active sets."""
    problems, criterion = ElasticNets().draw(KEY, 20), loa.prox_residual_below(1e-8)
    options = dict(log_damping=-14.0, frozen=True, separable=True)
    short, long = (
        times_of(
            loa.SemismoothNewton(log_step=step, log_progress=progress, **options), ElasticNets(), problems, criterion
        )
        for step, progress in ((0.0, 0.0), (6.0, 5.0))
    )
    assert (long.outcome == "solved").all()
    assert 2 * long["stopping_time"].mean() < short["stopping_time"].mean()


def test_semismooth_newton_reaches_minima_if_the_loss_decides():
    """With fewer rows than columns, residuals are as small far away as near the solutions, where the loss is not."""
    lasso, criterion = loa.problems.Lasso(rows=6, columns=9), loa.prox_residual_below(1e-4)
    problems = lasso.draw(KEY, 20)
    by_loss, by_residual = (
        times_of(loa.SemismoothNewton(descent=each), lasso, problems, criterion) for each in (True, False)
    )
    assert (by_loss.outcome == "solved").all()
    assert (by_residual.outcome == "solved").mean() < 0.5
    setting = dict(criterion=criterion, horizon=500, key=KEY)
    ends = [
        loa.solve(algorithm, lasso, problems, **setting).loss
        for algorithm in (loa.SemismoothNewton(), loa.FISTA(restart=True))
    ]
    np.testing.assert_allclose(*ends, rtol=1e-5)


def test_semismooth_newton_takes_few_steps_where_the_projection_couples_coordinates():
    problems, criterion = Simplices().draw(KEY, 50), loa.prox_residual_below(1e-8)
    newton = times_of(loa.SemismoothNewton(frozen=True), Simplices(), problems, criterion)["stopping_time"]
    fista = times_of(loa.FISTA(), Simplices(), problems, criterion)["stopping_time"]
    assert 3 * newton.mean() < fista.mean() < 300


@pytest.mark.parametrize("algorithm", [loa.Newton(), loa.LevenbergMarquardt()], ids=["Newton", "Levenberg-Marquardt"])
def test_damped_methods_fit_curves(algorithm):
    problems, criterion = Curves().draw(KEY, 20), loa.gradient_norm_below(1e-8)
    result = times_of(algorithm, Curves(), problems, criterion)
    assert (result.outcome == "solved").mean() >= 0.9
    baseline = times_of(loa.GradientDescent(0.1), Curves(), problems, criterion)
    assert np.median(result["stopping_time"]) < 0.2 * np.median(baseline["stopping_time"])


def test_newton_solves_a_quadratic_in_about_one_step():
    class Bowls(loa.ProblemClass):
        def sample(self, key):
            return jnp.exp(jax.random.normal(key, (4,)))

        def loss(self, x, problem):
            return 0.5 * jnp.sum(problem * (x - 1.0) ** 2)

        def start(self, problem, key):
            return jnp.zeros(4)

    problems = Bowls().draw(KEY, 5)
    result = times_of(loa.Newton(log_damping=-30.0), Bowls(), problems, loa.gradient_norm_below(1e-10))
    assert result["stopping_time"].max() == 1


class Rescaled(loa.ProblemClass):
    """A convex function that is not quadratic, in coordinates of very different units."""

    units: jax.Array

    def sample(self, key):
        return 1.0 + jax.random.uniform(key, (3,))

    def loss(self, x, problem):
        y = x / self.units
        return jnp.sum(jnp.cosh(problem * y)) + 0.5 * jnp.sum(y) ** 2

    def start(self, problem, key):
        return jnp.array([1.0, -2.0, 1.5]) * self.units


def test_newton_with_full_scaling_does_not_depend_on_units_and_without_it_does():
    """With q = 1 points are the same in other units; with q = 0, the negative control, they are not."""
    units = jnp.array([1e3, 1.0, 1e-2])

    def in_first_units(units, scaling):
        problems = Rescaled(units).draw(jax.random.key(0), 4)
        newton = loa.Newton(log_damping=0.0, scaling=scaling)
        found = loa.trajectories(newton, Rescaled(units), problems, horizon=6, key=jax.random.key(1))
        return np.asarray(found.iterates) / np.asarray(units)

    for scaling, alike in ((1.0, True), (0.0, False)):
        both = [in_first_units(each, scaling) for each in (jnp.ones(3), units)]
        assert np.allclose(*both, rtol=1e-8, atol=1e-8) == alike
