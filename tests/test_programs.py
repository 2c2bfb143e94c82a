"""Quadratic programs: solutions against other solvers, certificates of infeasibility, learning, bad input."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa
from loa.deployment import solve_with
from loa.learning import programs as learning
from loa.problems import Program, QuadraticPrograms
from loa.problems.programs.quadratic_programs import Residual
from loa.trajectory.kernels import iterates_after

RANDOM = np.random.default_rng(0)
ROOT = RANDOM.normal(size=(4, 4))
P, A = ROOT @ ROOT.T + 0.1 * np.eye(4), RANDOM.normal(size=(6, 4))
KEY = jax.random.key(1)


class Programs(QuadraticPrograms):
    """One equation, three intervals, two rows with one infinite bound; some bounds are active at most solutions."""

    def sample(self, key):
        return jax.random.normal(key, (4,))

    def program(self, problem):
        shift = A @ jnp.tanh(problem)
        lower = shift - jnp.array([0.0, 0.1, 0.1, 0.1, jnp.inf, 0.2])
        upper = shift + jnp.array([0.0, 0.1, 0.1, 0.1, 0.2, jnp.inf])
        return Program(P, 3.0 * problem, A, lower, upper)


PROBLEMS = Programs().draw(jax.random.key(0), 12)
FINE = loa.residuals_below(1e-8)


@pytest.fixture(scope="module")
def solutions():
    return loa.solve(loa.ProgramADMM(), Programs(), PROBLEMS, criterion=FINE, horizon=2000, key=KEY)


def test_solutions_satisfy_the_optimality_conditions_with_their_duals(solutions):
    assert (solutions.outcome == "solved").all()
    for n in range(12):
        _, q, _, lower, upper = (np.asarray(part) for part in Programs().program(PROBLEMS[n]))
        x, z, y = (np.asarray(part[n]) for part in solutions.x)
        np.testing.assert_allclose(P @ x + q + A.T @ y, 0.0, atol=1e-7)
        np.testing.assert_allclose(A @ x, z, atol=1e-7)
        assert ((lower - 1e-12 <= z) & (z <= upper + 1e-12)).all()
        for row in np.flatnonzero(np.abs(y) > 1e-9):
            assert z[row] == pytest.approx(upper[row] if y[row] > 0 else lower[row], abs=1e-12)
    assert np.abs(np.asarray(solutions.x.y)).max() > 0.1, "some bounds are active"


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("name", ["osqp", "clarabel", "piqp"])
def test_solutions_agree_with_those_of_other_solvers(name, solutions):
    pytest.importorskip(name)
    found = solve_with(name, Programs(), PROBLEMS, eps_abs=1e-9, eps_rel=0.0)
    assert (found.outcome == "solved").all()
    np.testing.assert_allclose(solutions.x.x, found.x.x, atol=1e-5)
    np.testing.assert_allclose(solutions.x.y, found.x.y, atol=1e-3)
    np.testing.assert_allclose(solutions.loss, found.loss, atol=1e-5)


def test_a_solver_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="must be one of osqp, clarabel, piqp, got 'gurobi'"):
        solve_with("gurobi", Programs(), PROBLEMS, eps_abs=1e-3, eps_rel=0.0)


def test_the_residual_is_that_of_osqp():
    """Both residuals over their tolerances, by the formulas of the paper, at an arbitrary point with y normal at z."""
    program = Programs().program(PROBLEMS[0])
    _, q, _, lower, upper = (np.asarray(part) for part in program)
    x, ahead = RANDOM.normal(size=4), 2.0 * RANDOM.normal(size=6)
    z = np.clip(ahead, lower, upper)
    y = ahead - z
    size = lambda vector: np.abs(vector).max()  # noqa: E731
    primal = size(A @ x - z) / (1e-3 + 1e-2 * max(size(A @ x), size(z)))
    dual = size(P @ x + q + A.T @ y) / (1e-3 + 1e-2 * max(size(P @ x), size(A.T @ y), size(q)))
    point = loa.problems.PrimalDual(*map(jnp.asarray, (x, z, y)))
    assert Residual(1e-3, 1e-2)(Programs(), point, PROBLEMS[0]) == pytest.approx(max(primal, dual), rel=1e-9)
    wrong = point._replace(x=jnp.zeros(4), z=jnp.asarray(np.clip(0.0, lower, upper)), y=jnp.ones(6))
    assert Residual()(Programs(), wrong, PROBLEMS[0]) > 0.05
    aside = float(np.abs(wrong.z - np.clip(wrong.z + 1.0, lower, upper)).max())
    assert Residual()(Programs(), wrong, PROBLEMS[0]) >= aside > 0.05, "multipliers of inactive bounds count"


def test_loss_and_gradient_are_those_of_the_lagrangian():
    point = loa.problems.PrimalDual(*(jnp.asarray(RANDOM.normal(size=size)) for size in (4, 6, 6)))
    gradient = Programs().gradient(point, PROBLEMS[0])
    automatic = jax.grad(Programs().loss)(point, PROBLEMS[0])
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, atol=1e-12), gradient, automatic)


def test_what_admm_knows_is_what_the_class_would_say():
    walks = loa.trajectories(loa.ProgramADMM(interval=3), Programs(), PROBLEMS[:2], horizon=7, key=KEY)
    state = jax.tree.map(lambda leaf: leaf[1, 0, 7], walks.states)
    loss, gradient = loa.ProgramADMM().known(state)
    point = jax.tree.map(lambda leaf: leaf[1, 0, 7], walks.iterates)
    value, slope = Programs().value_and_gradient(point, PROBLEMS[1])
    np.testing.assert_allclose(loss, value, rtol=1e-9)
    np.testing.assert_allclose(gradient, jnp.concatenate(slope), atol=1e-9)


def test_a_step_of_admm_with_fixed_penalties_is_its_formula():
    weights = np.exp(RANDOM.normal(size=6))
    algorithm = loa.ProgramADMM(log_weights=np.log(weights), relaxation=1.5, interval=0)
    found = loa.trajectories(algorithm, Programs(), PROBLEMS[:1], horizon=3, key=KEY).iterates
    _, q, _, lower, upper = (np.asarray(part) for part in Programs().program(PROBLEMS[0]))
    x, z, y, sigma = np.zeros(4), np.clip(np.zeros(6), lower, upper), np.zeros(6), 1e-6 * np.diagonal(P).mean()
    for t in range(1, 4):
        ahead = np.linalg.solve(
            P + sigma * np.eye(4) + A.T @ np.diag(weights) @ A, sigma * x - q + A.T @ (weights * z - y)
        )
        mixed = 1.5 * A @ ahead - 0.5 * z
        x, new = 1.5 * ahead - 0.5 * x, np.clip(mixed + y / weights, lower, upper)
        y, z = y + weights * (mixed - new), new
        for one, other in zip((x, z, y), found, strict=True):
            np.testing.assert_allclose(other[0, 0, t], one, atol=1e-10)


def test_pdhg_finds_the_same_solutions(solutions):
    found = loa.solve(
        loa.PDHG(), Programs(), PROBLEMS[:3], criterion=loa.residuals_below(1e-7), horizon=20_000, key=KEY
    )
    assert (found.outcome == "solved").all()
    np.testing.assert_allclose(found.x.x, solutions.x.x[:3], atol=1e-4)


class Perhaps(QuadraticPrograms):
    """x₁ + x₂ ≤ a and x ≥ 0 with cost q: without a point if a < 0, unbounded if a is infinite and q negative."""

    def sample(self, key):
        return {"a": jnp.asarray(1.0), "q": jax.random.normal(key)}

    def program(self, problem):
        rows = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
        upper = jnp.stack([problem["a"], jnp.asarray(jnp.inf), jnp.asarray(jnp.inf)])
        return Program(np.zeros((2, 2)), problem["q"] * jnp.ones(2), rows, jnp.array([-jnp.inf, 0.0, 0.0]), upper)


@pytest.mark.parametrize("algorithm", [loa.ProgramADMM(), loa.PDHG()], ids=["ADMM", "PDHG"])
def test_problems_without_a_solution_are_outcomes_of_their_own(algorithm):
    problems = {"a": jnp.array([1.0, -1.0, jnp.inf, jnp.inf]), "q": jnp.array([-1.0, 1.0, -1.0, 1.0])}
    options = {"criterion": loa.residuals_below(1e-5), "horizon": 3000, "key": KEY}
    performance = loa.evaluate(algorithm, Perhaps(), problems, **options)
    assert performance.outcome[:, 0].tolist() == ["solved", "infeasible", "unbounded", "solved"]
    assert "25.0% infeasible, 25.0% unbounded" in repr(performance)
    assert performance["stopping_time"][1:3, 0].tolist() == [3000, 3000]
    found = loa.solve(algorithm, Perhaps(), problems, **options)
    assert found.outcome.tolist() == performance.outcome[:, 0].tolist()
    assert (found.steps[1:3] < 3000).all()


@pytest.fixture(scope="module")
def trained():
    first = learning.first_penalties(Programs(), PROBLEMS, log_penalty=-4.0)
    options = {"criterion": FINE, "steps": 15, "updates": 60, "key": KEY}
    return first, learning.learn_penalties(first, Programs(), PROBLEMS, **options)


def times(algorithm):
    problems = Programs().draw(jax.random.key(7), 12)
    performance = loa.evaluate(algorithm, Programs(), problems, criterion=FINE, horizon=2000, key=KEY)
    assert (performance.outcome == "solved").all()
    return performance["stopping_time"]


def test_learned_penalties_need_fewer_steps_on_new_problems(trained):
    first, learned = trained
    assert times(learned).mean() < 0.7 * times(first).mean()


def test_penalties_that_are_wrong_for_a_problem_adapt():
    """Late adaptation changes nothing before; in time, it solves what penalties that are wrong by orders do not."""
    options = {"criterion": FINE, "horizon": 300, "key": KEY}
    wrong = learning.first_penalties(Programs(), PROBLEMS, log_penalty=8.0)
    fixed, late, adapting = (
        loa.evaluate(dataclasses.replace(wrong, interval=each), Programs(), PROBLEMS, **options)
        for each in (0, 299, 25)
    )
    assert (fixed.outcome == "exhausted").mean() > 0.5
    np.testing.assert_array_equal(late["stopping_time"], fixed["stopping_time"])
    assert (adapting.outcome == "solved").all()


def test_a_factorization_for_the_class_changes_nothing(trained):
    folded = learning.folded(trained[1], Programs(), PROBLEMS[0])
    assert folded.factored is not None
    np.testing.assert_array_equal(times(folded), times(trained[1]))


def test_what_was_learned_can_be_saved_and_loaded(trained, solutions, tmp_path):
    start = learning.learn_warm_start(Programs(), PROBLEMS, solutions.x, hidden=2, key=KEY)
    warm = eqx.tree_at(lambda each: each.warm_start, trained[1], start, is_leaf=lambda leaf: leaf is None)
    adapting = dataclasses.replace(trained[1], interval=30)
    for number, algorithm in enumerate(
        (warm, *(learning.folded(each, Programs(), PROBLEMS[0]) for each in (warm, adapting)))
    ):
        loa.save(tmp_path / f"{number}.safetensors", algorithm)
        assert eqx.tree_equal(loa.load(tmp_path / f"{number}.safetensors"), algorithm)


def test_a_class_whose_matrices_differ_has_no_common_factorization():
    class Own(Programs):
        def program(self, problem):
            return super().program(problem)._replace(P=P + jnp.sum(problem**2) * jnp.eye(4))

    assert learning.shares_matrices(Programs(), PROBLEMS[0])
    assert not learning.shares_matrices(Own(), PROBLEMS[0])
    first = learning.first_penalties(Own(), PROBLEMS)
    assert learning.folded(first, Own(), PROBLEMS[0]) is first


def test_a_warm_start_is_learned_from_solved_problems_only(solutions):
    """Of equality-constrained programs, the solution is linear in q and b, so the guess is nearly exact."""

    class Equations(Programs):
        def program(self, problem):
            right = A[:2] @ jnp.tanh(problem)
            return Program(P, 3.0 * problem, A[:2], right, right)

    problems = Equations().draw(jax.random.key(3), 80)
    points = iterates_after(loa.ProgramADMM(), Equations(), problems, steps=300, key=KEY)
    broken = jax.tree.map(lambda leaf: leaf.at[0].set(1e6), points)
    start = learning.learn_warm_start(Equations(), problems, broken, hidden=4, key=KEY)
    new = Equations().draw(jax.random.key(4), 10)
    options = {"criterion": loa.residuals_below(1e-3), "horizon": 500, "key": KEY}
    cold = loa.evaluate(loa.ProgramADMM(), Equations(), new, **options)["stopping_time"]
    warm = eqx.tree_at(lambda each: each.warm_start, loa.ProgramADMM(), start, is_leaf=lambda leaf: leaf is None)
    assert loa.evaluate(warm, Equations(), new, **options)["stopping_time"].mean() < 0.5 * cold.mean()
    with pytest.raises(ValueError, match="but only 0 of these are solved"):
        learning.learn_warm_start(Programs(), PROBLEMS, jax.tree.map(jnp.zeros_like, solutions.x), key=KEY)


def returning(**changes):
    class Changed(Programs):
        def program(self, problem):
            given = super().program(problem)
            return given._replace(**changes) if changes else tuple(given)[:4]

    return Changed()


BAD = {
    "four arrays": ({}, r"Changed.program must return five arrays"),
    "rows": (
        {"lower": np.zeros(5)},
        r"returns an A with 6 rows, but lower and upper bounds of shapes \(5,\) and \(6,\)",
    ),
    "columns": (
        {"A": np.ones((6, 3))},
        r"P of shape \(n, n\), q \(n,\) and A \(m, n\), got \(4, 4\), \(4,\), \(6, 3\)",
    ),
    "bounds": ({"lower": np.full(6, 9.0)}, r"bounds with lower > upper: 9 > .* in row 0"),
    "asymmetric": ({"P": np.triu(np.ones((4, 4)))}, r"must return a symmetric P"),
    "concave": ({"P": -np.eye(4)}, r"must return a P without negative eigenvalues"),
    "NaN": ({"q": np.full(4, np.nan)}, r"returns q with NaN in it"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_sentence(case):
    changes, sentence = BAD[case]
    with pytest.raises(ValueError, match=sentence):
        returning(**changes).check_numbers(PROBLEMS[0])


def test_bounds_that_no_number_is_between_solve_nothing_and_are_named():
    crossed, options = returning(lower=np.ones(6), upper=-np.ones(6)), {"criterion": FINE, "horizon": 50, "key": KEY}
    with pytest.warns(UserWarning, match=r"12 problems diverged, first problem 0: .* lower > upper: 1 > -1 in row 0"):
        performance = loa.evaluate(loa.ProgramADMM(), crossed, PROBLEMS, **options)
    assert (performance.outcome == "diverged").all()
    with pytest.warns(UserWarning, match="12 problems diverged"):
        loa.solve(loa.ProgramADMM(), crossed, PROBLEMS, **options)


@pytest.mark.wrong_types
def test_other_bad_input_gets_one_sentence():
    with pytest.raises(ValueError, match="eps_rel must be non-negative and finite"):
        loa.residuals_below(1e-3, -1.0)
    lasso = loa.problems.Lasso(rows=2, columns=3)
    with pytest.raises(TypeError, match=r"must be a class of quadratic programs, derived from loa.problems.Quadratic"):
        loa.trajectories(loa.ProgramADMM(), lasso, lasso.draw(KEY, 1), horizon=1, key=KEY)
