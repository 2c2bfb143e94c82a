"""Means of heavy-tailed times, up to a declared cap or under a declared moment: coverage, with negative controls."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import integrate, stats

from loa import certificates as c

DELTA, REPETITIONS = 0.1, 80
HEAVY = {
    "pareto": (stats.lomax(2.5), 2.0),
    "rarely a thousand times as much": (stats.lomax(1.8, scale=3.0), 1.5),
}


def allowed(delta: float = DELTA) -> float:
    """Misses of a true bound exceed this once in a million times."""
    return stats.binom.ppf(1 - 1e-6, REPETITIONS, delta)


def moment_of(distribution, power: float) -> float:
    return float(integrate.quad(lambda u: distribution.ppf(u) ** power, 0, 1, limit=500)[0])


@pytest.fixture(scope="module", params=list(HEAVY))
def heavy(request):
    distribution, power = HEAVY[request.param]
    samples = distribution.rvs((REPETITIONS, 60), random_state=np.random.default_rng(3))
    return distribution, power, samples


@pytest.mark.many_calls
def test_a_mean_under_a_moment_covers_and_without_its_tail_does_not(heavy):
    distribution, power, samples = heavy
    moment, true = 1.01 * moment_of(distribution, power), distribution.mean()
    level = c.truncation_level(moment, power, 60, DELTA)
    bounds = np.array([c.moment_bound(sample, DELTA, moment, power, level) for sample in samples])
    assert (bounds < true).sum() <= allowed()
    # the control: the tail beyond a low level forgotten
    low = float(distribution.ppf(0.6))
    forgotten = [c.betting_bound(np.minimum(sample, low), DELTA, low) for sample in samples]
    assert (np.array(forgotten) < true).sum() > allowed()
    paid = np.array(forgotten) + c.beyond_level(moment, power, low)
    assert (paid < true).sum() <= allowed()


@pytest.mark.many_calls
def test_both_parts_of_a_capped_mean_hold_together(heavy):
    distribution, _, samples = heavy
    cap = float(distribution.ppf(0.93))
    true = float(integrate.quad(distribution.sf, 0, cap, limit=500)[0])  # E min(φ, c) = ∫₀ᶜ P(φ > t) dt
    found = np.array([c.capped_bounds(sample, DELTA, cap) for sample in samples])
    missed = (found[:, 0] < true) | (found[:, 1] < 0.07)
    assert missed.sum() <= allowed()
    broken = (0.75 * found[:, 0] < true) | (0.5 * found[:, 1] < 0.07)
    assert broken.sum() > allowed()


def test_what_lies_beyond_a_level_is_attained():
    power, moment, level = 2.5, 7.0, 3.0
    place = power * level / (power - 1)
    mass = moment / place**power  # two points, 0 and `place`, with this moment
    assert c.beyond_level(moment, power, level) == pytest.approx(mass * (place - level))


def test_the_level_is_the_best_for_its_price():
    level = c.truncation_level(50.0, 1.7, 400, 0.05)

    def price(at: float) -> float:
        return at * np.log(1 / 0.05) / 400 + c.beyond_level(50.0, 1.7, at)

    assert price(level) <= min(price(0.97 * level), price(1.03 * level))


def test_a_moment_is_an_assumption_and_values_can_contradict_it():
    rng = np.random.default_rng(0)
    values = rng.pareto(3.0, 400)
    certificate = c.MomentMean("seconds", moment=1.5, power=2.0).certify(values, 0.95)
    assert any("to the power 2 is at most 1.5" in each for each in certificate.assumptions)
    assert certificate.bound <= 1.5**0.5
    assert not certificate.vacuous
    with pytest.raises(ValueError, match="declare a larger moment"):
        c.MomentMean("seconds", moment=0.05, power=2.0).certify(values, 0.95)
    with pytest.raises(ValueError, match="no moment is finite"):
        c.MomentMean("seconds", moment=1.5, power=2.0).certify(np.append(values, np.inf), 0.95)
    for power in (1.0, 0.5, np.inf):
        with pytest.raises(ValueError, match="power must be larger than 1"):
            c.MomentMean("seconds", moment=1.0, power=power)


@pytest.mark.parametrize(
    "goal", [c.CappedMean("stopping_time", cap=40.0), c.MomentMean("stopping_time", moment=900.0, power=2.0)]
)
def test_they_are_kept_checked_and_verified(goal, tmp_path):
    rng = np.random.default_rng(1)
    values, fresh, worse = rng.gamma(2.0, 5.0, 300), rng.gamma(2.0, 5.0, 500), rng.gamma(2.0, 14.0, 500)
    certificate = goal.certify(values, 0.95)
    certificate.save(tmp_path / "certificate.json")
    loaded = c.Certificate.load(tmp_path / "certificate.json")
    assert loaded == certificate
    loaded.check(values)
    assert not loaded.verify(fresh).contradicted
    assert loaded.verify(worse).contradicted
    content = json.loads(certificate.to_json())
    assert {"beyond", "moment", "power"} <= set(content)


def test_a_capped_mean_whose_cap_is_reached_more_often_is_contradicted():
    rng = np.random.default_rng(2)
    certificate = c.CappedMean("stopping_time", cap=100.0).certify(rng.uniform(80, 100, 400), 0.95)
    assert certificate.beyond is not None
    assert certificate.beyond < 0.02
    often = np.where(rng.random(400) < 0.2, 1000.0, rng.uniform(10, 80, 400))  # a smaller mean, but it reaches the cap
    assert certificate.verify(often).contradicted
    assert "reaches 100 on at most" in certificate.sentence()
    assert "counting at most 100 of them" in certificate.sentence()
