"""Tuning finds what theory says is best."""

import jax
import numpy as np
import pytest
from classes import Bowls, LeastSquares

import loa
from loa.experiments.running_example import claims, theory
from loa.learning import Interval

M, L = 1.0, 10.0
KEY = jax.random.key(1)
CELLS = np.linspace(M, L, 2001)
EVENLY = 0.5 * (CELLS[1:] + CELLS[:-1])
"""Problems that cover [m, L] evenly, so that means over them are integrals."""
EXAMPLE = loa.problems.RunningExample(M, L)
OPTIONS = dict(criterion=loa.distance_below(1e-3), horizon=200, key=KEY)
ONE_STEP = OPTIONS | dict(horizon=1)

RUNNING_EXAMPLE = {
    "squared": (claims.relative_squared_error, theory.best_step_squared(M, L)),
    "absolute": (claims.relative_error, theory.best_step_absolute(M, L)),
    "squared from zero": (claims.squared_error, theory.best_step_squared_from_zero(M, L)),
}


@pytest.mark.parametrize("case", RUNNING_EXAMPLE)
def test_the_optimal_steps_of_the_running_example(case):
    gap, expected = RUNNING_EXAMPLE[case]
    functional = loa.Gap(step=1, gap=gap)
    space = {"step_size": (0.01, 0.6)}
    searched = loa.tune(loa.GradientDescent, space, EXAMPLE, EVENLY, functional=functional, rounds=6, **ONE_STEP)
    assert searched.parameters["step_size"] == pytest.approx(expected, rel=1e-3)
    descended = loa.tune_by_gradient(
        loa.GradientDescent, space, EXAMPLE, EVENLY, functional=functional, horizon=1, key=KEY
    )
    assert descended.parameters["step_size"] == pytest.approx(expected, rel=1e-3 if case == "absolute" else 1e-5)
    assert float(descended.algorithm.step_size) == descended.parameters["step_size"]


def test_the_worst_case_step():
    """The largest relative error over all problems is minimized by 2 / (m + L)."""
    functional = loa.Gap(step=1, gap=claims.relative_error)
    space = {"step_size": (0.01, 0.6)}
    tuned = loa.tune(loa.GradientDescent, space, EXAMPLE, EVENLY, functional=functional, measure=np.max, **ONE_STEP)
    assert tuned.parameters["step_size"] == pytest.approx(theory.worst_case_step(M, L), rel=2e-3)


def test_measures_lead_to_different_optima():
    space = {"step_size": (0.05, 0.199)}
    by_mean = loa.tune(loa.GradientDescent, space, EXAMPLE, EVENLY, **OPTIONS)
    by_tail = loa.tune(
        loa.GradientDescent, space, EXAMPLE, EVENLY, measure=lambda v: loa.measures.quantile(v, 0.95), **OPTIONS
    )
    assert by_mean.parameters["step_size"] < by_tail.parameters["step_size"]
    assert by_mean.value == min(value for _, value in by_mean.tried)


def test_the_start_is_tried_first_and_the_result_not_worse():
    space = {"step_size": (0.01, 0.199)}
    tuned = loa.tune(
        loa.GradientDescent, space, EXAMPLE, EVENLY, start={"step_size": 0.1}, candidates=2, rounds=1, **OPTIONS
    )
    first, value = tuned.tried[0]
    assert first["step_size"] == pytest.approx(0.1)
    assert tuned.value <= value
    with pytest.raises(ValueError, match="start names momentum, but the parameters are step_size"):
        loa.tune(loa.GradientDescent, space, EXAMPLE, EVENLY, start={"momentum": 0.1}, **OPTIONS)


def test_success_probability_is_maximized():
    fast = loa.Indicator("fast", lambda time: time <= 3)
    tuned = loa.tune(
        loa.GradientDescent, {"step_size": (0.01, 0.5)}, EXAMPLE, EVENLY, functional=fast, maximize=True, **OPTIONS
    )
    times = theory.stopping_time(EVENLY[None], np.linspace(0.01, 0.5, 500)[:, None], 1e-3)
    assert tuned.value >= (times <= 3).mean(axis=1).max() - 1e-3


