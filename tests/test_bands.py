"""The Berk–Jones band for many problems: as valid as the exact one, and nearly as tight."""

import numpy as np
import pytest

from loa.certificates.bounds import distribution
from loa.certificates.bounds.distribution import berk_jones_level, never_below, tight_band


@pytest.fixture
def few_ranks(monkeypatch):
    """As for a million problems, but beginning with 256."""
    berk_jones_level.cache_clear()
    monkeypatch.setattr(distribution, "LARGEST_EXACT", 256)
    yield
    berk_jones_level.cache_clear()


def test_bounding_some_ranks_only_costs_two_percent(few_ranks, monkeypatch):
    size = 4096
    shares = np.arange(1, size + 1) / size
    some = tight_band(np.arange(size), 0.05).shares
    assert len(distribution._boundaries(size, 0.001)[1]) < 0.7 * size
    berk_jones_level.cache_clear()
    monkeypatch.setattr(distribution, "LARGEST_EXACT", size)
    exact = tight_band(np.arange(size), 0.05).shares
    assert ((shares - some) / (shares - exact)).max() < 1.02
    assert not np.array_equal(some, exact)


def test_more_problems_never_make_the_band_worse():
    """It was crude above 4096 problems: the certified median went from 52.5% to 53.3%."""
    medians = []
    for size in (4095, 4096, 4097, 4100, 6000):
        band = tight_band(np.arange(size) / size, 0.05)
        medians.append(band.values[np.argmax(band.shares >= 0.5)])
    assert medians[-1] < 0.5205
    assert max(medians[:4]) < 0.5247
    np.testing.assert_array_less(np.diff(medians), 2 / 4096)


def test_the_band_of_some_ranks_covers(few_ranks):
    """In 2000 samples of 2000, the miss rate is 5% within four standard errors; a band of 1.5 times the level fails."""
    size, delta, tries = 2000, 0.05, 2000
    level = berk_jones_level(size, delta)
    uniform = np.sort(np.random.default_rng(0).random((tries, size)), axis=1)

    def miss_rate(level):
        boundaries, ranks = distribution._boundaries(size, level)
        return (uniform[:, ranks - 1] < boundaries).any(axis=1).mean()

    error = np.sqrt(delta * (1 - delta) / tries)
    assert abs(miss_rate(level) - delta) < 4 * error
    assert miss_rate(1.5 * level) > delta + 3 * error


def test_leaving_out_what_is_improbable_changes_nothing(monkeypatch):
    boundaries, ranks = distribution._boundaries(800, 1e-3)
    found = never_below(boundaries, ranks, 800)
    monkeypatch.setattr(distribution, "NEGLIGIBLE", 0.0)
    assert found == pytest.approx(never_below(boundaries, ranks, 800), rel=1e-10)
    assert found <= never_below(boundaries, ranks, 800)


@pytest.mark.slow
def test_a_hundred_thousand_problems_have_a_band(monkeypatch):
    size = 100_000
    level, union = berk_jones_level(size, 0.05), 0.05 / size
    assert level > 100 * union
    assert 1 - never_below(*distribution._boundaries(size, level), size) == pytest.approx(0.05, rel=2e-3)
