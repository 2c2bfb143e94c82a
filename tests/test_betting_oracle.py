"""Betting against another library: ville's e-processes and confidence sequences, where both compute the same thing."""

import numpy as np
import pytest
import ville
from scipy import optimize, special
from test_coverage import samples

from loa import certificates as c
from loa.certificates.bounds import anytime, betting

VALUES = np.random.default_rng(30).beta(2, 5, 25)
TINY = 1e-60
"""Such a small failure probability that ville's gambler always makes the largest bet he may."""


def ville_log_wealth(values, mean, share):
    """After each value, of a gambler who always bets this share of the largest bet that the values are below."""
    test = ville.BettingTest(mean, alternative="less", alpha=TINY, c=share)
    return test.fit(values).log_e_values_


@pytest.mark.parametrize("mean", [0.3, 0.5, 0.8])
def test_the_largest_bets(mean):
    """With little time and a high target our gambler bets all he may, in every round."""
    ours = betting.log_wealth(VALUES[:, None], np.array([mean]), TINY, np.zeros(0))
    assert ours[0] == pytest.approx(ville_log_wealth(VALUES, mean, betting.LARGEST_BET)[-1], rel=1e-10)


@pytest.mark.parametrize("lam", [0.4, 0.6, 0.9])
def test_the_any_time_bound_is_where_ville_s_wealth_reaches_its_target(lam):
    """One λ: the bet λ / (1 - λm), a share λ(1-m) / (1-λm) of the largest one."""
    bounds = []
    for count in (15, 25):
        sums = anytime.log_products(VALUES[:count], [lam]).sum(axis=0)
        bounds.append(float(anytime.mean_from_products(sums[None], np.array([count]), 0.05, [lam])[0]))
        wealth = ville_log_wealth(VALUES[:count], bounds[-1], lam * (1 - bounds[-1]) / (1 - lam * bounds[-1]))
        assert wealth[-1] == pytest.approx(np.log(20), rel=1e-9)
    assert c.anytime_bounds(VALUES, 0.05, 1.0, [lam])[-1] <= min(bounds) * (1 + 1e-9)
    product = c.product_bound(VALUES[:, None], [1.0], 0.0, lam, 0.05, 1.0)
    assert product == pytest.approx(bounds[-1], rel=1e-9)


def test_a_mixture_is_the_average_of_ville_s_e_values():
    grid = anytime.DEFAULT_GRID
    bound = float(anytime.mean_from_products(anytime.log_products(VALUES).sum(axis=0)[None], np.array([25]), 0.05)[0])
    logs = [ville_log_wealth(VALUES, bound, lam * (1 - bound) / (1 - lam * bound))[-1] for lam in grid]
    assert ville.evalues.combine(np.exp(logs)) == pytest.approx(20, rel=1e-8)


def test_indicators_are_a_mixture_of_coins():
    """A grid that is a uniform prior on coins gives the e-process of ville's `BernoulliTest`.

    At the mean p, λ means the coin q = p(1-λ) / (1-λp), below p; of ville's mixture over all q this is the lower part.
    """
    p, solved = 0.4, np.random.default_rng(31).random(40) < 0.2
    heads = solved.sum()
    q = (np.arange(4000) + 0.5) / 4000 * p
    lams = (p - q) / (p * (1 - q))
    logs = anytime.log_products(solved.astype(float), lams).sum(axis=0) - len(solved) * np.log1p(-lams * p)
    below = special.betainc(heads + 1, len(solved) - heads + 1, p)
    whole = ville.BernoulliTest(p).fit(solved.astype(float)).log_e_values_[-1]
    assert special.logsumexp(logs) - np.log(4000) + np.log(p) == pytest.approx(whole + np.log(below), rel=1e-5)


@pytest.mark.parametrize(
    ("regime", "num_problems"),
    [("stopping time", 250), ("contraction", 50), ("contraction", 250), ("failures of 1%", 250)],
)
def test_ours_are_tighter_than_hedged_betting(regime, num_problems):
    """Hedged betting (Waudby-Smith and Ramdas) with the same one-sided failure probability, in the mean of ten."""
    values, _ = samples(regime, 10, num_problems, seed=32)
    hedged = np.mean([ville.BettingCS(alpha=0.1, grid=2000).fit(sample).upper_[-1] for sample in values])
    assert np.mean([c.betting_bound(sample, 0.05, 1.0) for sample in values]) < hedged


def test_ville_s_root_is_ours():
    """The hypothesis at which ville's wealth is 20, found by SciPy, is our bound for the same bets."""

    def excess(mean):
        return ville_log_wealth(VALUES, mean, 0.5 * (1 - mean) / (1 - 0.5 * mean))[-1] - np.log(20)

    root = optimize.brentq(excess, VALUES.mean(), 1 - 1e-9, xtol=1e-13)
    sums = anytime.log_products(VALUES, [0.5]).sum(axis=0)
    assert anytime.mean_from_products(sums[None], np.array([25]), 0.05, [0.5])[0] == pytest.approx(root, rel=1e-9)
