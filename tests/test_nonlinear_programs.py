"""Nonlinear programs: the augmented Lagrangian, solutions and multipliers against SciPy, bad input."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import loa
from loa.experiments.families import nonlinear_programs
from loa.experiments.from_file.problem_class import experiment_for
from loa.problems import KKTPoint, NonlinearPrograms, Program, QuadraticPrograms
from loa.problems.programs.nonlinear_programs import Augmented, residual

KEY = jax.random.key(1)
NEWTON = loa.AugmentedLagrangian(loa.Newton())


class Pendulum(NonlinearPrograms):
    """Optimal control of a pendulum over six steps: dynamics are equations, limits of the torque inequalities."""

    def sample(self, key):
        return jnp.array([1.0, 0.0]) + 0.3 * jax.random.normal(key, (2,))

    def objective(self, x, problem):
        return 0.5 * jnp.sum(x["states"] ** 2) + 0.05 * jnp.sum(x["torque"] ** 2)

    def equalities(self, x, problem):
        states = jnp.concatenate([problem[None], x["states"]])
        angle, speed = states[:-1].T
        ahead = jnp.stack([angle + 0.3 * speed, speed + 0.3 * (jnp.sin(angle) + x["torque"])], axis=1)
        return (states[1:] - ahead).ravel()

    def inequalities(self, x, problem):
        return jnp.concatenate([x["torque"] - 2.0, -2.0 - x["torque"]])

    def first(self, problem, key):
        return {"states": jnp.tile(problem, (6, 1)), "torque": jnp.zeros(6)}


class Circles(NonlinearPrograms):
    """The point of a circle that is nearest to a given one."""

    def sample(self, key):
        return jax.random.normal(key, (2,))

    def objective(self, x, problem):
        return jnp.sum((x - problem) ** 2)

    def equalities(self, x, problem):
        return jnp.array([jnp.sum(x**2) - 1.0])

    def first(self, problem, key):
        return jnp.array([1.0, 0.5])


def by_slsqp(problem_class, problem):
    """The smallest objective, by SciPy."""
    form = problem_class.form(problem)
    both = [
        jax.jit(lambda v, which=which: problem_class.constraints(form.point(v), problem)[which]) for which in (0, 1)
    ]
    signed = [jax.jit(lambda v, one=one, sign=sign: sign * one(v)) for one, sign in zip(both, (1.0, -1.0), strict=True)]
    constraints = [
        {"type": kind, "fun": one, "jac": jax.jit(jax.jacobian(one))}
        for kind, one in zip(("eq", "ineq"), signed, strict=True)
    ]
    objective = jax.jit(lambda v: problem_class.objective(form.point(v), problem))
    start, options = form.vector(problem_class.first(problem, KEY)), {"ftol": 1e-13, "maxiter": 300}
    found = scipy.optimize.minimize(
        objective, start, jac=jax.jit(jax.grad(objective)), constraints=constraints, method="SLSQP", options=options
    )
    assert found.success
    return found


def test_the_gradient_is_that_of_the_lagrangian_with_updated_multipliers():
    problem = Pendulum().sample(KEY)
    form = Pendulum().form(problem)
    x, y, w = jnp.sin(jnp.arange(18.0)), jnp.cos(jnp.arange(12.0)), jnp.arange(12.0) % 3
    augmented = Augmented(Pendulum(), form, y, w, jnp.asarray(7.0))
    ahead = augmented.multipliers(*augmented.constraints(x, problem))
    expected = jax.grad(lambda v: Pendulum().loss(KKTPoint(form.point(v), *ahead), problem))(x)
    np.testing.assert_allclose(augmented.gradient(x, problem), expected, rtol=1e-12)
    assert (ahead[1] >= 0).all()
    assert (ahead[1] == 0).any()


def test_each_step_is_one_of_the_inner_method_and_multipliers_follow_the_formula():
    """With gradient descent inside, and an update after every step, in NumPy."""
    problem = jnp.array([0.3, 1.5])
    algorithm = loa.AugmentedLagrangian(loa.GradientDescent(0.05), np.log(0.5), 0.0, -3.0, patience=1)
    found = loa.trajectories(algorithm, Circles(), problem[None], horizon=20, key=KEY).iterates
    x, y = np.array([1.0, 0.5]), 0.0
    rho = 0.5 * max(1.0, np.sum((x - problem) ** 2)) / max(1.0, 0.5 * (x @ x - 1.0) ** 2)
    for step in range(21):
        np.testing.assert_allclose(found.x[0, 0, step], x, rtol=1e-12)
        np.testing.assert_allclose(found.y[0, 0, step], [y], rtol=1e-10, atol=1e-12)
        x = x - 0.05 * (2 * (x - np.asarray(problem)) + 2 * (y + rho * (x @ x - 1.0)) * x)
        y = y + rho * (x @ x - 1.0)


@pytest.mark.parametrize("inner", [loa.Newton(), loa.ConjugateGradient(), loa.LBFGS()], ids=["Newton", "CG", "L-BFGS"])
def test_the_nearest_point_of_a_circle(inner):
    problems = Circles().draw(jax.random.key(0), 10)
    found = loa.solve(
        loa.AugmentedLagrangian(inner), Circles(), problems, criterion=loa.stationary_below(1e-9), horizon=300, key=KEY
    )
    assert (found.outcome == "solved").all()
    length = np.linalg.norm(problems, axis=1)
    np.testing.assert_allclose(found.x.x, np.asarray(problems) / length[:, None], atol=1e-8)
    np.testing.assert_allclose(found.x.y[:, 0], length - 1.0, atol=1e-7)
    np.testing.assert_allclose(found.loss, (length - 1.0) ** 2, atol=1e-8)


def test_solutions_are_those_of_scipy_and_multipliers_satisfy_the_conditions():
    problems = Pendulum().draw(jax.random.key(0), 5)
    found = loa.solve(NEWTON, Pendulum(), problems, criterion=loa.stationary_below(1e-8), horizon=200, key=KEY)
    assert (found.outcome == "solved").all()
    assert (found.x.w > 0.01).any(), "some limits matter"
    for number, problem in enumerate(problems):
        expected = by_slsqp(Pendulum(), problem)
        assert found.loss[number] == pytest.approx(expected.fun, abs=1e-8)
        own = np.concatenate([found.x.x["states"][number].ravel(), found.x.x["torque"][number]])
        np.testing.assert_allclose(own, expected.x, atol=1e-4)
        x = {name: jnp.asarray(part[number]) for name, part in found.x.x.items()}
        slope = jax.grad(Pendulum().objective)(x, problem)
        for method, multipliers in (("equalities", found.x.y), ("inequalities", found.x.w)):
            pull = jax.vjp(lambda v, method=method, problem=problem: getattr(Pendulum(), method)(v, problem), x)[1]
            slope = jax.tree.map(jnp.add, slope, pull(jnp.asarray(multipliers[number]))[0])
        assert max(float(jnp.abs(part).max()) for part in slope.values()) < 1e-7
        assert np.abs(found.x.w[number] * np.asarray(Pendulum().inequalities(x, problem))).max() < 1e-6


def test_calls_are_those_of_the_inner_method_and_one_gradient_more():
    problems = Circles().draw(jax.random.key(0), 4)
    options = {"criterion": loa.stationary_below(1e-9), "horizon": 60, "key": KEY}
    found = loa.solve(NEWTON, Circles(), problems, **options)
    np.testing.assert_array_equal(found.calls.gradient, 3 * found.steps)
    np.testing.assert_array_equal(found.calls.value, found.steps + 1)


def test_of_a_problem_without_a_feasible_point_the_smallest_residual_is_returned():
    class Apart(Circles):
        def equalities(self, x, problem):
            return jnp.array([jnp.sum(x**2) - 1.0, x[0] - 2.0])

    problems = Apart().draw(jax.random.key(0), 2)
    criterion = loa.stationary_below(1e-6)
    found = loa.solve(NEWTON, Apart(), problems, criterion=criterion, horizon=60, key=KEY)
    assert (found.outcome == "exhausted").all()
    walked = loa.trajectories(NEWTON, Apart(), problems, horizon=60, key=KEY).iterates
    for number in range(2):
        along = [
            float(
                residual(Apart(), jax.tree.map(lambda leaf, n=number, t=time: leaf[n, 0, t], walked), problems[number])
            )
            for time in range(60)
        ]
        own = jax.tree.map(lambda leaf, n=number: jnp.asarray(leaf[n]), found.x)
        assert float(residual(Apart(), own, problems[number])) <= min(along) * (1 + 1e-9)


def test_stacks_and_files(tmp_path):
    candidates = [loa.AugmentedLagrangian(loa.Newton(), each) for each in (0.0, 3.0)]
    problems = Circles().draw(jax.random.key(0), 4)
    options = {"criterion": loa.stationary_below(1e-9), "horizon": 60, "key": KEY}
    together = loa.evaluate(loa.stack(candidates), Circles(), problems, **options)["stopping_time"]
    for own, candidate in zip(together, candidates, strict=True):
        np.testing.assert_array_equal(own, loa.evaluate(candidate, Circles(), problems, **options)["stopping_time"])
    loa.save(tmp_path / "own.safetensors", candidates[1])
    assert eqx.tree_equal(loa.load(tmp_path / "own.safetensors"), candidates[1])


def test_a_default_criterion_asks_for_small_slopes_and_small_violations():
    found = nonlinear_programs.relative_criterion(Circles(), 1e-5)
    assert found.tolerance == pytest.approx(2e-5, rel=0.5)
    assert found.gap.feasibility * found.tolerance == pytest.approx(2.5e-6, rel=0.01)
    assert list(nonlinear_programs.classical_methods(Circles()))[-1] == "augmented Lagrangian, Newton"


def test_a_criterion_of_ones_own_is_used_by_experiments_on_programs():
    class Programs(QuadraticPrograms):
        def sample(self, key):
            return jax.random.normal(key, (2,))

        def program(self, problem):
            return Program(np.eye(2), problem, np.eye(2), np.zeros(2), np.ones(2))

    for problem_class, own in ((Programs(), loa.residuals_below(1e-5)), (Circles(), loa.stationary_below(1e-5))):
        found = experiment_for(problem_class, name="own", criterion=own)
        assert repr(found.criterion) == repr(own)
        assert repr(experiment_for(problem_class, name="own").criterion) != repr(own)


def test_bad_input_gets_one_sentence():
    with pytest.raises(TypeError, match="Own must define `objective` and not `loss`"):
        type("Own", (Circles,), {"loss": lambda self, x, problem: 0.0})

    class Flat(Circles):
        def equalities(self, x, problem):
            return jnp.sum(x**2) - 1.0

    class Free(NonlinearPrograms):
        sample, objective, first = Circles.sample, Circles.objective, Circles.first

    problems = Circles().draw(jax.random.key(0), 2)
    options = {"criterion": loa.stationary_below(1e-6), "horizon": 5, "key": KEY}
    with pytest.raises(ValueError, match=r"Flat.equalities must return a vector, got an array of shape \(\)"):
        loa.solve(NEWTON, Flat(), problems, **options)
    with pytest.raises(ValueError, match="Free must define `equalities` or `inequalities`"):
        loa.solve(NEWTON, Free(), problems, **options)
    with pytest.raises(TypeError, match="must be a class of nonlinear programs"):
        loa.solve(NEWTON, loa.problems.Rosenbrock(dimension=2), loa.problems.Rosenbrock(dimension=2).draw(KEY, 2),
                  criterion=loa.loss_below(1e-6), horizon=5, key=KEY)  # fmt: skip
    with pytest.raises(ValueError, match="patience must be a whole number"):
        loa.AugmentedLagrangian(patience=0)
    with pytest.raises(ValueError, match="tolerance"):
        loa.stationary_below(-1.0)
