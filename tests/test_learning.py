"""Learning: objectives, imitation, training that can be killed, prior and posterior."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from classes import Bowls

import loa
from loa.certificates import choose_lambda
from loa.learning import (
    Imitation,
    OneStepContraction,
    OverSegments,
    lambda_on,
    langevin_support,
    mode,
    posterior_on,
    prior_on,
)
from loa.learning.checks import Check, History
from loa.learning.langevin import _dynamics, _Noise
from loa.learning.learner import Tally
from loa.learning.objective import Slot
from loa.learning.training import _went_astray

KEY = jax.random.key(0)
BOWLS = Bowls()
CRITERION = loa.loss_below(1e-6)
SETTING = dict(criterion=CRITERION, horizon=300)


class Descent(loa.Algorithm):
    """Gradient descent whose step size is learned on a logarithmic scale, with momentum."""

    log_step: jax.Array = eqx.field(converter=jnp.asarray)
    momentum: jax.Array = eqx.field(converter=jnp.asarray, default=0.0)

    def init(self, oracle, x0):
        return x0, x0

    def step(self, oracle, state, key):
        x, before = state
        return x - jnp.exp(self.log_step) * oracle.gradient(x) + self.momentum * (x - before), x

    def iterate(self, state):
        return state[0]


START = Descent(np.log(0.1))


def slot_at(x, problem):
    x = jnp.asarray(x)
    return Slot(jnp.asarray(problem), (x, x), jnp.zeros((), jnp.int32))


def test_one_step_contraction_is_the_ratio_of_losses():
    problem, x = np.array([0.1, 0.2, 0.5, 1.0]), np.array([1.0, -2.0, 0.5, 3.0])
    segment = OverSegments(OneStepContraction())(START, BOWLS, CRITERION, slot_at(x, problem), KEY)
    after = x - 0.1 * problem * x
    np.testing.assert_allclose(segment.value, np.sum(problem * after**2) / np.sum(problem * x**2), rtol=1e-6)
    assert segment.counts


def test_several_steps_give_the_mean_and_its_logarithm():
    problem, x = np.array([0.1, 0.2, 0.5, 1.0]), np.array([1.0, -2.0, 0.5, 3.0])
    losses = [np.sum(problem * ((1 - 0.1 * problem) ** t * x) ** 2) for t in range(4)]
    ratios = np.divide(losses[1:], losses[:-1])
    for logarithmic, expected in ((False, ratios.mean()), (True, np.log(ratios).mean())):
        objective = OverSegments(OneStepContraction(logarithmic=logarithmic), length=3)
        value = objective(START, BOWLS, CRITERION, slot_at(x, problem), KEY).value
        np.testing.assert_allclose(value, expected, rtol=1e-5)


def test_a_step_that_diverges_counts_by_its_logarithm():
    wild, slot = Descent(np.log(1e3)), slot_at(np.ones(4), np.ones(4))
    values = [
        float(OverSegments(OneStepContraction(tempered=tempered))(wild, BOWLS, CRITERION, slot, KEY).value)
        for tempered in (True, False)
    ]
    np.testing.assert_allclose(values, [1 + np.log(999.0**2), 999.0**2], rtol=1e-6)


def test_steps_from_solved_points_do_not_count():
    solved = slot_at(np.full(4, 1e-5), np.ones(4))
    assert not OverSegments(OneStepContraction())(START, BOWLS, CRITERION, solved, KEY).counts
    # from 2e-3, two steps of size 0.9 reach a loss below 1e-6; the third is not counted
    objective = OverSegments(OneStepContraction(), length=3)
    value = objective(Descent(np.log(0.9)), BOWLS, CRITERION, slot_at(np.full(4, 2e-3), np.ones(4)), KEY).value
    np.testing.assert_allclose(value, 0.01, rtol=1e-4)


def test_the_objective_is_differentiated_through_all_steps():
    slot = slot_at([1.0, -2.0, 0.5, 3.0], [0.1, 0.2, 0.5, 1.0])
    objective = OverSegments(OneStepContraction(), length=4)

    def value(log_step):
        return objective(Descent(log_step, 0.5), BOWLS, CRITERION, slot, KEY).value

    difference = (value(np.log(0.1) + 1e-2) - value(np.log(0.1) - 1e-2)) / 2e-2
    np.testing.assert_allclose(jax.grad(value)(np.log(0.1)), difference, rtol=1e-2)


def test_imitation_of_the_same_algorithm_costs_nothing():
    slot = slot_at([1.0, -2.0, 0.5, 3.0], [0.1, 0.2, 0.5, 1.0])
    teacher = loa.GradientDescent(0.1)
    assert float(Imitation(teacher)(START, BOWLS, CRITERION, slot, KEY).value) < 1e-10
    assert float(Imitation(teacher)(Descent(np.log(0.2)), BOWLS, CRITERION, slot, KEY).value) > 0.1


class Plain(loa.Algorithm):
    log_step: jax.Array = eqx.field(converter=jnp.asarray)

    def init(self, oracle, x0):
        return x0

    def step(self, oracle, state, key):
        return state - jnp.exp(self.log_step) * oracle.gradient(state)


def test_imitation_finds_the_step_size_of_its_teacher():
    glances = []
    options = dict(key=KEY, steps=400, learning_rate=1e-2, length=2, progress=glances.append, **SETTING)
    taught = loa.imitate(Plain(np.log(0.1)), loa.GradientDescent(0.3), BOWLS, **options)
    assert abs(float(jnp.exp(taught.log_step)) - 0.3) < 0.01
    assert [glance.step for glance in glances] == list(range(40, 401, 40))
    assert glances[-1].distance < 1e-2 * glances[0].distance


def test_imitation_prints_how_far_it_is_from_its_teacher(capsys):
    loa.imitate(Plain(np.log(0.1)), loa.GradientDescent(0.3), BOWLS, key=KEY, steps=14, progress=True, **SETTING)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7
    assert re.match(r"imitation: step +2  squared distance to the teacher \d\.\d{4}  \d+ (s|min) left", lines[0])


OPTIONS = dict(key=KEY, steps=400, checks=4, learning_rate=3e-2, validation=64, batch=16, pool=64) | SETTING


def run(progress=False, **changes):
    return loa.train(START, BOWLS, progress=progress, **(OPTIONS | changes))


@pytest.fixture(scope="module")
def trained():
    return run()


def stopping_time(algorithm):
    problems = BOWLS.draw(jax.random.key(7), 200)
    return loa.evaluate(algorithm, BOWLS, problems, key=KEY, **SETTING)["stopping_time"].mean()


def test_training_makes_unseen_problems_faster(trained):
    assert stopping_time(trained.algorithm) < 0.5 * stopping_time(START)


def test_training_returns_the_best_point_it_had(trained):
    good = [check.mean for check in trained.history if check.holds >= 0.95]
    assert trained.best.mean == min(good)


def test_training_is_deterministic_and_depends_on_the_key(trained):
    assert eqx.tree_equal(run().algorithm, trained.algorithm)
    assert not eqx.tree_equal(run(key=jax.random.key(1)).algorithm, trained.algorithm)


def test_a_killed_run_resumes_to_the_same_bits(trained, tmp_path):
    class Killed(Exception):
        pass

    def kill(check):
        if check.step == 200:
            raise Killed

    path = tmp_path / "training.checkpoint"
    with pytest.raises(Killed):
        run(progress=kill, checkpoint=path)
    seen = []
    resumed = run(progress=lambda check: seen.append(check.step), checkpoint=path)
    assert seen == [300, 400]
    assert eqx.tree_equal(resumed.algorithm, trained.algorithm)
    assert [check[:8] for check in resumed.history] == [check[:8] for check in trained.history]
    assert [file.name for file in tmp_path.iterdir()] == ["training.checkpoint"]
    contracts = loa.Indicator("solved", lambda tau: tau <= 3)
    for other in (dict(learning_rate=1e-2), dict(optimizer=optax.scale_by_adam()), dict(constraint=contracts)):
        with pytest.raises(ValueError, match="checkpoint of another run"):
            run(**other, checkpoint=path)
    with pytest.raises(ValueError, match="checkpoint of another run"):
        loa.train(Tilted(START.log_step), BOWLS, checkpoint=path, **OPTIONS)
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(ValueError, match="is not a whole checkpoint"):
        run(checkpoint=path)


class Tilted(Descent):
    """Other steps with the same parameters."""

    def step(self, oracle, state, key):
        return super().step(oracle, state, key)[0] + 1e-3, state[0]


def test_as_many_steps_are_made_as_asked_for_though_checks_do_not_divide_them():
    assert [check.step for check in run(steps=50, checks=4).history] == [0, 12, 25, 37, 50]


@pytest.mark.parametrize(
    "wrong", [dict(learning_rate=-1.0), dict(at_least=2.0), dict(restart=3.0), dict(averaging=1.0)]
)
def test_impossible_settings_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} must be"):
        run(**wrong)


def test_a_constraint_decides_which_point_is_kept():
    """No point solves a problem in one step: the constraint cannot be met, the mean decides."""
    impossible = loa.Indicator("immediately", lambda tau: tau <= 1)
    found = run(constraint=impossible)
    assert found.best.mean == min(check.mean for check in found.history)


def test_without_a_solved_problem_the_point_that_comes_furthest_is_kept():
    """Nothing is solved within two steps; what was learned about steps counts all the same."""
    short = run(criterion=loa.gradient_norm_below(1e-12), horizon=2)
    assert all(check.solved == 0 for check in short.history)
    assert short.best.change == min(check.change for check in short.history) < short.history[0].change
    assert not eqx.tree_equal(short.algorithm, START)


def test_a_faster_point_that_violates_the_constraint_is_not_kept():
    slow, fast = (Check(0, None, mean, mean, 1.0, holds, -1.0) for mean, holds in ((90.0, 0.97), (30.0, 0.9)))
    assert not History((slow._replace(best=True),)).is_best(fast, at_least=0.95)
    assert History((fast._replace(best=True),)).is_best(slow, at_least=0.95)
    assert History((slow._replace(best=True),)).is_best(fast, at_least=0.8)


class Lifeless(Descent):
    """A network with all units dead: nothing moves, no derivative."""

    def step(self, oracle, state, key):
        return state[0] - 0.0 * self.log_step * oracle.gradient(state[0]), state[0]


def test_a_dead_algorithm_is_noticed_and_ends_the_training():
    with pytest.warns(UserWarning, match="set back 3 times"):
        dead = loa.train(Lifeless(0.0), BOWLS, key=KEY, steps=1000, checks=10, validation=8, batch=4, pool=8, **SETTING)
    assert [check.setback for check in dead.history] == ["", "dead", "dead", "dead"]


class Deaf(Descent):
    """It moves, but not because of what could be learned: all units of its network are dead."""

    def step(self, oracle, state, key):
        return state[0] - (0.1 + 0.0 * self.log_step) * oracle.gradient(state[0]), state[0]


@pytest.mark.parametrize("objective", [None, loa.StoppingTime()])
def test_a_training_without_a_derivative_is_noticed_and_ended(objective):
    options = dict(steps=100, checks=10, validation=8, batch=4, pool=8, objective=objective)
    algorithm = Deaf(0.0) if objective is None else START
    with pytest.warns(UserWarning, match="set back 3 times"):
        deaf = loa.train(algorithm, BOWLS, key=KEY, **options, **SETTING)
    assert [check.setback for check in deaf.history] == ["", "dead", "dead", "dead"]


def test_uphill_is_astray_even_where_nothing_was_solved_before():
    tally = Tally(jnp.asarray(500.0), *map(jnp.asarray, (100, 0, 0)), jnp.asarray(100.0))
    calm, wild = (Check(0, None, 100.0, 100.0, 0.0, 0.0, change) for change in (-0.2, 3.0))
    assert _went_astray(tally, 100, wild, calm) == "diverged"
    assert _went_astray(tally, 100, calm, wild) == _went_astray(tally, 100, wild, wild) == ""


def test_a_diverged_training_goes_back_to_the_best_point():
    """A rate so large that no check is as good as the beginning."""
    good = Descent(np.log(0.9))
    options = dict(key=KEY, steps=400, checks=4, learning_rate=100.0, averaging=0.0, validation=64, batch=16, pool=64)
    with pytest.warns(UserWarning, match="set back 3 times"):
        wild = loa.train(good, BOWLS, **options, **SETTING)
    assert [check.setback for check in wild.history] == ["", "diverged", "diverged", "diverged"]
    assert eqx.tree_equal(wild.algorithm, good)


def test_progress_is_plain_lines_in_a_log(capsys):
    run(progress=True)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("training: step")]
    assert len(lines) == 4
    assert "solved" in lines[-1]
    assert "left" in lines[-1]


class NowInfinite(OneStepContraction):
    """The usual one, but infinite on some problems."""

    def result(self, carry, end):
        usual = super().result(carry, end)
        return jnp.where(carry[0] > 1.0, jnp.inf, usual)


def test_a_problem_on_which_the_objective_is_infinite_hides_no_other():
    trained = loa.train(START, BOWLS, key=KEY, objective=NowInfinite(), steps=20, checks=2, validation=10, **SETTING)
    assert all(0 < check.objective < 1 for check in trained.history[1:])


def test_langevin_noise_has_the_variance_of_its_step_size():
    transformation, schedule = _dynamics(1.3e-4, 10)
    assert schedule(3) == pytest.approx(1e-4)
    gradient = jnp.full(20_000, 2.0)
    update, state = transformation.update(gradient, _Noise(jnp.asarray(3), jnp.asarray(1), KEY))
    move = 1e-4 * np.asarray(update)
    assert abs(move.std() / 1e-2 - 1) < 5 / np.sqrt(2 * 20_000)
    assert abs(move.mean() - 1e-4) < 5 * 1e-2 / np.sqrt(20_000)
    assert int(state.step) == 4


@pytest.fixture(scope="module")
def found(trained):
    problems = BOWLS.draw(jax.random.key(3), 40)
    return langevin_support(
        trained.algorithm, BOWLS, problems, key=KEY, size=12, chains=4, thinning=5, step_size=1e-4, batch=8, **SETTING
    )


@pytest.fixture(scope="module")
def support(found):
    return found.stack


def test_the_support_of_the_prior_satisfies_the_constraint(trained, found, support):
    assert len(support) == 12
    assert eqx.tree_equal(support[0], trained.algorithm)
    steps = np.asarray(support.algorithms.log_step)
    assert len(np.unique(steps)) == 12
    assert np.abs(steps - steps[0]).max() < 0.2
    problems = BOWLS.draw(jax.random.key(3), 40)
    performance = loa.evaluate(support, BOWLS, problems, key=jax.random.fold_in(KEY, 2), **SETTING)
    assert ((performance.outcome == "solved").mean(axis=(1, 2)) >= 0.95).all()
    np.testing.assert_array_equal(performance["stopping_time"], found.performance["stopping_time"])


def test_parameters_that_are_not_free_are_common_to_the_support():
    curvature = loa.architectures.DiagonalCurvature(jnp.asarray([1.0, 2.0, 3.0]))
    algorithm = loa.architectures.LearnedQuasiNewton(curvature, log_floor=-2.0, log_damping=-2.0, power=0.5)
    quadratics = loa.problems.Quadratics(dimension=3)
    setting = dict(criterion=loa.loss_below(1e-3), horizon=50, key=KEY)
    found = langevin_support(
        algorithm, quadratics, quadratics.draw(KEY, 5), size=4, chains=2, thinning=2, batch=4, at_least=0.0,
        free=lambda leaf: eqx.is_inexact_array(leaf) and leaf.ndim == 0, **setting
    )  # fmt: skip
    assert found.stack.algorithms.curvature.spectrum is None
    np.testing.assert_array_equal(found.stack[3].curvature.spectrum, curvature.spectrum)
    one = loa.evaluate(found.stack[3], quadratics, quadratics.draw(KEY, 5), **setting)
    all_of_them = loa.evaluate(found.stack, quadratics, quadratics.draw(KEY, 5), **setting)
    np.testing.assert_array_equal(one["stopping_time"], all_of_them["stopping_time"][3])


def test_an_algorithm_that_nothing_is_free_in_is_its_own_support():
    quadratics = loa.problems.Quadratics(dimension=3)
    setting = dict(criterion=loa.loss_below(1e-3), horizon=50, key=KEY)
    found = langevin_support(loa.ConjugateGradient(), quadratics, quadratics.draw(KEY, 5), **setting)
    assert len(found.stack) == 1
    assert found.stack[0] == loa.ConjugateGradient()
    assert found.performance["stopping_time"].shape == (1, 5, 1)


def test_a_constraint_that_no_neighbour_satisfies_is_an_error(trained):
    """The steps are so long that all neighbours diverge."""
    options = dict(key=KEY, size=8, chains=8, thinning=1, step_size=1e6, **SETTING)
    with pytest.raises(ValueError, match="of 8 points around this algorithm satisfy the constraint"):
        langevin_support(trained.algorithm, BOWLS, BOWLS.draw(KEY, 4), **options)


def test_neighbours_of_an_algorithm_that_violates_the_constraint_are_compared_with_it(trained):
    never = loa.Indicator("never", lambda tau: tau < 0)
    options = dict(key=KEY, size=8, chains=8, thinning=1, constraint=never, **SETTING)
    assert len(langevin_support(trained.algorithm, BOWLS, BOWLS.draw(KEY, 4), **options).stack) == 8


def test_one_rule_chooses_lambda_for_every_functional(support):
    """The λ that is best for the divergence and the failure probability anticipated, under the weights of the prior."""
    times, rates = np.random.default_rng(1).uniform(0, (300.0, 1.0), (12, 40, 2)).transpose(2, 0, 1)[..., None]
    prior = prior_on(support, times, cap=300.0, num_posterior=100)
    assert prior.lam == choose_lambda(times[..., 0].T, 0.5, 100, 0.05, 300.0)
    options = dict(num_posterior=100, failure_probability=0.001, anticipated_divergence=5.0)
    careful = prior_on(support, times, cap=300.0, **options).lam
    assert careful == choose_lambda(times[..., 0].T, 5.0, 100, 0.001, 300.0) != prior.lam
    other = lambda_on(prior.stack, rates, cap=1.0, **options)
    assert other == choose_lambda(rates[..., 0].T, 5.0, 100, 0.001, 1.0, prior.stack.weights)
    with pytest.raises(ValueError, match="no weights"):
        lambda_on(support, rates, cap=1.0, num_posterior=100)


def test_prior_and_posterior_are_gibbs_distributions(support):
    values = np.random.default_rng(0).uniform(0, 300, (12, 40, 1))
    prior = prior_on(support, values, cap=300.0, num_posterior=100)
    posterior = posterior_on(prior, values[:, ::-1], cap=300.0)
    factors = np.log1p(-prior.lam * values[..., 0] / 300.0).sum(axis=1)
    expected = np.exp(2 * factors - 2 * factors.max())
    np.testing.assert_allclose(posterior.stack.weights, expected / expected.sum(), rtol=1e-8)
    index, algorithm = mode(posterior.stack)
    assert index == np.argmax(factors)
    assert eqx.tree_equal(algorithm, support[index])
    with pytest.raises(ValueError, match="no weights"):
        mode(support)
