"""Sequences of problems: warm starts, what is measured along them, and certificates about them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa

KEY = jax.random.key(0)
FUNCTIONALS = [loa.StoppingTime(), loa.OracleCalls()]


class Tracking(loa.ProblemClass):
    """Follow a target, which moves a little and knows where x has been."""

    drift: float = 0.05

    def sample(self, key):
        return jax.random.normal(key, (3,))

    def loss(self, x, problem):
        return 0.5 * jnp.sum(jnp.array([1.0, 0.5, 0.25]) * (x - problem) ** 2)

    def start(self, problem, key):
        return jnp.zeros(3)

    def next(self, problem, x, key):
        return 0.5 * problem + 0.5 * x + self.drift * jax.random.normal(key, (3,))


SETTING = dict(criterion=loa.gradient_norm_below(1e-4), horizon=100, length=6, key=KEY, functionals=FUNCTIONALS)
DESCENT = loa.GradientDescent(1.0)


@pytest.fixture(scope="module")
def targets():
    return Tracking().draw(jax.random.key(1), 30)


@pytest.fixture(scope="module")
def warm(targets):
    return loa.rollout(DESCENT, Tracking(), targets, **SETTING)


def test_warm_starts_save_steps_but_for_the_first_problem(targets, warm):
    cold = loa.rollout(DESCENT, Tracking(), targets, warm=False, **SETTING)
    times = warm["stopping_time"]
    assert times.shape == warm.outcome.shape == (30, 6)
    assert (warm.outcome == "solved").all()
    np.testing.assert_array_equal(times[:, 0], cold["stopping_time"][:, 0])
    assert times[:, 1:].mean() < 0.8 * cold["stopping_time"][:, 1:].mean()
    np.testing.assert_array_equal(warm["oracle_calls"], times)  # one gradient per step


def test_a_rollout_is_a_loop_of_a_solver(targets, warm):
    """The same sequences by hand, without noise in what follows."""
    still = Tracking(drift=0.0)
    solver = loa.Solver(DESCENT, still, criterion=SETTING["criterion"], horizon=100)
    rolled = loa.rollout(DESCENT, still, targets[:5], **SETTING)["stopping_time"]
    for sequence in range(5):
        problem, start = np.asarray(targets[sequence]), None
        for place in range(6):
            one = solver(problem, start=start)
            assert one.steps == rolled[sequence, place]
            problem, start = 0.5 * problem + 0.5 * one.x, one.x


def test_a_sequence_does_not_depend_on_the_others(targets, warm):
    fewer = loa.rollout(DESCENT, Tracking(), targets[:7], width=2, **SETTING)
    np.testing.assert_array_equal(fewer["stopping_time"], warm["stopping_time"][:7])


def test_a_certificate_is_about_the_mean_along_a_sequence(warm):
    certificate = loa.certify(warm, "stopping_time")
    assert certificate.n == 30
    assert certificate.empirical == pytest.approx(warm["stopping_time"].mean())
    alone = loa.certify(warm["stopping_time"].mean(axis=1), cap=100.0)
    assert certificate.bound == pytest.approx(alone.bound)


def test_a_start_may_be_made_of_the_solution_before(targets, warm):
    same = loa.rollout(DESCENT, Tracking(), targets, warm=lambda x: x + 0.0, **SETTING)
    np.testing.assert_array_equal(same["stopping_time"], warm["stopping_time"])


def test_solve_takes_points_to_start_from(targets):
    setting = dict(criterion=SETTING["criterion"], horizon=100, key=KEY)
    first = loa.solve(DESCENT, Tracking(), targets, **setting)
    assert (loa.solve(DESCENT, Tracking(), targets, start=first.x, **setting).steps == 0).all()
    with pytest.raises(ValueError, match="start must be a stack of 30 points of shape"):
        loa.solve(DESCENT, Tracking(), targets, start=first.x[:29], **setting)


def test_what_is_wrong_with_next_is_said():
    class Shrinking(Tracking):
        def next(self, problem, x, key):
            return problem[:2]

    problems = jnp.ones((2, 3)) * jnp.array([1.0, 2.0])[:, None]
    with pytest.raises(ValueError, match=r"Shrinking.next must return a problem like the one before, float64"):
        loa.rollout(DESCENT, Shrinking(), problems, **SETTING)
    with pytest.raises(TypeError, match="Rosenbrock has no next problem: define `def next"):
        loa.rollout(DESCENT, loa.problems.Rosenbrock(), loa.problems.Rosenbrock().draw(KEY, 2), **SETTING)


def test_problems_met_along_sequences_have_the_mean_of_rollouts(targets, warm):
    setting = dict(criterion=SETTING["criterion"], horizon=100)
    met = loa.along_sequences(Tracking(), loa.LBFGS(), length=6, **setting)
    assert isinstance(met, Tracking)
    assert met.has("next")
    assert not met.has("prox")
    times = loa.evaluate(DESCENT, met, met.draw(KEY, 400), key=KEY, **setting)["stopping_time"]
    of_sequences = warm["stopping_time"].mean(axis=1)
    error = np.hypot(times.std() / 400**0.5, of_sequences.std() / 30**0.5)
    assert abs(times.mean() - of_sequences.mean()) < 4.5 * error  # missed by chance in 7 of a million cases
    cold = loa.along_sequences(Tracking(), loa.LBFGS(), length=6, warm=False, **setting)
    times = loa.evaluate(DESCENT, cold, cold.draw(KEY, 400), key=KEY, **setting)["stopping_time"]
    assert times.mean() > of_sequences.mean() + 4.5 * error  # the control


def test_what_is_met_along_sequences_is_asked_about_its_problem():
    class Moving(loa.problems.Lasso):
        def next(self, problem, x, key):
            return problem._replace(target=0.9 * problem.target)

    setting = dict(criterion=loa.prox_residual_below(1e-4), horizon=300)
    inner = Moving(rows=4, columns=6)
    met = loa.along_sequences(inner, loa.FISTA(restart=True), length=3, warm=lambda x: 0.9 * x, **setting)
    problem, x = met.sample(KEY), jnp.ones(6)
    for method in ("loss", "gradient"):
        np.testing.assert_array_equal(getattr(met, method)(x, problem), getattr(inner, method)(x, problem.problem))
    np.testing.assert_array_equal(met.prox(x, 0.1, problem), inner.prox(x, 0.1, problem.problem))
    assert (loa.solve(loa.FISTA(), met, met.draw(KEY, 3), key=KEY, **setting).outcome == "solved").all()
    with pytest.raises(ValueError, match="Rosenbrock has no sequences: define `def next"):
        loa.along_sequences(loa.problems.Rosenbrock(), loa.LBFGS(), length=3, **setting)
