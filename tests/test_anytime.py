"""Certificates that may be read at any time: they hold under the worst rule for when to stop, and say so."""

import itertools

import numpy as np
import pytest
from test_coverage import DELTA, REGIMES, assert_covers, assert_is_caught, samples

from loa import certificates as c
from loa.certificates.bounds import anytime, betting

BATCH, LARGEST = 20, 240
UNIFORM = np.random.default_rng(20).random((80, LARGEST))
GOALS = {
    "mean": (c.Mean("x", 1.0), samples("stopping time", 80, LARGEST, seed=20)[0], REGIMES["stopping time"][1]),
    "probability": (c.Probability("x"), UNIFORM < 0.9, 0.9),
    "rare failures": (c.Probability("x"), UNIFORM < 0.999, 0.999),
    "tail": (c.Tail("x", 0.7, cap=None), UNIFORM, 0.3),
    "cvar": (c.CVaR("x", 0.8, 0.75, 1.0), UNIFORM, 0.9),
}
"""A goal, streams of values, and the truth."""


def stopped_when_false(goal, values, truth):
    """The certificate of an adversary who stops as soon as it claims something better than the truth."""
    batches = ((np.arange(start, start + BATCH), values[start : start + BATCH]) for start in range(0, LARGEST, BATCH))
    beyond = truth + 1e-9 if goal.measure == "probability" else truth - 1e-9
    return c.certify_until(goal, batches, reaching=beyond, largest=LARGEST, confidence=1 - DELTA)


@pytest.mark.parametrize("name", GOALS)
def test_no_rule_for_when_to_stop_breaks_it(name):
    """The same adversary finds a moment to stop at which the sample itself looks better than the truth."""
    goal, values, truth = GOALS[name]
    certificates = [stopped_when_false(goal, sample, truth) for sample in values]
    sign = 1 if goal.measure == "probability" else -1
    assert_covers([sign * (certificate.bound - truth) > 0 for certificate in certificates])
    assert {certificate.kind for certificate in certificates} == {"any-time"}
    averages = np.cumsum([1 - goal.shares(sample) for sample in values], axis=1) / np.arange(1, LARGEST + 1)
    looks = [[goal.from_share(1 - average) for average in row[BATCH - 1 :: BATCH]] for row in averages]
    assert_is_caught((sign * (np.array(looks) - truth) > 0).any(axis=1))


def test_a_bound_for_one_number_of_problems_is_broken_by_the_same_rule():
    """Clopper–Pearson and betting: each number of problems is covered, the worst of them is not."""
    looks = np.arange(BATCH, LARGEST + 1, BATCH)
    coins, half = samples("coins", 3000, LARGEST, seed=20)
    heads = np.cumsum(coins, axis=1)[:, looks - 1]
    upper = [c.clopper_pearson_upper(heads[:, index], count, DELTA) for index, count in enumerate(looks)]
    values, mean = samples("stopping time", 3000, LARGEST, seed=20)
    hypothesis = np.full(len(values), mean)
    wealth = [betting.log_wealth(values[:, :count].T, hypothesis, DELTA, np.zeros(0)) for count in looks]
    for misses in (np.array(upper) < half, np.array(wealth) >= -np.log(DELTA)):
        for at_one_number in misses:
            assert_covers(at_one_number)
        assert_is_caught(misses.any(axis=0))


@pytest.mark.parametrize("regime", ["failures of 0.1%", "rarely at the cap", "contraction", "coins"])
def test_all_bounds_hold_simultaneously(regime):
    """At every one of 20 problems and of many; the mean of the sample, read all the time, is caught."""
    values, mean = samples(regime, 150, 20, seed=21)
    assert_covers([(c.anytime_bounds(sample, DELTA, 1.0) < mean).any() for sample in values])
    assert_is_caught((np.cumsum(values, axis=1) / np.arange(1, 21) < mean).any(axis=1))


def test_pairs_may_be_read_at_any_time_too():
    """Difference at all and ratio at four of 120 problems; an interval for one number, read all the time, is caught."""
    rng = np.random.default_rng(22)
    difficulty = rng.uniform(0.2, 1.0, (1500, 120))
    first, second = difficulty * rng.uniform(0.5, 0.9, (1500, 120)), difficulty * rng.uniform(0.6, 1.0, (1500, 120))
    truth = 0.6 * (0.7 - 0.8)
    few = list(zip(first[:60], second[:60], strict=True))
    assert_covers([(c.anytime_difference_bounds(a, b, DELTA, 1.0) < truth).any() for a, b in few])
    assert_covers([
        min(c.anytime_ratio_bound(a[:n], b[:n], DELTA, 1.0) for n in (20, 50, 80, 120)) < 0.7 / 0.8 for a, b in few
    ])  # fmt: skip
    differences, counts = first - second, range(20, 121, 5)
    upper = [
        differences[:, :n].mean(axis=1) + 1.645 * differences[:, :n].std(axis=1, ddof=1) / np.sqrt(n) for n in counts
    ]
    assert_is_caught((np.array(upper) < truth).any(axis=0))


