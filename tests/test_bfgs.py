"""Laws of the BFGS method with a full matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa
from loa.algorithms.bfgs import updated
from loa.architectures import DenseCurvature, LearnedBFGS

FACTOR = jax.random.normal(jax.random.key(1), (4, 4))
HESSIAN = FACTOR @ FACTOR.T + 0.1 * jnp.eye(4)


class Bowls(loa.ProblemClass):
    """Quadratics with one Hessian and different solutions."""

    def sample(self, key):
        return jax.random.normal(key, (4,))

    def loss(self, x, problem):
        return 0.5 * (x - problem) @ HESSIAN @ (x - problem)

    def start(self, problem, key):
        return jnp.zeros(4)


EXACT = (
    loa.BFGS(log_damping=-40.0),
    LearnedBFGS(log_damping=-40.0, curvature=DenseCurvature.of(np.asarray(HESSIAN))),
)


@pytest.mark.parametrize("algorithm", EXACT, ids=["from its Hessian", "learned"])
def test_with_the_right_hessian_one_step_solves_a_quadratic(algorithm):
    problems = Bowls().draw(jax.random.key(0), 3)
    path = loa.trajectories(algorithm, Bowls(), problems, horizon=1, key=jax.random.key(1))
    np.testing.assert_allclose(path.iterates[:, 0, 1], problems, atol=1e-9)


def test_an_update_satisfies_the_secant_equation_and_keeps_the_matrix_symmetric_and_positive():
    step, change = jnp.array([1.0, 2.0, 0.0, -1.0]), jnp.array([0.5, 1.0, 1.0, -1.0])
    after = updated(jnp.linalg.inv(HESSIAN), step, change)
    np.testing.assert_allclose(after @ change, step, atol=1e-12)
    np.testing.assert_allclose(after, after.T, atol=1e-12)
    assert np.linalg.eigvalsh(after)[0] > 0


@pytest.mark.parametrize("change", [[-1.0, 0.0], [0.0, 0.0], [jnp.nan, 1.0], [jnp.inf, 1.0]])
def test_changes_without_positive_curvature_are_left_out(change):
    np.testing.assert_array_equal(updated(jnp.eye(2), jnp.array([1.0, 0.0]), jnp.array(change)), jnp.eye(2))


def test_the_best_loss_never_increases_from_a_start_where_the_hessian_misleads():
    rosenbrock = loa.problems.Rosenbrock(dimension=4)
    problems = rosenbrock.draw(jax.random.key(0), 8)
    path = loa.trajectories(loa.BFGS(), rosenbrock, problems, horizon=200, key=jax.random.key(1))
    best = np.asarray(path.states.loss)[:, 0, 1:]
    assert (np.diff(best) <= 1e-12 * np.abs(best[:, 1:])).all()
    assert np.abs(path.states.gradient[:, 0, -1]).max() < 1e-6  # some of these problems have several minima


def test_steps_beyond_the_domain_of_a_loss_are_taken_back():
    class Logarithms(loa.ProblemClass):
        def sample(self, key):
            return jax.random.uniform(key, (3,), minval=0.5, maxval=2.0)

        def loss(self, x, problem):
            return jnp.sum(problem * x - jnp.log(x))

        def start(self, problem, key):
            return jnp.full(3, 3.0)  # from where Newton's first step leads to negative numbers

    result = loa.evaluate(
        loa.BFGS(), Logarithms(), Logarithms().draw(jax.random.key(0), 5), criterion=loa.gradient_norm_below(1e-8),
        horizon=60, key=jax.random.key(1),
    )  # fmt: skip
    assert (result.outcome == "solved").all()


def test_a_step_takes_one_value_and_one_gradient_and_the_start_a_hessian():
    oracle = loa.Oracle(Bowls(), jnp.ones(4))
    state = loa.BFGS().init(oracle, jnp.zeros(4))
    assert oracle.calls == (0, 0, 0, 0, 4)
    loa.BFGS().step(oracle, state, jax.random.key(0))
    assert oracle.calls == (1, 1, 0, 0, 4)
