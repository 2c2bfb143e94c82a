"""A guard leaves a good algorithm alone, bit for bit, and rescues a bad one from its best point."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa
from loa.architectures.safeguarded import PATIENCE, Safeguarded
from loa.learning import guard
from loa.problems.oracle import Oracle
from loa.trajectory.walk import Walk, trajectory_key

QUADRATICS = loa.problems.Quadratics(dimension=6, strong_convexity=(1.0, 2.0), smoothness_range=(4.0, 9.0))
LASSO = loa.problems.Lasso(rows=6, columns=9)
MINI_BATCHES = loa.problems.StochasticNetworkTraining(num_points=10, batch_size=2)
KEY = jax.random.key(3)


class Deranged(loa.Algorithm):
    """Gradient descent that goes wrong in one of several ways from the fifth step on."""

    way: str = eqx.field(static=True)

    def init(self, oracle, x0):
        return x0, jnp.zeros((), jnp.int32)

    def step(self, oracle, state, key):
        x, time = state
        good = x - 0.1 * oracle.gradient(x)
        bad = {"stands still": x, "explodes": 10 * x + 1, "is no number": jnp.nan * x, "overflows": x + 1e200,
               "oscillates": x + 0.1 * (-1.0) ** time}[self.way]  # fmt: skip
        return jnp.where(time < 5, good, bad), time + 1

    def iterate(self, state):
        return state[0]


WAYS = ("stands still", "explodes", "is no number", "overflows", "oscillates")


def steps_and_outcome(algorithm, problem_class, problems, criterion, horizon=150):
    found = loa.evaluate(algorithm, problem_class, problems, criterion=criterion, horizon=horizon, key=KEY,
                         functionals=[loa.StoppingTime(), loa.OracleCalls()])  # fmt: skip
    return found["stopping_time"][:, 0], found.outcome[:, 0], found["oracle_calls"][:, 0]


@pytest.mark.parametrize(
    ("problem_class", "learned", "fallback"),
    [
        (QUADRATICS, loa.HeavyBall(0.1, 0.5), loa.LBFGS()),
        (LASSO, loa.ProximalGradient(), loa.FISTA()),
        (MINI_BATCHES, loa.SGD(1e-4), loa.Adam(1e-3, stochastic=True)),
    ],
    ids=["smooth", "prox", "mini-batches"],
)
def test_iterates_are_untouched_while_there_is_progress(problem_class, learned, fallback):
    problems = problem_class.draw(jax.random.key(0), 4)
    alone, guarded = (
        loa.trajectories(each, problem_class, problems, horizon=20, key=KEY)
        for each in (learned, loa.safeguard(learned, fallback))
    )
    np.testing.assert_array_equal(alone.iterates, guarded.iterates)
    np.testing.assert_array_equal(alone.losses, guarded.losses)


@pytest.mark.parametrize("way", WAYS)
def test_whatever_goes_wrong_the_fallback_solves_the_problem(way):
    problems, criterion = QUADRATICS.draw(jax.random.key(0), 5), loa.gradient_norm_below(1e-6)
    fallback = loa.GradientDescent(0.1)
    _, alone, _ = steps_and_outcome(Deranged(way), QUADRATICS, problems, criterion, 400)
    assert not (alone == "solved").any()  # the control: without a guard it fails
    expected, _, _ = steps_and_outcome(fallback, QUADRATICS, problems, criterion, 400)
    steps, outcome, _ = steps_and_outcome(loa.safeguard(Deranged(way), fallback), QUADRATICS, problems, criterion, 400)
    assert (outcome == "solved").all()
    assert (steps <= expected + PATIENCE + 2).all()


def test_the_fallback_continues_from_the_last_milestone_and_calls_are_counted():
    problem = QUADRATICS.sample(jax.random.key(1))
    learned, fallback = Deranged("is no number"), loa.LBFGS()
    walk, key = Walk(loa.safeguard(learned, fallback), QUADRATICS, problem), trajectory_key(KEY, 0)
    moment = walk.begin(key)
    while bool(moment.state.guard.trusted):
        moment = walk.step(moment, key)
    assert int(moment.time) == 6  # the sixth step is bad, and is replaced
    alone = Walk(fallback, QUADRATICS, problem)
    own = alone.step(alone.begin_at(moment.state.guard.best.x, key), key)
    np.testing.assert_allclose(walk.point(moment.state), alone.point(own.state), rtol=1e-12)
    assert int(moment.calls.gradient) == 6 + int(own.calls.gradient)
    assert int(moment.calls.value) == int(own.calls.value)
    later, own = walk.step(moment, key), alone.step(own, key)
    np.testing.assert_allclose(walk.point(later.state), alone.point(own.state), rtol=1e-12)
    assert int(later.calls.gradient) == 6 + int(own.calls.gradient)  # the learned algorithm is no longer charged


def test_a_proximal_residual_is_counted_every_fourth_step():
    problem, guarded = LASSO.sample(jax.random.key(1)), loa.safeguard(loa.ProximalGradient(), loa.FISTA())
    oracle = Oracle(LASSO, problem)
    state = guarded.init(oracle, LASSO.start(problem, KEY))
    for _ in range(9):
        state = guarded.step(oracle, state, KEY)
    assert (int(oracle.calls.gradient), int(oracle.calls.prox)) == (9, 9 + 3)


@pytest.mark.parametrize("patience", [3, 10])
def test_patience_says_when_the_fallback_takes_over(patience):
    problem = QUADRATICS.sample(jax.random.key(1))
    walk = Walk(loa.safeguard(Deranged("stands still"), loa.LBFGS(), patience=patience), QUADRATICS, problem)
    moment, key = walk.begin(trajectory_key(KEY, 0)), trajectory_key(KEY, 0)
    while bool(moment.state.guard.trusted):
        moment = walk.step(moment, key)
    assert int(moment.time) == 5 + patience + 2  # the last milestone is x⁵; x⁶ is its first repetition


def test_progress_that_is_too_slow_does_not_count():
    """A tiny step size reaches milestones all the time, but does not halve anything in 50 steps."""
    problems, criterion = QUADRATICS.draw(jax.random.key(0), 5), loa.gradient_norm_below(1e-6)
    slow, fallback = loa.GradientDescent(5e-4), loa.GradientDescent(0.1)
    assert not (steps_and_outcome(slow, QUADRATICS, problems, criterion, 400)[1] == "solved").any()
    expected, _, _ = steps_and_outcome(fallback, QUADRATICS, problems, criterion, 400)
    steps, outcome, _ = steps_and_outcome(loa.safeguard(slow, fallback), QUADRATICS, problems, criterion, 400)
    assert (outcome == "solved").all()
    assert (steps <= expected + 2 * 3 * PATIENCE + 1).all()


FITTED = dict(criterion=loa.gradient_norm_below(1e-6), horizon=400, key=KEY)


@pytest.mark.parametrize("way", WAYS)
def test_with_deadlines_chosen_for_the_class_all_takes_a_tenth_longer_than_the_fallback(way):
    fallback, samples = loa.GradientDescent(0.1), QUADRATICS.draw(jax.random.key(8), 30)
    guarded = guard(Deranged(way), fallback, QUADRATICS, samples, **FITTED)
    problems = QUADRATICS.draw(jax.random.key(0), 30)
    expected, _, _ = steps_and_outcome(fallback, QUADRATICS, problems, FITTED["criterion"], 400)
    steps, outcome, _ = steps_and_outcome(guarded, QUADRATICS, problems, FITTED["criterion"], 400)
    assert (outcome == "solved").all()
    assert (steps <= 1.1 * expected + 1).mean() >= 0.9
    late = loa.safeguard(Deranged(way), fallback, patience=200, deadlines=())
    late, _, _ = steps_and_outcome(late, QUADRATICS, problems, FITTED["criterion"], 400)
    if way in ("stands still", "oscillates"):
        assert (late > 1.1 * expected + 1).all()  # the control


def test_a_guard_for_a_class_lets_a_good_algorithm_work():
    learned, fallback, samples = loa.ConjugateGradient(), loa.GradientDescent(0.1), QUADRATICS.draw(KEY, 200)
    guarded = guard(learned, fallback, QUADRATICS, samples, **FITTED)
    assert guarded.patience < PATIENCE
    assert list(guarded.deadlines) == sorted(guarded.deadlines)
    problems = QUADRATICS.draw(jax.random.key(0), 200)
    alone, with_guard = (
        steps_and_outcome(each, QUADRATICS, problems, FITTED["criterion"])[0] for each in (learned, guarded)
    )
    assert (alone == with_guard).mean() > 0.95
    assert guard(fallback, fallback, QUADRATICS, samples, **FITTED) is fallback


def test_a_proximal_problem_and_mini_batches_are_rescued():
    problems, criterion = LASSO.draw(jax.random.key(0), 4), loa.prox_residual_below(1e-3)
    wild = loa.safeguard(loa.ProximalGradient(100.0), loa.FISTA())
    assert (steps_and_outcome(wild, LASSO, problems, criterion, 400)[1] == "solved").all()
    problems = MINI_BATCHES.draw(jax.random.key(0), 3)
    wild, calm = loa.SGD(10.0), loa.SGD(1e-5)
    losses = {
        name: loa.trajectories(each, MINI_BATCHES, problems, horizon=100, key=KEY).losses[..., -1]
        for name, each in {"alone": wild, "guarded": loa.safeguard(wild, calm)}.items()
    }
    start = loa.trajectories(calm, MINI_BATCHES, problems, horizon=1, key=KEY).losses[..., 0]
    assert not np.isfinite(losses["alone"]).any()
    assert (losses["guarded"] < start).all()


def test_a_fallback_that_fails_too_is_an_outcome():
    problems, criterion = QUADRATICS.draw(jax.random.key(0), 3), loa.gradient_norm_below(1e-9)
    guarded = loa.safeguard(Deranged("explodes"), Deranged("is no number"))
    assert set(steps_and_outcome(guarded, QUADRATICS, problems, criterion)[1]) == {"diverged"}
    guarded = loa.safeguard(Deranged("explodes"), Deranged("stands still"))
    assert set(steps_and_outcome(guarded, QUADRATICS, problems, criterion)[1]) == {"exhausted"}


def test_it_is_saved_stacked_and_trivial_for_itself(tmp_path):
    learned, fallback = loa.HeavyBall(0.1, 0.5), loa.FISTA()
    guarded = loa.safeguard(learned, fallback, patience=7)
    loa.save(tmp_path / "guarded.safetensors", guarded)
    assert eqx.tree_equal(loa.load(tmp_path / "guarded.safetensors"), guarded)
    stacked = loa.safeguard(loa.stack([learned, loa.HeavyBall(0.2, 0.5)], [0.25, 0.75]), fallback)
    assert isinstance(stacked[1], Safeguarded)
    assert list(stacked.weights) == [0.25, 0.75]
    assert eqx.tree_equal(stacked[0].learned, learned)
    assert loa.safeguard(learned, loa.HeavyBall(0.1, 0.5)) is learned


def test_bad_arguments_get_one_sentence():
    with pytest.raises(TypeError, match="learned must be"):
        loa.safeguard(3, loa.LBFGS())
    with pytest.raises(TypeError, match="fallback must be one"):
        loa.safeguard(loa.LBFGS(), loa.stack([loa.SGD(0.1)]))
    with pytest.raises(ValueError, match="patience must be a whole number and at least 1"):
        loa.safeguard(loa.SGD(0.1), loa.LBFGS(), patience=0)
    with pytest.raises(ValueError, match="deadlines must be ascending"):
        loa.safeguard(loa.SGD(0.1), loa.LBFGS(), deadlines=(5, 3))
    images = loa.problems.ImageRestoration(size=(6, 5))
    guarded = loa.safeguard(loa.GradientDescent(0.1), loa.SemismoothNewton())
    with pytest.raises((TypeError, ValueError), match="works on vectors and cannot take over"):
        loa.trajectories(guarded, images, images.draw(KEY, 1), horizon=1, key=KEY)