def test_bounds_far_apart_in_time_are_those_of_every_time():
    values = np.random.default_rng(23).random(3 * anytime.EVERY_TIME)
    bounds = c.anytime_bounds(values, DELTA, 1.0)
    sums = np.cumsum(anytime.log_products(values), axis=0)
    every = np.minimum.accumulate(anytime.mean_from_products(sums, np.arange(1, len(values) + 1), DELTA))
    assert (bounds >= every).all()
    np.testing.assert_allclose(bounds, every, rtol=1e-3)
    assert (np.diff(bounds) <= 0).all()


# The record and the rule


def drawn(rng, count=50):
    while True:
        problems = rng.random(count)
        yield problems, 300 * problems


def test_it_stops_when_it_is_tight_enough():
    certificate = c.certify_until(c.Mean("stopping_time", 500.0), drawn(np.random.default_rng(1)), within=0.1)
    assert certificate.empirical < certificate.bound <= 1.1 * certificate.empirical
    longer = c.certify_until(c.Mean("stopping_time", 500.0), drawn(np.random.default_rng(1)), within=0.05)
    assert longer.n > certificate.n
    assert longer.bound < certificate.bound


def test_it_stops_when_it_is_good_enough_or_there_are_enough():
    goal = c.Mean("stopping_time", 500.0)
    good = c.certify_until(goal, drawn(np.random.default_rng(1)), reaching=200.0)
    assert good.bound <= 200
    assert c.certify_until(goal, drawn(np.random.default_rng(1)), reaching=10.0, largest=300).n == 300
    few = itertools.islice(drawn(np.random.default_rng(1)), 3)
    assert c.certify_until(goal, few, reaching=10.0).n == 150
    solved = ((problems, problems < 2) for problems, _ in drawn(np.random.default_rng(1)))
    certificate = c.certify_until(c.Probability("solved"), solved, reaching=0.99)
    assert certificate.bound >= 0.99
    assert "at least 99" in certificate.sentence()


def test_it_is_a_certificate_like_any_other(tmp_path):
    certificate = c.certify_until(c.Mean("stopping_time", 500.0), drawn(np.random.default_rng(1)), within=0.1)
    certificate.save(tmp_path / "certificate.json")
    assert c.Certificate.load(tmp_path / "certificate.json") == certificate
    rng = np.random.default_rng(2)
    assert not certificate.verify(300 * rng.random(1000)).contradicted
    assert certificate.verify(300 * rng.random(1000) + 100).contradicted
    assert any("when to stop was decided" in assumption for assumption in certificate.assumptions)
    assert certificate.draws["held-out"]


def test_batches_are_all_that_matters():
    """The same values in one batch or in many, and the bound of each look is that of `anytime_bounds`."""
    values = np.random.default_rng(3).random(100)
    growing = c.AnytimeCertificate(c.Mean("x", 1.0))
    seen = []
    for part in np.split(values, 10):
        growing.add(part)
        seen.append(growing.bound)
    sums = np.cumsum(anytime.log_products(values), axis=0)[9::10]
    looks = anytime.mean_from_products(sums, np.arange(10, 101, 10), DELTA)
    np.testing.assert_allclose(seen, np.minimum.accumulate(looks), rtol=1e-12)
    assert growing.certificate().empirical == pytest.approx(values.mean())


def test_progress_is_told(capsys):
    goal = c.Mean("stopping_time", 500.0)
    c.certify_until(goal, itertools.islice(drawn(np.random.default_rng(1)), 2), within=0.001, progress=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("50 problems: ")
    assert lines[1].startswith("100 problems: ")
    counts = []
    batches = itertools.islice(drawn(np.random.default_rng(1)), 2)
    c.certify_until(goal, batches, within=0.001, progress=lambda growing: counts.append(growing.n))
    assert counts == [50, 100]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda goal, new: c.certify_until(goal, new()), "say when to stop: within=0.05"),
        (lambda goal, new: c.certify_until(goal, new(), within=-1.0), "within must be positive"),
        (lambda goal, new: c.certify_until(goal, new(), within=0.1, largest=0), "largest must be a whole number"),
        (lambda goal, new: c.certify_until(goal, new(), within=0.1, confidence=95), "confidence must lie strictly"),
        (lambda goal, new: c.certify_until(goal, [], within=0.1), "nothing can be certified yet"),
        (lambda goal, new: c.certify_until(goal, [(np.arange(3), [1.0, 2.0])], within=0.1), "value for every problem"),
        (lambda goal, new: c.certify_until(goal, [(np.arange(1), [501.0])], within=0.1), "must not exceed the cap"),
        (
            lambda goal, new: c.certify_until(goal, [(np.arange(2), [1.0, 2.0])] * 2, within=0.1),
            "2 problems of this batch were in an earlier one: draw each batch with a key of its own",
        ),
        (
            lambda goal, new: c.certify_until(
                goal, [(np.arange(2), [1.0, 2.0])], within=0.1, used=[c.Draw.of(np.arange(1), "prior")]
            ),
            "1 problems are both in the prior draw",
        ),
    ],
)  # fmt: skip
def test_what_would_break_it_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(c.Mean("stopping_time", 500.0), lambda: drawn(np.random.default_rng(1)))


def test_finitely_many_problems_may_come_twice():
    batches = [(np.arange(2), [1.0, 2.0])] * 2
    assert c.certify_until(c.Mean("x", 5.0), batches, within=0.1, finite=True).n == 4
