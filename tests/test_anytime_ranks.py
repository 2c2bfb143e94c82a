"""Quantiles, distributions and wall-clock times can be watched, too."""

import numpy as np
import pytest

import loa.certificates as c
from loa.certificates.goal import SAME_MACHINE

LOOKS = (32, 50, 80, 130, 200, 300)


def test_any_time_quantiles_and_bands_hold_at_all_looks_together():
    """400 sequences with six looks: misses at any look stay below 5%. The bounds for fixed sizes miss more often."""
    rng, tries, delta = np.random.default_rng(1), 400, 0.05
    misses = {"quantile": 0, "band": 0, "fixed quantile": 0}
    for values in rng.random((tries, max(LOOKS))):
        parts = [values[:size] for size in LOOKS]
        misses["quantile"] += any(c.anytime_quantile_bound(part, 0.8, delta) < 0.8 for part in parts)
        misses["fixed quantile"] += any(c.quantile_bound(part, 0.8, delta) < 0.8 for part in parts)
        misses["band"] += any(share > value for part in parts for value, share in c.anytime_points(part, delta, None))
    assert misses["quantile"] <= delta * tries
    assert misses["band"] <= delta * tries
    assert misses["fixed quantile"] > 1.5 * delta * tries


@pytest.mark.parametrize(
    "goal", [c.Quantile("stopping_time", 0.8, cap=100.0), c.Distribution("stopping_time", cap=100.0)]
)
def test_a_growing_certificate_of_ranks(goal):
    rng = np.random.default_rng(2)
    growing, bounds = c.AnytimeCertificate(goal), []
    for _ in range(6):
        growing.add(rng.integers(1, 90, size=60).astype(float))
        bounds.append(growing.bound)
    assert growing.n == 360
    certificate = growing.certificate()
    fixed = goal.certify(np.concatenate(growing._values), 0.95)
    assert fixed.bound <= certificate.bound < 90
    assert certificate.bound == bounds[-1]
    assert certificate.kind == "any-time"
    certificate.check(np.concatenate(growing._values))
    if isinstance(goal, c.Quantile):
        assert sorted(bounds, reverse=True) == bounds
    assert not certificate.verify(rng.integers(1, 90, size=200).astype(float)).contradicted


def test_a_goal_of_ones_own_without_an_any_time_bound_says_so():
    class Largest(c.Goal):
        measure = "quantile"

        def find(self, values, delta):
            raise NotImplementedError

    with pytest.raises(ValueError, match="no any-time bound for Largest"):
        c.AnytimeCertificate(Largest("x")).add(np.ones(3))
    assert c.AnytimeCertificate(c.Quantile("x", 0.5, cap=1.0)).bound == np.inf


def test_drawing_until_a_quantile_is_good_enough():
    rng = np.random.default_rng(3)

    def batches():
        while True:
            problems = rng.random(50)
            yield problems, np.ceil(100 * problems)

    certificate = c.certify_until(c.Quantile("stopping_time", 0.5, cap=200.0), batches(), reaching=60.0)
    assert certificate.bound <= 60
    assert certificate.n < 2000


def test_seconds_are_certified_under_the_conditions_of_their_timing():
    seconds = np.random.default_rng(4).gamma(4.0, 0.1, size=200).clip(0, 10)
    certificate = c.certify(seconds, "seconds", cap=10.0)
    assert SAME_MACHINE in certificate.assumptions
    assert "seconds on average" in certificate.sentence()
    assert SAME_MACHINE in c.Quantile("seconds", 0.9, cap=10.0).certify(seconds, 0.95).assumptions
    assert SAME_MACHINE in c.Mean("time", 10.0, unit="ms").certify(seconds, 0.95).assumptions
    assert SAME_MACHINE not in c.certify(seconds, "stopping_time", cap=10.0).assumptions
