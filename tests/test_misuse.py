"""Slips that make a certificate false are refused, warned of, or stand in its assumptions."""

import numpy as np
import pytest

import loa.certificates as c
from loa.certificates.goal import ALL_MASS

RNG = np.random.default_rng(3)
TIMES = RNG.integers(1, 400, size=200).astype(float)
TABLE = np.stack([TIMES, 0.9 * TIMES], axis=1)


def test_a_cap_that_is_the_largest_value_is_suspicious():
    with pytest.warns(UserWarning, match="is the largest of these values: if it was taken from them"):
        c.certify(np.append(TIMES, 451.7), cap=451.7)
    c.certify(np.append(TIMES, 500.0), cap=500.0)  # a horizon that one run has reached


@pytest.mark.parametrize("replicates", [2, 5])
def test_flattened_replicates_are_refused(replicates):
    flat = np.repeat(TIMES, replicates)
    for certify in (
        lambda: c.certify(flat, cap=500.0),
        lambda: c.Quantile("stopping_time", 0.9, cap=500.0).certify(flat, 0.95),
        lambda: c.AnytimeCertificate(c.Mean("stopping_time", 500.0)).add(flat),
    ):
        with pytest.raises(ValueError, match=rf"comes {replicates} times in a row: .*reshape\(-1, {replicates}\)"):
            certify()
    assert c.certify(flat.reshape(-1, replicates), cap=500.0).n == 200
    c.certify(np.repeat([0.0, 1.0], 10), cap=1.0)


def test_copies_in_any_order_are_refused():
    times = np.random.default_rng(1).gamma(2.0, 80.0, 100)
    for sample in (np.tile(times, 3), np.random.default_rng(0).permutation(np.repeat(times, 2))):
        with pytest.raises(ValueError, match=r"every value comes [23] times, or a multiple of that"):
            c.certify(sample, cap=1000.0)
    rounded = np.random.default_rng(2).poisson(20.0, 400).astype(float)  # most of them come several times by chance
    c.certify(rounded, cap=1000.0)
    c.certify(np.append(np.tile(times, 2), 5.0), cap=1000.0)


def test_lambda_that_was_chosen_on_the_values_is_noticed():
    kl = c.kl_divergence([0.9, 0.1], [0.5, 0.5])
    chosen = c.choose_lambda(TABLE, kl, 200, 0.05, 500.0, [0.9, 0.1])
    with pytest.warns(UserWarning, match="best one for these very values"):
        c.certify_posterior(TABLE, [0.9, 0.1], [0.5, 0.5], cap=500.0, lam=chosen)
    c.certify_posterior(TABLE, [0.9, 0.1], [0.5, 0.5], cap=500.0, lam=0.25)
    c.certify_posterior(TABLE, [0.9, 0.1], [0.5, 0.5], cap=500.0, lam=(chosen, 0.9))


def test_the_largest_lambda_that_can_be_chosen_is_no_sign_of_misuse():
    """For values far below the cap it is the best on any sample."""
    prior, posterior = 1e-3 * TABLE[:100], 1e-3 * TABLE[100:]
    chosen = c.choose_lambda(prior, 0.4, 100, 0.05, 500.0)
    assert chosen > 0.999999
    c.certify_posterior(posterior, [0.9, 0.1], [0.5, 0.5], cap=500.0, lam=chosen)


def test_a_prior_on_the_winner_is_noticed():
    with pytest.warns(UserWarning, match="all its mass on one of 2 candidates"):
        certificate = c.certify_posterior(TABLE, [0.0, 1.0], [0.0, 1.0], cap=500.0, lam=0.25)
    assert ALL_MASS in certificate.assumptions
    assert ALL_MASS in c.certify_occam(TIMES, 1.0, cap=500.0).assumptions
    assert ALL_MASS not in c.certify_occam(TIMES, 0.5, cap=500.0).assumptions
    c.certify_posterior(TABLE[:, :1], [1.0], [1.0], cap=500.0, lam=0.25)


def test_wrong_units_are_suspicious():
    with pytest.warns(UserWarning, match="another unit than the cap"):
        c.certify(TIMES / 1e6, cap=10.0)
    certificate = c.certify(TIMES, cap=500.0)
    assert any("has their unit" in text for text in certificate.assumptions)


@pytest.mark.parametrize(("kind", "cap"), [(np.uint8, 500.0), (np.int8, 200.0), (np.int16, 1e5), (np.uint8, None)])
def test_numbers_that_can_wrap_around_are_refused(kind, cap):
    wrapped = TIMES.astype(np.int64).astype(kind).clip(0)
    goal = c.Quantile("stopping_time", 0.9, cap=cap)
    with pytest.raises(ValueError, match=f"values have the type {np.dtype(kind)}, in which no number exceeds"):
        goal.certify(wrapped, 0.95)
    c.Quantile("stopping_time", 0.9, cap=100.0).certify(np.minimum(TIMES, 100).astype(np.uint8), 0.95)


def test_a_cap_in_single_precision_is_the_cap():
    """0.9 in single precision is smaller than 0.9, but a value there hides what is larger."""
    values = np.full(500, 0.9, np.float32)
    values[:300] = RNG.random(300).astype(np.float32) * np.float32(0.8)
    quantile = c.Quantile("contraction_factor", 0.95, cap=0.9).certify(values, 0.95)
    assert quantile.vacuous
    band = c.Distribution("contraction_factor", cap=0.9).certify(values, 0.95).band
    assert band is not None
    assert max(value for value, _ in band) < 0.81
    assert c.cvar_threshold(values, 0.95, 0.9) < 0.81
    tail = c.Tail("contraction_factor", float(np.float32(0.9)), cap=0.9).certify(values, 0.95)
    assert tail.empirical == pytest.approx(0.4)