def test_two_parameters_on_quadratics():
    """Heavy ball on a fixed spectrum: the textbook step and momentum minimize the asymptotic rate."""
    problem_class = loa.FromFunctions(
        lambda key: jax.random.normal(key, (40,)),
        lambda x, c: 0.5 * jax.numpy.sum(jax.numpy.linspace(0.01, 1.0, 40) * (x - c) ** 2),
        start=jax.numpy.zeros(40),
    )
    problems = problem_class.draw(jax.random.key(3), 50)
    space = {"step_size": (0.5, 4.0), "momentum": (0.0, 0.99)}
    options = dict(criterion=loa.gradient_norm_below(1e-6), horizon=1000, key=KEY)
    tuned = loa.tune(loa.HeavyBall, space, problem_class, problems, **options)
    textbook = loa.HeavyBall(4 / 1.1**2, (0.9 / 1.1) ** 2)
    times = loa.evaluate(textbook, problem_class, problems, **options)["stopping_time"]
    assert tuned.value <= times.mean()


def test_logarithmic_ranges_and_random_algorithms():
    problem_class = LeastSquares()
    problems = problem_class.draw(jax.random.key(3), 20)
    space = {"step_size": Interval(1e-5, 1.0, logarithmic=True)}
    options = dict(criterion=loa.loss_below(0.05), horizon=200, key=KEY, replicates=2, candidates=16, rounds=3)
    tuned = loa.tune(loa.SGD, space, problem_class, problems, **options)
    assert 1e-3 < tuned.parameters["step_size"] < 0.3
    assert len(tuned.tried) == 48


def test_algorithms_that_cannot_be_stacked_are_tried_one_by_one():
    def factory(step_size):
        class Own(loa.GradientDescent):
            pass

        return Own(step_size)

    options = OPTIONS | dict(candidates=4, rounds=1)
    tuned = loa.tune(factory, {"step_size": (0.1, 0.19)}, EXAMPLE, EVENLY[:20], **options)
    assert 0.1 <= tuned.parameters["step_size"] <= 0.19


def test_the_edge_of_a_range_is_warned_of():
    with pytest.warns(UserWarning, match=r"the best step_size, 0\.1, lies at the edge"):
        loa.tune_by_gradient(
            loa.GradientDescent, {"step_size": (0.01, 0.1)}, EXAMPLE, EVENLY, key=KEY, horizon=1,
            functional=loa.Gap(step=1, gap=claims.relative_squared_error),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("space", "sentence"),
    [
        ({}, "no parameters"),
        ({"step_size": (1.0, 0.5)}, "step_size must have low < high, got 1.0 to 0.5"),
        ({"step_size": Interval(0.0, 1.0, logarithmic=True)}, "0 < low < high"),
    ],
)
def test_bad_spaces(space, sentence):
    with pytest.raises(ValueError, match=sentence):
        loa.tune(loa.GradientDescent, space, EXAMPLE, EVENLY, **OPTIONS)


def by_gradient(**options):
    defaults = dict(key=KEY, horizon=5, functional=loa.Gap(step=5))
    return loa.tune_by_gradient(
        loa.GradientDescent, {"step_size": (0.01, 1e4)}, Bowls(), Bowls().draw(KEY, 3), **defaults | options
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (dict(start={"step": 0.1}), "start names step, but the parameters are step_size"),
        (dict(start={"step_size": 1e5}), "lies outside of its range"),
        (dict(functional=loa.Gap(step=6)), "gap_6 needs 6 steps, but the horizon is 5"),
        (dict(horizon=200, functional=loa.Gap(step=200)), "start elsewhere"),
    ],
)
def test_bad_starts(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        by_gradient(**options)


def test_nothing_finite_to_be_found_is_an_error():
    with pytest.raises(ValueError, match="no setting in this space gives a finite convergence_rate"):
        loa.tune(
            loa.GradientDescent, {"step_size": (1e100, 1e200)}, Bowls(), Bowls().draw(KEY, 3), rounds=1, candidates=4,
            functional=loa.ConvergenceRate(), criterion=loa.loss_below(1e-9), horizon=50, key=KEY,
        )  # fmt: skip


def test_a_functional_without_derivative_is_refused():
    with pytest.raises(ValueError, match="stopping_time has no derivative by step_size: use"):
        loa.tune_by_gradient(
            loa.GradientDescent, {"step_size": (0.01, 0.1)}, Bowls(), Bowls().draw(KEY, 3), key=KEY, horizon=5,
            functional=loa.StoppingTime(),
        )  # fmt: skip


def test_progress_is_a_line_per_round(capsys):
    options = dict(candidates=4, rounds=2, progress=True, **OPTIONS)
    tuned = loa.tune(loa.GradientDescent, {"step_size": (0.05, 0.15)}, EXAMPLE, EVENLY[:50], **options)
    first, last = [line for line in capsys.readouterr().out.splitlines() if line.startswith("tuning: round")]
    assert first.startswith("tuning: round 1, 4 settings  best stopping time")
    assert last == f"tuning: round 2, 8 settings  best stopping time {tuned.value:.4g}  0 s left"
