"""Choosing and certifying on the same problems: valid for any candidates, and tight for few problems."""

import numpy as np
import pytest

from loa.certificates import betting_bound, certify_while_choosing, product_bound, progressive_bound
from loa.certificates.bounds.progressive import progress
from loa.certificates.certificate import Certificate

CAP, DELTA, RUNS = 1.0, 0.1, 400


def by_heart(rng, candidates=60, problems=30):
    """Candidates that are all alike: whichever is best on a sample is so by chance, and its mean is 0.5."""
    return rng.integers(0, 2, (problems, candidates)).astype(float)


def test_what_is_chosen_by_chance_is_not_called_better_than_it_is():
    """The mean of all candidates is 0.5, so that every bound below it is a miss. The naive bound must fail this."""
    rng = np.random.default_rng(16)
    samples = [by_heart(rng) for _ in range(RUNS)]
    limit = DELTA + 3 * np.sqrt(DELTA * (1 - DELTA) / RUNS)
    assert np.mean([progressive_bound(each, CAP, 3, DELTA) < 0.5 for each in samples]) <= limit
    naive = [betting_bound(each[:, each.mean(axis=0).argmin()], DELTA, CAP) < 0.5 for each in samples]
    assert np.mean(naive) > 0.5


def test_the_bound_covers_the_mean_of_what_was_chosen():
    """Candidates whose means differ and whose values are correlated, with rare failures at the cap."""
    rng, misses = np.random.default_rng(17), []
    means = np.array([0.10, 0.11, 0.12, 0.15])
    for _ in range(RUNS):
        difficulty = rng.exponential(1.0, (100, 1)) * rng.uniform(0.8, 1.2, (100, 4))
        values = np.where(rng.random((100, 4)) < 0.01, 1.0, np.minimum(means * difficulty, 1.0))
        certificate = certify_while_choosing(values, cap=CAP, confidence=1 - DELTA)
        misses.append(certificate.bound < TRUE @ np.asarray(certificate.posterior))
    assert np.mean(misses) <= DELTA + 3 * np.sqrt(DELTA * (1 - DELTA) / RUNS)


def true_means():
    rng = np.random.default_rng(99)
    difficulty = rng.exponential(1.0, (400_000, 1)) * rng.uniform(0.8, 1.2, (400_000, 4))
    return 0.01 + 0.99 * np.minimum(np.array([0.10, 0.11, 0.12, 0.15]) * difficulty, 1.0).mean(axis=0)


TRUE = true_means()


def test_no_problem_has_a_part_in_the_choice_of_what_solves_it():
    rng = np.random.default_rng(1)
    values = rng.random((50, 5))
    before, order = progress(values, CAP, 5, DELTA), np.random.RandomState(0).permutation(50)
    for time in (5, 20, 49):
        changed = values.copy()
        changed[order[time:]] = rng.random((50 - time, 5))
        after = progress(changed, CAP, 5, DELTA)
        assert (after.chosen[: time - 4] == before.chosen[: time - 4]).all()
        assert after.lam == before.lam


def test_a_single_candidate_is_certified_by_the_product_bound():
    values = np.random.default_rng(2).random((200, 1))
    found = progress(values, CAP, 20, DELTA)
    assert progressive_bound(values, CAP, 20, DELTA) == product_bound(
        found.values[:, None], [1.0], 0, found.lam, DELTA, 1
    )


def test_300_problems_are_enough_for_a_mean_of_60_and_a_cap_of_600():
    """100 candidates, 300 problems in all: within 15% of the mean, where Occam's razor on all of them is 23% above."""
    rng, excess, occam = np.random.default_rng(3), [], []
    for _ in range(20):
        speeds = 1 + np.abs(rng.normal(scale=0.15, size=100))
        speeds[0] = 1.0
        shape = (60 / 25) ** 2
        values = np.minimum(rng.gamma(shape, 60 / shape, (300, 1)) * speeds * rng.uniform(0.9, 1.1, (300, 100)), 600.0)
        certificate = certify_while_choosing(values, "stopping_time", cap=600.0)
        excess.append(certificate.bound / 60 - 1)
        occam.append(betting_bound(values[:, values.mean(axis=0).argmin()], 0.05 / 100, 600.0) / 60 - 1)
    assert np.mean(excess) < 0.15
    assert np.mean(occam) > 0.2


def test_the_certificate_can_be_read_checked_and_contradicted():
    rng = np.random.default_rng(4)
    values = np.minimum(rng.gamma(4.0, 15.0, (300, 1)) * [1.0, 1.2, 1.5], 600.0)
    certificate = certify_while_choosing(values, "stopping_time", cap=600.0)
    certificate.check(values)
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert "an algorithm drawn from the posterior for each problem needs at most" in str(certificate)
    assert "drawn like these 270" in str(certificate)
    with pytest.raises(ValueError, match="not the values that the certificate was made from"):
        certificate.check(values[::-1])
    fresh = np.minimum(rng.gamma(4.0, 15.0, (300, 1)) * [2.0, 2.4, 3.0], 600.0)
    assert certificate.verify(fresh).contradicted
    assert not certificate.verify(fresh / 2).contradicted


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"values": [[1.0, 2.0]]}, "at least two problems are needed"),
        ({"values": [1.0, 2.0]}, "values must be \\(problem, candidate\\)"),
        ({"first": 2}, "first must be"),
        ({"first": 0}, "first must be"),
        ({"cap": 0.5}, "must not exceed the cap"),
        ({"cap": -1.0}, "cap must be"),
        ({"confidence": 1.5}, "confidence must"),
    ],
)
def test_what_cannot_be_certified_is_refused(options, words):
    arguments = {"values": [[1.0, 2.0], [2.0, 1.0]], "cap": 4.0, **options}
    with pytest.raises(ValueError, match=words):
        certify_while_choosing(arguments.pop("values"), **arguments)
