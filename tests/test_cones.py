"""Second-order cones in programs: projections, solutions against Clarabel, certificates of infeasibility, learning."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa
from loa.deployment import solve_with
from loa.learning import programs as learning
from loa.problems import Program, QuadraticPrograms
from loa.problems.programs.cones import onto_bounds, onto_cone, outside, rows_of

RANDOM = np.random.default_rng(0)
KEY = jax.random.key(1)
ROOT = RANDOM.normal(size=(4, 4))
P, LOADS = ROOT @ ROOT.T + 0.05 * np.eye(4), RANDOM.normal(size=(3, 4))


class Robust(QuadraticPrograms):
    """Robust portfolios: shares ≥ 0 of sum 1, risk 1.2‖Fx‖ ≤ 0.3 + 0.3 mᵀx, and one share in a cone of a single row."""

    cones = (4, 1)

    def sample(self, key):
        return jax.random.normal(key, (4,))

    def program(self, problem):
        A = jnp.concatenate([jnp.ones((1, 4)), jnp.eye(4), 0.3 * problem[None], 1.2 * LOADS, -jnp.eye(4)[:1]])
        lower = jnp.concatenate([jnp.ones(1), jnp.zeros(4), -0.3 * jnp.ones(1), jnp.zeros(3), -0.4 * jnp.ones(1)])
        upper = jnp.concatenate([jnp.ones(1), jnp.full(9, jnp.inf)])
        return Program(P, -problem, A, lower, upper)


def test_the_projection_is_that_of_the_spectral_decomposition():
    """With λ± = t ± ‖v‖ and c± = (1, ± v / ‖v‖) / 2, a vector is λ₊c₊ + λ₋c₋, and negative λ are dropped."""
    for _ in range(200):
        point = RANDOM.normal(size=4) * np.array([2.0, 1.0, 1.0, 1.0])
        length = np.linalg.norm(point[1:])
        parts = [0.5 * np.append(1.0, sign * point[1:] / length) * max(point[0] + sign * length, 0) for sign in (1, -1)]
        np.testing.assert_allclose(onto_cone(jnp.asarray(point)), sum(parts), atol=1e-14)
    assert onto_cone(jnp.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    assert onto_cone(jnp.array([-2.0])).tolist() == [0.0]
    assert np.isfinite(jax.jacobian(onto_cone)(jnp.array([1.0, 0.0, 0.0]))).all()


def test_cones_take_the_last_rows():
    assert rows_of((2, 3), 9) == [slice(4, 6), slice(6, 9)]
    z, lower, upper = jnp.full(9, 5.0), jnp.zeros(9), jnp.append(jnp.ones(4), jnp.full(5, jnp.inf))
    found = onto_bounds(z, lower, upper, (2, 3))
    np.testing.assert_array_equal(found[:6], [1, 1, 1, 1, 5, 5])
    np.testing.assert_allclose(found[6:], onto_cone(z[6:]))
    assert outside(z, ()) == 0
    assert outside(z, (3,)) == pytest.approx(np.linalg.norm(z[6:] - onto_cone(z[6:])))


@pytest.fixture(scope="module")
def problems():
    return Robust().draw(jax.random.key(0), 12)


@pytest.mark.parametrize("algorithm", [loa.ProgramADMM(), loa.PDHG()], ids=["ADMM", "PDHG"])
def test_solutions_and_duals_are_those_of_clarabel(algorithm, problems):
    pytest.importorskip("clarabel")
    found = solve_with("clarabel", Robust(), problems, eps_abs=1e-9, eps_rel=1e-9)
    own = loa.solve(algorithm, Robust(), problems, criterion=loa.residuals_below(1e-8), horizon=20_000, key=KEY)
    np.testing.assert_array_equal(own.outcome, found.outcome)
    solved = own.outcome == "solved"
    assert solved.sum() >= 8
    np.testing.assert_allclose(own.x.x[solved], found.x.x[solved], atol=1e-5)
    np.testing.assert_allclose(own.loss[solved], found.loss[solved], atol=1e-6)
    y = np.asarray(own.x.y)[solved]
    np.testing.assert_allclose(y, found.x.y[solved], atol=1e-3)
    cone = y[:, 5:9]
    assert (np.linalg.norm(cone[:, 1:], axis=1) <= -cone[:, 0] + 1e-7).all(), "multipliers are in the polar cone"
    assert (np.linalg.norm(cone, axis=1) > 1e-2).any(), "the cone matters for some problems"


class Perhaps(QuadraticPrograms):
    """‖(x₁, x₂)‖ ≤ x₃, x₃ ≤ a and x₁ ≥ b with cost c·x₃: without a point if b > a, unbounded if a = ∞ and c < 0."""

    cones = (3,)

    def sample(self, key):
        return {"a": jnp.asarray(1.0), "b": jax.random.uniform(key), "c": jnp.asarray(1.0)}

    def program(self, problem):
        A = np.vstack([np.eye(3)[2:], np.eye(3)[:1], np.eye(3)[[2, 0, 1]]])
        lower = jnp.concatenate([jnp.array([-jnp.inf]), problem["b"][None], jnp.zeros(3)])
        upper = jnp.concatenate([problem["a"][None], jnp.full(4, jnp.inf)])
        return Program(np.zeros((3, 3)), problem["c"] * np.array([0.0, 0.0, 1.0]), A, lower, upper)


@pytest.mark.parametrize("algorithm", [loa.ProgramADMM(), loa.PDHG()], ids=["ADMM", "PDHG"])
def test_problems_without_a_solution_are_outcomes_of_their_own(algorithm):
    problems = {
        "a": jnp.array([1.0, 1.0, jnp.inf, jnp.inf]),
        "b": jnp.array([0.5, 2.0, 1.0, 1.0]),
        "c": jnp.array([1.0, 1.0, -1.0, 1.0]),
    }
    options = {"criterion": loa.residuals_below(1e-5), "horizon": 5000, "key": KEY}
    found = loa.solve(algorithm, Perhaps(), problems, **options)
    assert found.outcome.tolist() == ["solved", "infeasible", "unbounded", "solved"]


def test_learned_penalties_are_common_to_the_rows_of_a_cone_and_help(problems):
    criterion = loa.residuals_below(1e-4)
    first = learning.first_penalties(Robust(), problems, log_penalty=-4.0)
    learned = learning.learn_penalties(first, Robust(), problems, criterion=criterion, steps=15, updates=40, key=KEY)
    own = learned._factorization(Robust().arrays(problems[0]), Robust.cones)
    assert len(np.unique(np.asarray(own.weights[5:9]))) == 1
    new = Robust().draw(jax.random.key(7), 12)
    steps = [
        loa.evaluate(each, Robust(), new, criterion=criterion, horizon=2000, key=KEY)["stopping_time"].mean()
        for each in (first, learned)
    ]
    assert steps[1] < 0.8 * steps[0]


def test_bad_input_gets_one_sentence(problems):
    class TooMany(Robust):
        cones = (12,)

    class Bounded(Robust):
        def program(self, problem):
            given = super().program(problem)
            return given._replace(upper=jnp.where(jnp.isinf(given.upper), 9.0, given.upper))

    with pytest.raises(ValueError, match=r"TooMany.cones must list how many of the 10 rows each cone has, got \(12,\)"):
        TooMany().arrays(problems[0])
    with pytest.raises(ValueError, match="infinite upper ones in the rows 5 to 8, which are a cone"):
        Bounded().check_numbers(problems[0])
    with pytest.raises(ValueError, match="osqp has no second-order cones, which Robust has: use clarabel"):
        solve_with("osqp", Robust(), problems, eps_abs=1e-3, eps_rel=0.0)
