"""Winners are declared when they are certain, by the report and by `loa.compare`, and not before."""

import dataclasses

import numpy as np
import pytest
import runs
import xarray
from scipy import stats

from loa.certificates import decide
from loa.certificates.contest import more_problems
from loa.presentation.report.verdict import headline
from loa.results.algorithm_summary import AlgorithmSummary, Measured
from loa.results.intervals import mean_interval
from loa.results.quantities import contests

CAP, PROBLEMS, RUNS = 500.0, 100, 400


def worse(rng: np.random.Generator, size: int = PROBLEMS) -> np.ndarray:
    """Steps of an algorithm that needs 8 on most problems and fails on 1%: 12.92 on average, against 10."""
    return np.where(rng.random(size) < 0.01, CAP, rng.integers(6, 11, size)).astype(float)


def other(rng: np.random.Generator, size: int = PROBLEMS) -> np.ndarray:
    return rng.integers(8, 13, size).astype(float)


@pytest.fixture(scope="module")
def summary():
    return dataclasses.replace(runs.example().summary, t_max=int(CAP))


def told(summary, learned: np.ndarray, baseline: np.ndarray) -> str:
    """The headline of a report on these values."""

    def numbers(values):
        measured = Measured(values.mean(), 0.0, 0.0, 0.0, {})
        return AlgorithmSummary("", {"stopping_time": measured}, 1.0, (None, None), np.nan)

    steps = dataclasses.replace(summary.functional("stopping_time"), cap=CAP)
    summary = dataclasses.replace(
        summary, learned=numbers(learned), baselines={"FISTA": numbers(baseline)}, functionals=(steps,), certificates=()
    )
    data = np.stack([learned, baseline])[:, :, None]
    performance = xarray.Dataset(
        {"stopping_time": (("algorithm", "problem", "replicate"), data)}, {"algorithm": ["learned", "FISTA"]}
    )
    return headline(contests(summary, performance))


def student_wins(learned: np.ndarray, baseline: np.ndarray) -> bool:
    """The former rule: Student's 95% interval of the difference lies above zero."""
    low, _ = stats.t.interval(0.95, len(learned) - 1, (baseline - learned).mean(), stats.sem(baseline - learned))
    return low > 0


@pytest.mark.slow
def test_an_algorithm_that_is_worse_is_rarely_called_better(summary):
    """At most 5% of the headlines may be wrong, and none of the simulations may be easy: the former rule fails it."""
    rng = np.random.default_rng(18)
    pairs = [(worse(rng), other(rng)) for _ in range(RUNS)]
    assert np.mean([told(summary, *pair).startswith("With 95% confidence") for pair in pairs]) <= 0.05
    assert np.mean([student_wins(*pair) for pair in pairs]) > 0.3


def test_what_is_not_certain_is_called_so_and_what_would_decide_is_told(summary):
    rng = np.random.default_rng(0)
    baseline = other(rng)
    said = told(summary, baseline - 2, baseline)
    assert said.startswith("It is not decided whether the learned algorithm beats every baseline in iterations: about ")
    assert told(summary, baseline - 2, baseline + 200).startswith("With 95% confidence, the learned algorithm beats")
    assert told(summary, baseline + 200, baseline).startswith("The learned algorithm does not beat every baseline, in")


@pytest.mark.parametrize("factor", [0.85, 0.95])
def test_the_number_of_problems_that_would_decide_does(factor):
    rng = np.random.default_rng(1)
    baseline = rng.gamma(9.0, 20.0, size=60).clip(0, CAP)
    values = factor * baseline
    found = decide(values, baseline, 0.01, CAP)
    assert found.outcome == "not decided"
    assert found.more is not None
    enough, half = (np.resize(np.arange(60), 60 + count) for count in (found.more, found.more // 3))
    assert decide(values[enough], baseline[enough], 0.01, CAP).outcome == "better"
    assert decide(values[half], baseline[half], 0.01, CAP).outcome == "not decided"
    assert more_problems(np.zeros(50), 0.01) is None


def test_a_decision_and_its_mirror_image_agree():
    rng = np.random.default_rng(2)
    first, second = 0.5 * other(rng) * 30, other(rng) * 30
    one, turned = decide(first, second, 0.05, CAP), decide(second, first, 0.05, CAP)
    assert (one.outcome, turned.outcome) == ("better", "worse")
    assert (one.low, one.high) == pytest.approx((-turned.high, -turned.low))
    assert one.low < one.saved < one.high
    assert "fewer" in one.sentence("a", "b")
    assert "more" in turned.sentence("a", "b")


def test_the_interval_of_a_mean_covers_rare_failures_where_students_does_not():
    """0.1% failures at the cap, 250 problems: Student's interval misses most of the time, ours at most 5%."""
    rng = np.random.default_rng(5)
    samples = np.where(rng.random((100, 250)) < 0.001, CAP, 5.0)
    mean = 0.001 * CAP + 0.999 * 5.0
    ends = np.array([mean_interval(each, CAP) for each in samples])
    misses = (mean < ends[:, 0]) | (mean > ends[:, 1])
    error = stats.t.ppf(0.975, 249) * samples.std(axis=1, ddof=1) / np.sqrt(250)
    student = np.abs(samples.mean(axis=1) - mean) > error
    assert np.mean(misses) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 100)
    assert student.mean() > 0.6
