"""Times that are truncated at the horizon: no certificate takes them for what was needed."""

import dataclasses
import warnings

import jax
import numpy as np
import pytest

import loa
from loa import certificates as c

RNG = np.random.default_rng(29)
TIMES = np.ceil(RNG.exponential(76.0, 400)).clip(1)
HORIZON = 80.0
TRUNCATED = np.minimum(TIMES, HORIZON)
"""About a third of them are not solved within the horizon."""


def test_the_sample_is_truncated():
    assert 0.25 < (TIMES > HORIZON).mean() < 0.45


@pytest.mark.parametrize("goal", [c.Quantile, c.Tail])
def test_a_cap_or_its_absence_must_be_declared(goal):
    with pytest.raises(TypeError, match="cap"):
        goal("stopping_time", 0.9)
    with pytest.raises(TypeError, match="cap"):
        c.Distribution("stopping_time")  # pyright: ignore


def test_with_the_cap_nothing_false_is_said():
    most = c.Quantile("stopping_time", 0.9, cap=HORIZON).certify(TRUNCATED, 0.95)
    assert most.vacuous
    with pytest.raises(ValueError, match="threshold must lie below the cap 80"):
        c.Tail("stopping_time", HORIZON, cap=HORIZON)
    band = c.Distribution("stopping_time", cap=HORIZON).certify(TRUNCATED, 0.95).band
    assert band is not None
    assert max(value for value, _ in band) < HORIZON


@pytest.mark.parametrize(
    "certify",
    [
        lambda: c.certify(TRUNCATED, cap=1000.0),
        lambda: c.certify(TRUNCATED.astype(int), cap=1000.0),
        lambda: c.certify(np.full(100, 80.0), cap=1000.0),
        lambda: c.Quantile("stopping_time", 0.9, cap=None).certify(TRUNCATED, 0.95),
        lambda: c.Tail("stopping_time", 90.0, cap=None).certify(TRUNCATED, 0.95),
        lambda: c.Distribution("stopping_time", cap=None).certify(TRUNCATED, 0.95),
    ],
)
def test_a_heap_below_the_cap_is_suspicious(certify):
    with pytest.warns(UserWarning, match=r"share the maximum 80, .* the cap must be 80") as caught:
        certify()
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "certify",
    [
        lambda: c.certify(TRUNCATED, cap=HORIZON),
        lambda: c.certify(TRUNCATED.astype(np.float32), cap=HORIZON),
        lambda: c.certify(TIMES, cap=5000.0),
        lambda: c.certify(np.tile([100.0, 300.0], 50), cap=500.0),
        lambda: c.certify(np.zeros(50), cap=500.0),
        lambda: c.certify(TRUNCATED < 80, cap=1),
        lambda: c.certify(RNG.geometric(0.3, 1000), cap=500.0),
        lambda: c.Quantile("x", 0.5, cap=None).certify(np.where(TIMES > HORIZON, np.inf, TIMES), 0.95),
    ],
)
def test_nothing_else_is(certify):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        certify()


# From an evaluation


@pytest.fixture(scope="module")
def setting():
    problem_class = loa.problems.Quadratics(dimension=2, strong_convexity=(0.05, 1.0), smoothness_range=(1.0, 2.0))
    return problem_class, problem_class.draw(jax.random.key(0), 200)


def evaluated(setting, step_size, *functionals, **options):
    problem_class, problems = setting
    return loa.evaluate(
        loa.GradientDescent(step_size), problem_class, problems, criterion=loa.loss_below(1e-4), horizon=30,
        key=jax.random.key(1), functionals=functionals or (loa.StoppingTime(), loa.OracleCalls()), **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def performance(setting):
    return evaluated(setting, 0.5)


def test_an_evaluation_knows_its_caps(performance):
    unsolved = (performance.outcome == "exhausted").mean()
    assert 0.1 < unsolved < 0.9
    certificate = loa.certify(performance)
    assert (certificate.cap, certificate.functional, certificate.unit) == (30.0, "stopping_time", "iterations")
    assert certificate.at_cap is not None
    assert certificate.at_cap >= unsolved
    assert dataclasses.replace(certificate, about={}) == loa.certify(
        performance["stopping_time"], "stopping_time", cap=30.0, unit="iterations", confidence=0.95
    )
    solved = loa.certify(performance, c.Probability("solved"))
    assert solved.empirical == pytest.approx(1 - unsolved)
    most = loa.certify(performance, c.Quantile("stopping_time", 1 - unsolved / 2, cap=30.0))
    assert most.vacuous


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda p: loa.certify(p, cap=1000.0), "largest value 30, beyond which nothing was seen: the cap must be 30"),
        (lambda p: loa.certify(p, c.Quantile("stopping_time", 0.9, cap=None)), "the cap must be 30, got None"),
        (lambda p: loa.certify(p, c.Distribution("stopping_time", cap=100.0)), "the cap must be 30, got 100"),
        (lambda p: loa.certify(p, "oracle_calls"), "oracle_calls has no largest value"),
        (lambda p: loa.certify(p, diverged=[True]), "knows which runs diverged"),
        (lambda p: loa.certify(p, c.Probability("solved"), cap=1.0), "a goal carries its cap"),
        (lambda p: loa.certify([1.0], c.Probability("solved"), cap=1.0), r"goal.certify\(values, confidence\)"),
    ],
)
def test_an_evaluation_refuses_what_it_did_not_see(performance, call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(performance)
    with pytest.raises(KeyError, match="no functional named 'gap_3' was evaluated"):
        loa.certify(performance, "gap_3", cap=1.0)
    with pytest.raises(KeyError, match="no functional named 'stoping_time' was evaluated"):
        loa.certify(performance, "stoping_time")


def test_unsolved_runs_without_truncation_are_infinite(setting):
    performance = evaluated(setting, 0.5, loa.StoppingTime(truncated=False))
    assert np.isinf(performance["stopping_time"]).any()
    with pytest.raises(ValueError, match="has no largest value"):
        loa.certify(performance)
    capped = loa.certify(performance, cap=30.0)
    assert capped.bound == loa.certify(evaluated(setting, 0.5)).bound
    assert loa.certify(performance, c.Quantile("stopping_time", 0.999, cap=None)).bound == np.inf


def test_diverged_runs_count_as_the_cap_of_an_evaluation(setting):
    performance = evaluated(setting, 1e30, loa.StoppingTime(), loa.OracleCalls())
    assert (performance.outcome == "diverged").all()
    certificate = loa.certify(performance, "oracle_calls", cap=1000.0)
    assert (certificate.empirical, certificate.bound) == (1000.0, 1000.0)


def test_candidates_are_certified_one_by_one(setting):
    problem_class, problems = setting
    performance = loa.evaluate(
        loa.stack([loa.GradientDescent(0.5), loa.GradientDescent(0.4)]), problem_class, problems,
        criterion=loa.loss_below(1e-4), horizon=30, key=jax.random.key(1),
    )  # fmt: skip
    with pytest.raises(ValueError, match="several candidates"):
        loa.certify(performance)
    assert loa.certify(performance.of_candidates(0)).cap == 30.0
    assert loa.certify(loa.trajectory.evaluation.Performance.joined([performance]).of_candidates(1)).cap == 30.0
