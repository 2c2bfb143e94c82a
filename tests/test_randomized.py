"""h ~ ρ: a distribution on parameters as one randomized algorithm, random initial states, gaps of the state, Γᵗ."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa
from loa.algorithms.algorithm import initial_state
from loa.algorithms.heavy_ball import Momentum
from loa.problems import RunningExample
from loa.trajectory.walk import Moment, Walk, state_key, trajectory_key

CLASS, KEY = RunningExample(), jax.random.key(7)
SETTING = dict(criterion=loa.gap_below(1e-6), horizon=60, key=KEY)
STEPS = [0.02, 0.1, 0.15]
RHO = np.array([0.2, 0.5, 0.3])


@pytest.fixture(scope="module")
def rho() -> loa.Stack:
    return loa.stack([loa.GradientDescent(step) for step in STEPS], weights=RHO)


@pytest.fixture(scope="module")
def problems() -> jax.Array:
    return CLASS.draw(jax.random.key(1), 400)


@pytest.fixture(scope="module")
def by_candidate(rho, problems) -> np.ndarray:
    return loa.evaluate(rho, CLASS, problems, **SETTING)["stopping_time"][..., 0]


@pytest.fixture(scope="module")
def drawn(rho, problems) -> np.ndarray:
    return loa.evaluate(loa.randomized(rho), CLASS, problems, replicates=3, **SETTING)["stopping_time"]


def test_each_trajectory_is_that_of_one_candidate(by_candidate, drawn):
    same = by_candidate[:, :, None] == drawn[None]
    assert same.any(axis=0).all()


def test_candidates_are_drawn_from_the_weights(rho, problems):
    run = loa.trajectories(rho, CLASS, problems, horizon=1, key=KEY, replicates=3)
    candidates = np.asarray(run.states.candidate)
    assert (candidates[..., 0] == candidates[..., 1]).all()  # the same from the first step to the last
    shares = np.bincount(candidates[..., 0].ravel(), minlength=3) / candidates[..., 0].size
    # six standard deviations of a share among 1200: a false alarm in 10⁸
    assert np.abs(shares - RHO).max() < 6 * np.sqrt(0.25 / 1200)
    assert np.abs(shares - RHO[::-1]).max() > 0.04  # the test can tell weights apart


def test_measures_under_rho_are_those_of_the_mixture(by_candidate, drawn):
    weights = np.repeat(RHO, by_candidate.shape[1]) / by_candidate.shape[1]
    values = by_candidate.ravel().astype(float)
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    exact = float(weights @ values)
    measured = loa.measures.mean(drawn, confidence=1 - 1e-6)
    assert measured.low <= exact <= measured.high
    median = values[order][np.searchsorted(cumulative, 0.5)]
    found = loa.measures.quantile(drawn[:, :1], 0.5, confidence=1 - 1e-6)
    assert found.low <= median <= found.high
    assert float(loa.measures.performance(by_candidate, RHO)) == pytest.approx(exact)


def test_quantile_cvar_and_distribution_under_rho_are_certified(by_candidate, drawn):
    from loa.certificates import CVaR, Distribution, Quantile

    sample, fresh = drawn[:200, 0], drawn[200:, 1]
    threshold = float(np.quantile(drawn[:200, 2], 0.9))
    goals = [
        Quantile("stopping_time", 0.9, cap=60.0),
        CVaR("stopping_time", 0.9, threshold=min(threshold, 59.0), cap=60.0),
        Distribution("stopping_time", cap=60.0),
    ]
    for goal in goals:
        assert not goal.certify(sample, 0.95).verify(fresh).contradicted


def test_solve_draws_what_evaluate_draws(rho, problems):
    few = problems[:50]
    solved = loa.solve(rho, CLASS, few, **SETTING)
    evaluated = loa.evaluate(loa.randomized(rho), CLASS, few, **SETTING)
    assert (solved.outcome == evaluated.outcome[:, 0]).all()
    done = solved.outcome == "solved"
    assert (solved.steps[done] == evaluated["stopping_time"][done, 0]).all()
    assert len(np.unique(solved.steps)) > 1


def test_width_and_order_do_not_matter(rho, problems, drawn):
    again = loa.evaluate(loa.randomized(rho), CLASS, problems, replicates=3, width=7, **SETTING)
    assert (again["stopping_time"] == drawn).all()


def test_one_candidate_is_the_algorithm_itself(problems):
    alone = loa.randomized(loa.stack([loa.HeavyBall(0.1, 0.3)], weights=[1.0]))
    both = [
        loa.evaluate(each, CLASS, problems[:40], **SETTING)["stopping_time"]
        for each in (alone, loa.HeavyBall(0.1, 0.3))
    ]
    assert (both[0] == both[1]).all()


def test_it_is_saved_and_loaded(rho, tmp_path):
    loa.save(tmp_path / "rho.safetensors", loa.randomized(rho))
    loaded = loa.load(tmp_path / "rho.safetensors")
    assert np.allclose(loaded.probabilities, RHO)


def test_without_weights_it_is_refused(rho, problems):
    plain = loa.stack([loa.GradientDescent(step) for step in STEPS])
    for run in (loa.solve, loa.trajectories):
        options = SETTING if run is loa.solve else dict(horizon=2, key=KEY)
        with pytest.raises(ValueError, match="give it weights"):
            run(plain, CLASS, problems, **options)
    with pytest.raises(ValueError, match="needs a key"):
        loa.randomized(rho).init(loa.Oracle(CLASS, 1.0), jnp.zeros(()))


class RandomDirection(loa.Algorithm):
    """A state that is random beyond the start: a velocity drawn when the trajectory begins."""

    scale: jax.Array = eqx.field(converter=jnp.asarray)

    def init(self, oracle, x0, key):
        return x0, self.scale * jax.random.normal(key, x0.shape)

    def step(self, oracle, state, key):
        x, velocity = state
        return x + velocity, velocity

    def iterate(self, state):
        return state[0]


def test_a_random_initial_state_has_its_own_key(problems):
    run = loa.trajectories(RandomDirection(1.0), CLASS, problems, horizon=2, key=KEY, replicates=2)
    velocity = np.asarray(run.states[1])[..., 0]
    assert len(np.unique(velocity)) == velocity.size  # every problem and replicate draws its own
    expected = jax.random.normal(state_key(trajectory_key(KEY, 3, 1)), ())
    assert velocity[3, 1] == pytest.approx(float(expected))
    # seven standard errors of mean and variance of 800 normal numbers
    assert abs(velocity.mean()) < 7 / np.sqrt(800)
    assert abs(velocity.var() - 1) < 7 * np.sqrt(2 / 800)


def test_a_guard_passes_the_key_on():
    guarded = loa.safeguard(RandomDirection(1.0), loa.GradientDescent(0.1))
    oracle = loa.Oracle(CLASS, jnp.asarray(1.0))
    states = [initial_state(guarded, oracle, jnp.zeros(()), jax.random.key(each)) for each in (0, 1)]
    velocities = [float(state.learned[1]) for state in states]
    assert velocities[0] != velocities[1]


@loa.gaps.of_state
def energy(problem_class, state, problem):
    """A gap that no function of the point can be: it sees how far the last step went."""
    return loa.gaps.loss_gap(problem_class, state.x, problem) + (state.x - state.previous) ** 2


def test_gaps_of_the_state(problems):
    algorithm = loa.HeavyBall(0.1, 0.3)
    run = loa.trajectories(algorithm, CLASS, problems[:5], horizon=6, key=KEY)
    x, previous = np.asarray(run.states.x)[:, 0], np.asarray(run.states.previous)[:, 0]
    optimum = np.asarray(jax.vmap(CLASS.optimal_loss)(problems[:5]))[:, None]
    by_hand = np.asarray(run.losses)[:, 0] - optimum + (x - previous) ** 2
    functionals = [loa.ContractionFactor(gap=energy), loa.ConvergenceRate(gap=energy), loa.Gap(4, gap=energy)]
    found = loa.evaluate(
        algorithm, CLASS, problems[:5], criterion=loa.distance_below(0), horizon=6, key=KEY, functionals=functionals
    )
    tolerance = dict(rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found["gap_4"][:, 0], by_hand[:, 4], **tolerance)
    factor = (by_hand[:, 6] / by_hand[:, 0]) ** (1 / 6)
    np.testing.assert_allclose(found["contraction_factor"][:, 0], factor, rtol=1e-2)
    np.testing.assert_allclose(
        found["convergence_rate"][:, 0], (by_hand[:, 1:] / by_hand[:, :-1]).max(axis=1), rtol=1e-3
    )
    along = loa.kernels.evolution(algorithm, CLASS, problems[:5], gap=energy, horizon=6, key=KEY)
    np.testing.assert_allclose(along, by_hand, **tolerance)


def test_a_gap_of_the_state_is_a_training_objective():
    objective = loa.learning.OneStepContraction(energy)
    walk = Walk(loa.HeavyBall(0.1, 0.3), CLASS, jnp.asarray(2.0))
    moments = [Moment.beginning(Momentum(jnp.asarray(place), jnp.asarray(0.0))) for place in (0.1, 0.3)]
    fold = objective.init(walk.record(moments[0]))
    fold = objective.update(fold, walk.record(moments[1]))
    values = [float(energy(CLASS, moment.state, jnp.asarray(2.0))) for moment in moments]
    ratio = values[1] / values[0]
    assert float(fold[1]) == pytest.approx(ratio if ratio <= 1 else 1 + np.log(ratio), rel=1e-5)


def test_criteria_are_about_the_point():
    with pytest.raises(TypeError, match="decided on the point"):
        loa.gap_below(1e-3, energy)


def test_asymptotic_criteria():
    assert repr(loa.gap_below(0)) == "loss_gap = 0"
    exact = loa.evaluate(
        loa.GradientDescent(0.5), CLASS, jnp.array([2.0, 3.0]), criterion=loa.distance_below(0), horizon=9, key=KEY
    )
    assert exact["stopping_time"].ravel().tolist() == [1, 9]  # 1/θ reaches the minimizer; another step only tends to it
    assert exact.outcome.ravel().tolist() == ["solved", "exhausted"]
    for wrong in (-1.0, float("nan"), False):
        with pytest.raises(ValueError, match="must be positive"):
            loa.loss_below(wrong)


def test_powers_of_the_joint_kernel(problems):
    from loa.trajectory.kernels import joint_semigroup, joint_transition

    algorithm, some = RandomDirection(0.3), problems[:6]
    run = loa.trajectories(algorithm, CLASS, some, horizon=3, key=KEY)
    states = jax.tree.map(lambda leaf: leaf[:, 0], run.states)
    first = jax.tree.map(lambda leaf: leaf[:, 0], states)
    for steps in (0, 3):
        found = joint_semigroup(algorithm, CLASS, some, first, steps, KEY)
        expected = jax.tree.map(lambda leaf, steps=steps: leaf[:, steps], states)
        assert all(np.allclose(a, b) for a, b in zip(found, expected, strict=True))
    one = joint_semigroup(algorithm, CLASS, some, first, 1, KEY)
    assert all(
        np.allclose(a, b) for a, b in zip(one, joint_transition(algorithm, CLASS, some, first, KEY), strict=True)
    )


def test_cvar_of_minus_infinity():
    infinity = float("inf")
    values = [-infinity, -infinity, 1.0, 3.0]
    assert float(loa.measures.cvar(values, 0.5)) == 2.0  # the worst half is finite
    assert float(loa.measures.cvar(values, 0.75)) == 3.0
    assert float(loa.measures.cvar(values, 0.25)) == -infinity
    assert float(loa.measures.cvar([*values, infinity], 0.5)) == infinity
    assert float(loa.measures.cvar([-infinity], 0.5)) == -infinity
