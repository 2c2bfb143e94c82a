"""The running example: closed forms against brute force, and every claim of the paper."""

import dataclasses
import itertools

import jax
import numpy as np
import pytest

import loa
from loa.experiments import running_example
from loa.experiments.experiment import LearningSetup
from loa.experiments.running_example import theory

M, L = 1.0, 10.0
CURVATURES = np.linspace(M, L, 20_001)
CURVATURES = 0.5 * (CURVATURES[1:] + CURVATURES[:-1])


def minimize(error, low=0.05, high=0.5):
    """Golden-section search by hand, independent of SciPy and of loa."""
    ratio = (np.sqrt(5) - 1) / 2
    for _ in range(80):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if error(left) < error(right) else (left, high)
    return (low + high) / 2


def test_stopping_time_against_iteration():
    rng = np.random.default_rng(0)
    for _ in range(200):
        curvature, step, tolerance = rng.uniform(M, L), rng.uniform(0.01, 0.25), 10 ** rng.uniform(-6, -0.5)
        x, time = 0.0, 0
        while abs(x - 1 / curvature) >= tolerance and time < 5000:
            x, time = x - step * (curvature * x - 1), time + 1
        expected = theory.stopping_time(curvature, step, tolerance)
        assert time == min(expected, 5000) or abs(1 - step * curvature) > 0.999


def test_stopping_time_at_the_edges():
    assert theory.stopping_time(2.0, 0.5, 1e-9) == 1
    assert theory.stopping_time(2.0, 0.1, 0.6) == 0
    assert theory.stopping_time(2.0, 1.1, 1e-3) == np.inf


def test_optimal_steps_against_search():
    relative = {
        theory.best_step_squared(M, L): lambda a: np.mean((1 - a * CURVATURES) ** 2),
        theory.best_step_absolute(M, L): lambda a: np.mean(np.abs(1 - a * CURVATURES)),
        theory.worst_case_step(M, L): lambda a: max(abs(1 - a * M), abs(1 - a * L)),
        theory.best_step_squared_from_zero(M, L): lambda a: np.mean(((1 - a * CURVATURES) / CURVATURES) ** 2),
    }
    for closed_form, error in relative.items():
        assert minimize(error) == pytest.approx(closed_form, rel=1e-5)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_expected_squared_error_and_the_slip_in_the_paper(steps):
    step = 0.17
    integral = np.mean((1 - step * CURVATURES) ** (2 * steps))
    assert theory.expected_squared_error(step, steps, M, L) == pytest.approx(integral, rel=1e-6)
    as_printed = ((1 - step * M) ** (2 * steps) - (1 - step * L) ** (2 * steps)) / ((2 * steps + 1) * step * (L - M))
    assert abs(as_printed / integral - 1) > 0.05, "the paper's exponent 2t is a slip"


def test_long_horizons_tend_to_the_worst_case():
    distances = [theory.worst_case_step(M, L) - theory.best_step_at_horizon(t, M, L) for t in (1, 3, 10, 30, 100, 1000)]
    assert all(a > b > 0 for a, b in itertools.pairwise(distances))
    assert distances[-1] < 1e-3 * theory.worst_case_step(M, L)


def test_every_claim_holds():
    """Also the command line checks them, with another seed (test_cli.py)."""
    claims = running_example.measured_claims(loa.experiments.get("running-example"), jax.random.key(0))
    assert len(claims) == 24
    for claim in claims:
        assert claim.holds, claim


def test_a_wrong_claim_is_noticed():
    """The check of the claims can fail: with the paper's criterion at another tolerance it does."""
    setting = loa.experiments.get("running-example")
    wrong = dataclasses.replace(setting, task=dataclasses.replace(setting.task, criterion=loa.distance_below(2e-3)))
    claims = running_example.measured_claims(wrong, jax.random.key(0))
    assert not all(claim.holds for claim in claims)


def test_the_outliers_of_the_paper():
    """99% with the aggressive step, far fewer with the worst-case step."""
    curvatures = {1.0: 0.99, 100.0: 0.01}
    assert theory.one_step_success(1.0, curvatures, 1e-9) == pytest.approx(0.99)
    assert theory.one_step_success(theory.worst_case_step(1.0, 100.0), curvatures, 1e-9) < 1e-6


def test_learning_beats_the_classical_steps():
    setting = loa.experiments.get("running-example")
    learned = setting.recipe.learned["loa"](LearningSetup(setting, seed=5))
    problems = setting.problem_class.draw(jax.random.key(6), 20_000)

    def mean_time(algorithm):
        options = {"criterion": setting.criterion, "horizon": setting.horizon, "key": jax.random.key(7)}
        return loa.evaluate(algorithm, setting.problem_class, problems, **options)["stopping_time"].mean()

    assert mean_time(learned) < min(mean_time(algorithm) for algorithm in setting.baselines.values())
