"""Hoeffding's inequality: its formula, its coverage, and that a bound which is too small would be caught."""

import numpy as np
import pytest
from scipy import stats

from loa import certificates as c
from loa.certificates import names


def test_the_formula():
    values = np.array([1.0, 2.0, 3.0, 6.0])
    expected = 3.0 + 10.0 * np.sqrt(np.log(20.0) / 8)
    assert c.hoeffding_bound(values, 0.05, 10.0) == pytest.approx(expected, rel=1e-9)
    assert c.hoeffding_bound(values, 0.05, 6.0) == 6.0


def misses(bound, delta, repetitions=4000, size=50, mean=0.3):
    """How often a bound lies below the true mean of indicators, for which Hoeffding's inequality is nearly sharp."""
    samples = np.random.default_rng(0).random((repetitions, size)) < mean
    return sum(bound(sample.astype(float), delta) < mean for sample in samples)


def test_it_covers_and_half_of_it_would_not():
    delta, repetitions = 0.1, 4000
    allowed = stats.binom(repetitions, delta).ppf(1 - 1e-4)
    assert misses(lambda values, d: c.hoeffding_bound(values, d, 1.0), delta, repetitions) <= allowed

    def too_small(values, d):
        return values.mean() + (c.hoeffding_bound(values, d, 1.0) - values.mean()) / 2

    assert misses(too_small, delta, repetitions) > allowed


def test_betting_is_sharper_where_values_are_spread():
    values = np.random.default_rng(1).uniform(0.4, 0.6, 200)
    assert c.betting_bound(values, 0.05, 1.0) < c.hoeffding_bound(values, 0.05, 1.0)


def test_its_certificate_needs_no_entry_elsewhere():
    certificate = c.HoeffdingMean("stopping_time", cap=500.0).certify(np.tile([100.0, 300.0], 500), 0.95)
    assert certificate.bound == c.hoeffding_bound(np.tile([100.0, 300.0], 500), 0.05, 500.0)
    assert names.kind(certificate.kind) == "Hoeffding's inequality"
    plan = c.Plan({"time": c.HoeffdingMean("stopping_time", cap=500.0)})
    (planned,) = plan.certify({"stopping_time": np.tile([100.0, 300.0], 500)}, c.Draw.of(np.arange(1000.0), "held-out"))
    assert planned.bound == certificate.bound
