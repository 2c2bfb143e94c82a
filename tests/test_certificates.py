"""Certificates: identities, values against independent implementations, numerics, records and refusals."""

import json
import pickle
import time

import jax
import numpy as np
import pytest
from scipy import optimize, special, stats

from loa import certificates as c
from loa.certificates import reference
from loa.certificates.bounds import betting, distribution, pac_bayes_kl

RNG = np.random.default_rng(17)
UNIFORM = np.full(20, 1 / 20)


@pytest.fixture(autouse=True)
def the_same_numbers_in_any_order():
    RNG.bit_generator.state = np.random.default_rng(17).bit_generator.state


def indicators(problems=200, candidates=20):
    return (RNG.random((problems, candidates)) < np.linspace(0.01, 0.3, candidates)).astype(float)


# The paper's theorems and their relatives


def test_the_papers_theorem_as_stated():
    expected = 250 + (2 + 0.3**2 / (2 * 1000) * 500**2 - np.log(0.05)) / 0.3
    assert c.paper_bound(250, 2, 1000, 0.3, 0.05, 500) == pytest.approx(expected, rel=1e-12)
    sharp = 250 + (2 + 0.3**2 / (8 * 1000) * 500**2 - np.log(0.05)) / 0.3
    assert c.sharp_bound(250, 2, 1000, 0.3, 0.05, 500) == pytest.approx(sharp, rel=1e-12)


def test_the_theorem_on_trajectory_properties_as_stated():
    scale, argument = 400 / 1000, 0.02 + (2 + np.log(20)) / 400
    expected = (1 - np.exp(-scale * argument)) / (1 - np.exp(-scale))
    assert c.catoni_bound(0.02, 2, 1000, 400, 0.05) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("lam", [1e-4, 0.03, 0.5, 0.99])
def test_catoni_is_the_product_bound_on_indicators(lam):
    values = indicators()
    posterior = c.gibbs_posterior(values, UNIFORM, lam, 1.0)
    kl = c.kl_divergence(posterior, UNIFORM)
    empirical = (values @ posterior).mean()
    catoni = c.catoni_bound(empirical, kl, 200, -200 * np.log1p(-lam), 0.05)
    assert c.product_bound(values, posterior, kl, lam, 0.05, 1.0) == pytest.approx(catoni, rel=1e-9)


def test_the_product_bound_is_never_worse_than_catonis():
    values = RNG.beta(2, 5, size=(300, 20))
    for lam in (0.05, 0.3, 0.8):
        posterior = c.gibbs_posterior(values, UNIFORM, lam, 1.0)
        kl = c.kl_divergence(posterior, UNIFORM)
        catoni = c.catoni_bound((values @ posterior).mean(), kl, 300, -300 * np.log1p(-lam), 0.05)
        assert c.product_bound(values, posterior, kl, lam, 0.05, 1.0) < catoni


def test_occam_is_a_dirac_posterior():
    values, prior = indicators(), RNG.dirichlet(np.ones(20))
    dirac = np.eye(20)[3]
    kl = c.kl_divergence(dirac, prior)
    assert kl == pytest.approx(-np.log(prior[3]))
    one = c.product_bound(values[:, [3]], [1.0], 0.0, 0.2, 0.05 * prior[3], 1.0)
    assert c.product_bound(values, dirac, kl, 0.2, 0.05, 1.0) == pytest.approx(one)
    occam = c.certify_occam(values[:, 3], prior[3], cap=1.0)
    assert occam.bound == c.betting_bound(values[:, 3], 0.05 * prior[3], 1.0)
    assert occam.kl == pytest.approx(kl)


def test_no_posterior_beats_that_of_gibbs():
    values, prior = 7 * RNG.random((100, 20)), RNG.dirichlet(np.ones(20))

    def bound(posterior):
        return c.product_bound(values, posterior, c.kl_divergence(posterior, prior), 0.4, 0.05, 7.0)

    best = bound(c.gibbs_posterior(values, prior, 0.4, 7.0))
    others = [*np.eye(20), *RNG.dirichlet(np.ones(20), 50), *RNG.dirichlet(np.full(20, 0.1) + 1e-3, 50), prior]
    assert all(best < bound(posterior) for posterior in others)


def test_the_chosen_lambda_is_the_best():
    values = RNG.beta(2, 5, size=(400, 1))
    chosen = c.choose_lambda(values, 0.0, 400, 0.05, 1.0)
    bounds = {
        lam: c.product_bound(values, [1.0], 0.0, lam, 0.05, 1.0) for lam in [chosen, *np.linspace(0.01, 0.99, 99)]
    }
    assert bounds[chosen] <= min(bounds.values()) * (1 + 1e-4)


def test_the_papers_lambda_is_the_best():
    for sharp, bound in ((False, c.paper_bound), (True, c.sharp_bound)):
        best = c.paper_lambda(2.0, 300, 0.05, 50.0, sharp=sharp)
        around = bound(10.0, 2.0, 300, best * np.array([0.9, 1.0, 1.1]), 0.05, 50.0)
        assert np.argmin(around) == 1


def test_a_grid_costs_the_logarithm_of_its_size():
    values, grid = indicators()[:, :1], c.geometric_grid(0.01, 0.9, 10)
    choice = c.product_bound_on_grid(values, [1.0], 1.0, grid, 0.05, 1.0)
    alone = c.product_bound(values, [1.0], 1.0 + np.log(10), choice.lam, 0.05, 1.0)
    assert choice.bound == pytest.approx(alone)
    assert choice.bound == min(c.product_bound(values, [1.0], 1.0, lam, 0.005, 1.0) for lam in grid)


def test_the_inverse_of_kl_is_one():
    p, q = np.meshgrid([0.0, 1e-6, 0.1, 0.5, 0.9, 0.999], [1e-9, 1e-4, 0.1, 1.0, 10.0])
    inverse = pac_bayes_kl.kl_inverse(p, q)
    assert (pac_bayes_kl.binary_kl(p, inverse) >= q).all()
    assert (pac_bayes_kl.binary_kl(p, np.maximum(inverse * (1 - 1e-6), p)) <= q * (1 + 1e-12)).all()


def test_the_kl_bound_solves_its_equation():
    right = (2 + np.log(2 * np.sqrt(300) / 0.05)) / 300
    root = optimize.brentq(lambda q: stats.entropy([0.3, 0.7], [q, 1 - q]) - right, 0.3, 1 - 1e-9)
    assert c.kl_bound(15.0, 2.0, 300, 0.05, 50.0) == pytest.approx(50 * root, rel=1e-8)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 8, 50, 1000])
def test_maurers_constant(count):
    """The constant of the PAC-Bayes-kl bound, by its definition, for every small N."""
    k = np.arange(count + 1)
    exact = np.exp(special.gammaln(count + 1) - special.gammaln(k + 1) - special.gammaln(count - k + 1)
                   + special.xlogy(k, k / count) + special.xlogy(count - k, 1 - k / count)).sum()  # fmt: skip
    assert exact <= 2 * np.sqrt(count) * (1 + 1e-12)


# Monotone, and in the limit what one expects


def posterior_bounds(num_problems=200, kl=1.0, delta=0.05, cap=1.0):
    values = np.resize(np.array([0.1, 0.4]) * cap, (num_problems, 1))
    return {
        "paper": c.paper_bound(0.25 * cap, kl, num_problems, 40 / cap, delta, cap),
        "sharp": c.sharp_bound(0.25 * cap, kl, num_problems, 40 / cap, delta, cap),
        "kl": c.kl_bound(0.25 * cap, kl, num_problems, delta, cap),
        "catoni": c.catoni_bound(0.25, kl, num_problems, num_problems * 0.3, delta) * cap,
        "product": c.product_bound(values, [1.0], kl, 0.3, delta, cap),
    }


def sample_bounds(num_problems=200, delta=0.05, cap=1.0):
    values = np.resize(np.array([0.1, 0.4]) * cap, num_problems)
    return {
        "betting": c.betting_bound(values, delta, cap),
        "tail": c.tail_bound(values, 0.2 * cap, delta),
        "clopper-pearson": c.clopper_pearson_upper(num_problems // 4, num_problems, delta),
        "band": distribution.band_width(num_problems, delta),
        "cvar": c.cvar_bound(values, 0.5, 0.2 * cap, delta, cap),
        "anytime": c.anytime_bounds(values, delta, cap)[-1],
    }


@pytest.mark.parametrize("bounds", [posterior_bounds, sample_bounds])
def test_bounds_shrink_with_more_problems_and_less_confidence(bounds):
    ladder = [bounds(num_problems=100), bounds(num_problems=400), bounds(num_problems=1600)]
    steps = [bounds(delta=0.001), bounds(delta=0.05), bounds(delta=0.2)]
    for name in ladder[0]:
        assert ladder[0][name] > ladder[1][name] > ladder[2][name], name
        assert steps[0][name] > steps[1][name] > steps[2][name], name


def test_bounds_grow_with_the_divergence():
    for name, bound in posterior_bounds().items():
        assert posterior_bounds(kl=0.0)[name] < bound < posterior_bounds(kl=3.0)[name], name


@pytest.mark.parametrize("cap", [1e-6, 500.0, 1e6])
@pytest.mark.parametrize("bounds", [posterior_bounds, sample_bounds])
def test_bounds_scale_with_the_cap(bounds, cap):
    for name, bound in bounds(cap=cap).items():
        unscaled = {"tail", "clopper-pearson", "band"}
        assert bound == pytest.approx(bounds()[name] * (1 if name in unscaled else cap), rel=1e-9), name


def test_many_problems_leave_only_the_mean():
    values = np.resize([0.1, 0.4], (10**6, 1))
    assert c.product_bound(values, [1.0], 0.0, 0.005, 0.05, 1.0) == pytest.approx(0.25, abs=1e-3)
    assert c.betting_bound(values[:, 0], 0.05, 1.0) == pytest.approx(0.25, abs=5e-4)
    assert c.kl_bound(0.25, 0.0, 10**6, 0.05) == pytest.approx(0.25, abs=3e-3)


# Numerics: nothing is NaN, nothing falls below the truth


@pytest.mark.parametrize(
    ("num_problems", "cap"), [(n, cap) for n in (1, 2, 20, 1000) for cap in (1e-6, 1.0, 1e6)] + [(10**6, 500.0)]
)
def test_extreme_samples(num_problems, cap):
    for share in (0.0, 1.0):
        values = np.full(num_problems, share * cap)
        bounds = [
            c.betting_bound(values, 0.05, cap),
            c.product_bound(values[:, None], [1.0], 0.0, 0.5, 0.05, cap),
            c.kl_bound(share * cap, 0.0, num_problems, 0.05, cap),
            c.cvar_bound(values, 0.9, 0.0, 0.05, cap),
            c.anytime_bounds(values, 0.05, cap)[-1],
            c.KLMean("x", cap).certify(values[:, None], [1.0], [1.0], 0.95).bound,
        ]
        assert np.isfinite(bounds).all()
        assert all(share * cap < bound <= cap or share == 1.0 == bound / cap for bound in bounds)
        bounds = [
            c.paper_bound(share * cap, 0.0, num_problems, 1 / cap, 0.05, cap),
            c.sharp_bound(share * cap, 0.0, num_problems, 1 / cap, 0.05, cap),
        ]
        assert np.isfinite(bounds).all()
        assert min(bounds) > share * cap
        assert 0 <= c.lower_betting_bound(values, 0.05, cap) <= share * cap
        assert c.quantile_bound(values, 0.5, 0.05) in (share * cap, np.inf)
        failed = np.full((num_problems, 1), 1 - share)
        assert 0 <= c.PosteriorProbability("x").certify(failed, [1.0], [1.0], 0.95).bound <= 1 - share
        if num_problems > 1000:
            continue  # these take seconds
        band = c.Distribution("x", cap=2 * cap).certify(values, 0.95).band
        assert band is not None
        assert [value for value, _ in band] == [share * cap]
        assert 0 < band[0][1] < 1
        assert c.difference_bound(values, values, 0.05, cap) >= 0
        assert min(c.ratio_bound(values, values, 0.05, cap), c.anytime_ratio_bound(values, values, 0.05, cap)) >= 1
    assert 0 < c.catoni_bound(0.0, 0.0, num_problems, 1.0, 0.05) <= 1
    assert c.clopper_pearson_upper(0, num_problems, 0.05) >= 1 - 0.05 ** (1 / num_problems)


def test_all_zeros_come_close_to_the_best_possible():
    for count in (20, 250, 1000):
        assert c.betting_bound(np.zeros(count), 0.05, 1.0) <= 1.02 * (1 - 0.05 ** (1 / count))


def test_lambdas_of_any_size():
    values = RNG.random((50, 3))
    for lam in (1e-300, 1e-12, 0.5, 1 - 1e-15):
        assert np.isfinite(c.product_bound(values, [0.2, 0.3, 0.5], 1.0, lam, 0.05, 1.0))
    for lam in (1e-12, 1.0, 1e12):
        assert np.isfinite(c.catoni_bound(0.3, 1.0, 50, lam, 0.05))


def test_single_precision_values_respect_a_cap_that_is_no_float32():
    values = np.minimum(np.float32([0.5, 2.0]), np.float32(0.98))
    assert float(values.max()) > 0.98
    assert c.certify(values, cap=0.98).bound <= 0.98


def test_the_confidence_of_a_tiny_share():
    assert c.clopper_pearson_upper(0, 100, 1e-12) == pytest.approx(1 - 1e-12 ** (1 / 100), rel=1e-8)
    assert c.betting_bound(RNG.random(100), 1e-12, 1.0) < 0.9


def test_the_full_stack_is_fast():
    values, prior = RNG.beta(5, 5, size=(1000, 100)), np.full(100, 0.01)
    start = time.process_time()
    lam = c.choose_lambda(values, 2.0, 1000, 0.05, 1.0)
    posterior = c.gibbs_posterior(values, prior, lam, 1.0)
    c.certify_posterior(values, posterior, prior, cap=1.0, lam=lam)
    c.reference_certificates(values, posterior, prior, cap=1.0)
    c.certify(values[:, 0], cap=1.0)
    c.Quantile("x", 0.9, cap=1.0).certify(values[:, 0], 0.95)
    c.CVaR("x", 0.9, 0.6, 1.0).certify(values[:, 0], 0.95)
    c.tight_band(values[:, 0], 0.05)
    assert time.process_time() - start < 10  # 1 s on an idle core


# Against independent implementations


def test_clopper_pearson_is_scipys():
    for successes, trials in ((0, 10), (1, 10), (7, 30), (30, 30)):
        test = stats.binomtest(successes, trials)
        interval = test.proportion_ci(0.9, method="exact")
        assert c.clopper_pearson_lower(successes, trials, 0.05) == pytest.approx(interval.low, rel=1e-9)
        assert c.clopper_pearson_upper(successes, trials, 0.05) == pytest.approx(interval.high, rel=1e-9)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_quantiles_are_scipys(level):
    values = RNG.exponential(size=200)
    interval = stats.quantile_test(values, p=level, alternative="less").confidence_interval(0.95)
    assert c.quantile_bound(values, level, 0.05) == interval.high


@pytest.mark.parametrize("count", [1, 10, 500])
def test_the_simple_band_is_kolmogorov_and_smirnovs(count):
    assert stats.ksone.sf(distribution.band_width(count, 0.05), count) == pytest.approx(0.05, rel=1e-5)


def test_crossing_probabilities():
    """Against inclusion and exclusion for two, and the exact distribution of the Kolmogorov–Smirnov distance."""
    assert distribution.never_below(np.array([0.3, 0.5])) == pytest.approx(0.7**2 - 0.2**2)
    boundaries = np.maximum(np.arange(1, 41) / 40 - 0.15, 0.0)
    assert distribution.never_below(boundaries) == pytest.approx(stats.ksone.cdf(0.15, 40), rel=1e-10)


def test_a_bet_by_hand():
    """Three bets, written out."""
    wealth, mean, delta, values = 1.0, 0.6, 0.05, [0.2, 0.3, 0.9]
    squares = 0.0
    for time_, value in enumerate(values):
        moment = mean * (1 - mean)
        if time_:
            average, margin = squares / time_, (1 - mean) ** 2 / time_
            moment = min(moment, average + np.sqrt(2 * average * margin) + margin)
        bet = min(np.sqrt(2 * np.log(1 / delta / wealth) / ((3 - time_) * moment)), (1 - 1e-6) / (1 - mean))
        wealth *= 1 + bet * (mean - value)
        squares += (value - mean) ** 2
    computed = betting.log_wealth(np.array(values)[:, None], np.array([mean]), delta, np.zeros(0))
    assert np.exp(computed[0]) == pytest.approx(wealth)


def test_the_bound_is_above_every_survivor_of_the_grid():
    values = RNG.beta(2, 3, size=60)
    shuffled = values[np.random.RandomState(0).permutation(60)]
    grid = betting.grid_point(np.arange(1, betting.GRID_SIZE))
    survives = betting.log_wealth(shuffled[:, None], grid, 0.98 * 0.05, np.zeros(0)) < np.log(1 / (0.98 * 0.05))
    highest = pac_bayes_kl.kl_inverse(values.mean(), np.log(100 / 0.05) / 60)
    bound = c.betting_bound(values, 0.05, 1.0)
    assert (grid[survives & (grid <= highest)] < bound).all()
    assert bound == pytest.approx(grid[survives & (grid <= highest)].max(), abs=2e-4)


def test_replicates_of_a_problem_are_averaged():
    values = RNG.random((50, 4))
    assert c.certify(values, cap=1.0).bound == c.certify(values.mean(axis=1), cap=1.0).bound


def test_pairs_say_more_than_two_separate_bounds():
    baseline = RNG.gamma(6, 40, 250).clip(max=500)
    values = (0.9 * baseline + RNG.normal(0, 10, 250)).clip(0, 500)
    ratio = c.ratio_bound(values, baseline, 0.05, 500.0)
    assert values.mean() / baseline.mean() < ratio < 0.95
    assert c.difference_bound(values, baseline, 0.05, 500.0) < 0
    apart = c.betting_bound(values, 0.025, 500.0) / c.lower_betting_bound(baseline, 0.025, 500.0)
    assert apart > 0.97


def test_ratios_at_the_ends():
    assert c.ratio_bound(np.ones(100), np.zeros(100), 0.05, 1.0) == np.inf
    assert c.ratio_bound(np.zeros(1000), np.ones(1000), 0.05, 1.0) < 0.05


# The record


def example():
    return c.Mean("stopping_time", cap=500.0).certify(RNG.integers(50, 250, 200), 0.95, draws={"held-out": "abc"})


def all_kinds():
    values = RNG.integers(50, 501, (300, 2)).astype(float)
    yield c.certify(values[:, 0], cap=500.0)
    yield c.certify(values[:, 0] > 400, cap=1, functional="slow")
    yield c.Probability("solved").certify(values[:, 0] < 500, 0.95)
    yield c.Tail("stopping_time", 400.0, cap=501.0).certify(values[:, 0], 0.95)
    yield c.Quantile("stopping_time", 0.9, cap=None).certify(values[:, 0], 0.95)
    yield c.Quantile("stopping_time", 0.999, cap=None).certify(values[:, 0], 0.95)
    yield c.CVaR("stopping_time", 0.9, 450.0, 500.0).certify(values[:, 0], 0.95)
    yield c.Distribution("stopping_time", cap=None).certify(values[:, 0], 0.95)
    yield c.Distribution("stopping_time", cap=500.0).certify(values[:, 0], 0.95)
    yield c.Distribution("contraction_factor", cap=None).certify(values[:3, 0] / 500, 0.95)
    yield c.Quantile("stopping_time", 0.9, cap=None).certify(values[:, 0], 0.95, prior_mass=0.01)
    yield c.certify_until(c.Tail("stopping_time", 400.0, cap=501.0), [(np.arange(300), values[:, 0])], reaching=0.0)
    yield c.PosteriorProbability("solved").certify(values < 500, [0.5, 0.5], [0.1, 0.9], 0.95)
    yield c.PaperMean("stopping_time", 500.0, lam=0.1).certify(values, [0.5, 0.5], [0.1, 0.9], 0.95)
    yield c.certify_posterior(values, [0.5, 0.5], [0.1, 0.9], cap=500.0, lam=0.3)
    yield c.certify_posterior(values, [0.5, 0.5], [0.1, 0.9], cap=500.0, lam=(0.1, 0.3))
    yield c.certify_occam(values[:, 0], 0.01, cap=500.0)
    yield from c.reference_certificates(values, [0.5, 0.5], [0.1, 0.9], cap=500.0)


@pytest.mark.parametrize(
    "certificate", list(all_kinds()), ids=lambda certificate: f"{certificate.measure} {certificate.kind}"
)
def test_a_certificate_survives_its_file(certificate, tmp_path):
    certificate.save(tmp_path / "certificate.json")
    assert c.Certificate.load(tmp_path / "certificate.json") == certificate
    content = json.loads((tmp_path / "certificate.json").read_text())
    assert {"functional", "kind", "target", "bound", "empirical", "confidence", "n", "cap"} <= set(content)
    assert certificate.assumptions
    assert certificate.sentence().startswith("With 95% confidence, ")


def test_what_is_not_a_certificate_is_refused():
    with pytest.raises(ValueError, match="not a certificate"):
        c.Certificate.from_json('{"bound": 1}')
    with pytest.raises(ValueError, match="measure must be one of"):
        c.Certificate(functional="x", measure="mode", kind="", bound=1, empirical=1, confidence=0.9, n=1)


def test_sentences_are_rounded_outward():
    certificate = c.Certificate(
        functional="contraction_factor",
        measure="mean",
        kind="betting",
        bound=0.93001,
        empirical=0.9,
        confidence=0.95,
        n=9,
    )
    assert "the algorithm's contraction factor is at most 0.9301 on average" in certificate.sentence()
    solved = c.Certificate(
        functional="solved", measure="probability", kind="x", bound=0.99999, empirical=1.0, confidence=0.95, n=9
    )
    assert "the algorithm solves at least 99.99% of new problems" in solved.sentence()


def test_a_sentence_says_what_truncation_hides():
    values = np.r_[np.full(90, 100.0), np.full(10, 500.0)]
    sentence = c.certify(values, cap=500.0, functional="stopping_time").sentence()
    assert "(values are capped at 500; 10% of the sample reached the cap)" in sentence


def test_a_vacuous_certificate_says_so():
    certificate = c.Quantile("stopping_time", 0.9, cap=None).certify([1.0, 2.0], 0.95)
    assert certificate.vacuous
    assert "nothing can be said" in certificate.sentence()


def test_diverged_runs_count_as_the_cap():
    values = np.array([1.0, np.nan, 3.0])
    marked = c.certify(values, cap=10.0, diverged=[False, True, False])
    assert marked == c.certify([1.0, 10.0, 3.0], cap=10.0)


def test_the_same_values_are_not_fresh():
    values = RNG.random(50)
    with pytest.raises(ValueError, match="verify it on fresh problems"):
        c.certify(values, cap=1.0).verify(values[:, None])


def test_fresh_values_contradict_what_is_false_only():
    fresh = RNG.permutation(np.arange(1000.0))
    solved = fresh < 900
    true = [
        c.certify(fresh, cap=1000.0),
        c.Probability("solved").certify(solved, 0.95),
        c.Tail("x", 800.0, cap=None).certify(fresh, 0.95),
        c.Quantile("x", 0.5, cap=None).certify(fresh, 0.95),
        c.CVaR("x", 0.5, 500.0, 1000.0).certify(fresh, 0.95),
        c.Distribution("x", cap=None).certify(fresh, 0.95),
        c.Distribution("x", cap=950.0).certify(np.minimum(fresh, 950.0), 0.95),
        c.Mean("x", 1000.0).certify(fresh, 0.95, prior_mass=0.1),
        c.certify_until(c.Mean("x", 1000.0), [(fresh, fresh)], within=0.1),
        c.PosteriorProbability("solved").certify(solved[:, None] & [True, True], [0.5, 0.5], [0.5, 0.5], 0.95),
        c.certify_posterior(fresh[:, None] * [1.0, 0.5], [0.5, 0.5], [0.5, 0.5], cap=1000.0, lam=0.2),
    ]
    for certificate in true:
        better = np.ones(1000) if certificate.measure == "probability" else fresh * 0.5
        worse = fresh < 700 if certificate.measure == "probability" else np.minimum(fresh * 1.5, 1000.0)
        if certificate.posterior:
            columns = [1.0, 1.0 if certificate.measure == "probability" else 0.5]
            better, worse = better[:, None] * columns, worse[:, None] * columns
        assert not certificate.verify(better).contradicted, certificate
        assert certificate.verify(worse).contradicted, certificate
        assert "at most 1% of the time" in certificate.verify(worse).sentence()


# Budget, draws and plan


def test_a_budget_adds_up():
    budget = c.Budget(0.95, {"time": 3, "rate": 1, "success": 1})
    confidences = [budget.spend(name) for name in ("time", "rate", "success")]
    assert sum(1 - confidence for confidence in confidences) == pytest.approx(0.05)
    assert budget.unspent == ()
    with pytest.raises(c.OverspentError, match="'time' has been spent"):
        budget.spend("time")
    with pytest.raises(c.OverspentError, match="'calls' is not in the budget"):
        budget.spend("calls")


def test_a_budget_reports_what_holds_together():
    budget = c.Budget(0.9, {"time": 1, "success": 1})
    time_ = c.certify(np.tile([1.0, 0.5], 25), cap=2.0, confidence=budget.spend("time"))
    success = c.Probability("solved").certify(np.ones(50), budget.spend("success"))
    report = budget.report([time_, success])
    assert report.startswith("With 90% confidence, all of the following hold together:")
    assert report.count("\n- ") == 2
    assert c.joint_confidence([time_, success]) == pytest.approx(0.9)
    with pytest.raises(c.OverspentError, match="hold together with only 85% confidence, but 90% was declared"):
        budget.report([time_, success, c.certify(np.tile([1.0, 0.5], 25), cap=2.0)])


def test_draws_know_what_overlaps():
    problems = {"matrix": RNG.random((30, 3, 3)), "vector": RNG.random((30, 3))}

    def part(start, stop, role, **options):
        return c.Draw.of(jax.tree.map(lambda leaf: leaf[start:stop], problems), role, **options)

    c.check_disjoint(part(0, 10, "prior"), part(10, 20, "posterior"), part(20, 30, "held-out"))
    c.check_disjoint(part(0, 10, "prior"), part(0, 10, "validation"), part(10, 30, "held-out"))
    for first, second in (("prior", "posterior"), ("prior", "held-out"), ("posterior", "held-out"),
                          ("validation", "held-out"), ("validation", "posterior")):  # fmt: skip
        with pytest.raises(c.OverlapError, match=f"3 problems are both in the {first} draw .* different keys"):
            c.check_disjoint(part(0, 10, first), part(7, 20, second))
    c.check_disjoint(part(0, 10, "prior", finite=True), part(7, 20, "posterior", finite=True))
    with pytest.raises(c.OverlapError):
        c.check_disjoint(part(0, 10, "prior", finite=True), part(0, 10, "posterior", finite=True))
    assert part(0, 10, "prior").fingerprint == part(0, 10, "prior").fingerprint
    assert part(0, 10, "prior").fingerprint != part(0, 11, "prior").fingerprint


def test_draws_of_keys():
    keys = jax.random.split(jax.random.key(0), 4)
    assert len(c.Draw.of(keys, "prior")) == 4


def a_plan(**options):
    return c.Plan({"time": c.Mean("stopping_time", 500.0), "success": c.Probability("solved")}, **options)


def test_a_plan_is_frozen():
    plan = a_plan()
    with pytest.raises(AttributeError):
        plan.confidence = 0.5  # pyright: ignore
    with pytest.raises(TypeError, match="a plan is frozen"):
        plan.goals["time"] = c.Mean("stopping_time", 100.0)  # pyright: ignore
    assert pickle.loads(pickle.dumps(plan)) == plan == a_plan()
    assert plan.fingerprint == a_plan().fingerprint
    others = [
        a_plan(posterior_goals={"mean": c.PosteriorMean("stopping_time", 500.0, lam)}) for lam in (0.5, (0.5, 0.6))
    ]
    assert plan.fingerprint != others[0].fingerprint != others[1].fingerprint
    assert plan.fingerprint != a_plan(confidence=0.9).fingerprint


def test_a_plan_certifies_all_of_it_together():
    posterior, held_out = c.Draw.of(RNG.random((50, 2)), "posterior"), c.Draw.of(RNG.random((60, 2)), "held-out")
    values = {"stopping_time": RNG.integers(1, 400, 60), "solved": np.ones(60)}
    certificates = a_plan(draws=(posterior,), parts={"time": 4, "success": 1}).certify(values, held_out)
    assert c.joint_confidence(certificates) == pytest.approx(0.95)
    assert [certificate.confidence for certificate in certificates] == pytest.approx([0.96, 0.99])
    assert certificates[0].draws["held-out"] == held_out.fingerprint
    assert certificates[0].draws["posterior"] == posterior.fingerprint
    assert "plan" in certificates[0].draws


def test_a_plan_certifies_the_posterior_too():
    posterior, held_out = c.Draw.of(RNG.random((50, 2)), "posterior"), c.Draw.of(RNG.random((60, 2)), "held-out")
    plan = a_plan(posterior_goals={"average": c.PosteriorMean("stopping_time", 500.0, 0.3)})
    budget = plan.budget()
    values = {"stopping_time": 400 * RNG.random((50, 2))}
    average = plan.certify_posterior(values, [0.5, 0.5], [0.5, 0.5], posterior, budget=budget)
    deployed = plan.with_draw(posterior).certify(
        {"stopping_time": np.ones(60), "solved": np.ones(60)}, held_out, budget=budget
    )
    assert c.joint_confidence([*average, *deployed]) == pytest.approx(0.95)
    assert budget.unspent == ()
    alone = c.product_bound(values["stopping_time"], [0.5, 0.5], 0.0, 0.3, 0.05 / 3, 500.0)
    assert average[0].bound == pytest.approx(alone)
    with pytest.raises(c.OverspentError):
        plan.certify_posterior(values, [0.5, 0.5], [0.5, 0.5], posterior, budget=budget)
    with pytest.raises(c.OverlapError):
        plan.with_draw(c.Draw("posterior", held_out.fingerprints)).certify(
            {"stopping_time": np.ones(60), "solved": np.ones(60)}, held_out
        )


def test_a_plan_refuses_what_it_was_not_made_for():
    held_out = c.Draw.of(RNG.random(60), "held-out")
    values = {"stopping_time": np.ones(60), "solved": np.ones(60)}
    with pytest.raises(c.OverlapError):
        a_plan(draws=(c.Draw("posterior", held_out.fingerprints),)).certify(values, held_out)
    with pytest.raises(ValueError, match="none may be dropped"):
        a_plan().certify(values | {"solved": np.ones(59)}, held_out)
    with pytest.raises(ValueError, match="'success' needs 'solved'; there are stopping_time"):
        a_plan().certify({"stopping_time": np.ones(60)}, held_out)
    with pytest.raises(ValueError, match="got one with the role prior"):
        a_plan().certify(values, c.Draw("prior", held_out.fingerprints))
    with pytest.raises(ValueError, match="an entry for every goal"):
        a_plan(parts={"time": 1.0})


def test_a_plan_knows_its_sizes():
    """The number of problems is fixed beforehand: drawing on until one likes the result is refused."""
    plan = a_plan(sizes={"held-out": 60})
    values = {"stopping_time": np.ones(61), "solved": np.ones(61)}
    with pytest.raises(ValueError, match="has 60 held-out problems, but the draw has 61: their number is fixed"):
        plan.certify(values, c.Draw.of(RNG.random(61), "held-out"))
    with pytest.raises(ValueError, match="has 60 held-out problems, but the draw has 50"):
        plan.with_draw(c.Draw.of(RNG.random(50), "held-out"))


def test_a_plan_decides_between_held_out_problems_and_occam():
    """By the rule, before data: 41 % of the problems must be held out for ten candidates, 25 % for a hundred."""
    sizes = {"posterior": 700, "held-out": 300, "prior": 100}
    plan = c.Plan({"time": c.Mean("stopping_time", 500.0)}, sizes=sizes)
    many, few = plan.decided(np.full(100, 0.01)), plan.decided(np.full(10, 0.1))
    assert (many.deployed_on, dict(many.sizes)) == ("held-out", sizes)
    assert (few.deployed_on, dict(few.sizes)) == ("posterior", {"posterior": 1000, "prior": 100})
    assert many.fingerprint == plan.fingerprint != few.fingerprint
    lopsided = np.r_[1 - 1e-6, np.full(99, 1e-6 / 99)]
    assert plan.decided(lopsided).deployed_on == "posterior"
    only = c.Plan({"time": c.Mean("stopping_time", 500.0)}, sizes={"posterior": 50})
    assert only.decided([0.5, 0.5]).deployed_on == "posterior"


def test_a_plan_by_occam():
    draw = c.Draw.of(RNG.random(60), "posterior")
    goals = {"time": c.Mean("stopping_time", 500.0), "success": c.Probability("solved")}
    plan = c.Plan(goals, {"average": c.PosteriorMean("stopping_time", 500.0, 0.3)}, deployed_on="posterior")
    values = {"stopping_time": RNG.integers(1, 400, 60), "solved": np.ones(60)}
    budget = plan.budget()
    certificates = plan.certify(values, draw, prior_mass=0.02, budget=budget)
    share = 0.05 / 3
    assert certificates[0].bound == c.betting_bound(values["stopping_time"], share * 0.02, 500.0)
    assert certificates[1].bound == pytest.approx(c.clopper_pearson_lower(60, 60, share * 0.02))
    for certificate in certificates:
        assert certificate.kind == "occam"
        assert certificate.kl == pytest.approx(-np.log(0.02))
        assert certificate.confidence == pytest.approx(1 - share)
        assert certificate.draws["posterior"] == draw.fingerprint
    table = {"stopping_time": np.stack([values["stopping_time"]] * 2, axis=1)}
    average = plan.certify_posterior(table, [0.5, 0.5], [0.5, 0.5], draw, budget=budget)
    assert c.joint_confidence([*certificates, *average]) == pytest.approx(0.95)
    with pytest.raises(ValueError, match="give the prior_mass of the algorithm if, and only if"):
        plan.certify(values, draw)
    with pytest.raises(ValueError, match="this plan does so on held-out problems"):
        a_plan().certify(values, c.Draw("held-out", draw.fingerprints), prior_mass=0.5)
    with pytest.raises(ValueError, match="certified on a posterior draw, got one with the role held-out"):
        plan.certify(values, c.Draw("held-out", draw.fingerprints), prior_mass=0.5)


def test_a_tiny_prior_mass_is_no_rounding_error():
    """δπ(h) is far below the last digit of the confidence."""
    values = RNG.random(500)
    certificate = c.Mean("x", 1.0).certify(values, 0.95, prior_mass=1e-40)
    assert certificate.bound == c.betting_bound(values, 0.05 * 1e-40, 1.0) < 1


def test_the_papers_bounds_beside_a_plan():
    """Three for a mean, one for a property; each with all of the confidence, from the same data."""
    draw, prior, posterior = c.Draw.of(RNG.random(200), "posterior"), np.full(4, 0.25), np.array([0.1, 0.2, 0.3, 0.4])
    values = {"stopping_time": RNG.integers(50, 500, (200, 4)).astype(float)}
    values["solved"] = values["stopping_time"] < 450
    plan = c.Plan(
        {"time": c.Mean("stopping_time", 500.0)},
        {"average": c.PosteriorMean("stopping_time", 500.0, 0.3), "solved": c.PosteriorProbability("solved")},
    )
    references = plan.references(values, posterior, prior, draw)
    assert [(each.functional, each.kind) for each in references] == [
        ("stopping_time", "paper"), ("stopping_time", "paper with sharp constant"), ("stopping_time", "pac-bayes-kl"),
        ("solved", "paper"),
    ]  # fmt: skip
    assert {each.confidence for each in references} == {0.95}
    assert {each.draws["posterior"] for each in references} == {draw.fingerprint}
    for each, cost in ((references[0], values["stopping_time"]), (references[3], 1.0 - values["solved"])):
        own = np.array(each.posterior)
        kl, empirical = c.kl_divergence(own, prior), (cost @ own).mean()
        theorem, cap = (c.catoni_bound, ()) if each.functional == "solved" else (c.paper_bound, (500.0,))
        bound = theorem(empirical, kl, 200, each.lam, 0.05 / 8, *cap)
        assert (1 - each.bound if each.functional == "solved" else each.bound) == pytest.approx(bound, rel=1e-12)


def test_the_papers_posterior_minimizes_its_theorem():
    """Against a numerical minimizer over all distributions, at the λ chosen on other problems; ours is not better."""
    costs = RNG.integers(50, 500, (300, 4)) * np.array([1.0, 0.9, 0.8, 0.7])
    prior, cap = np.array([0.4, 0.3, 0.2, 0.1]), 500.0
    lam = c.choose_paper_lambda(costs[:100], 200, 0.05, cap, prior)

    def bound(weights, lam=lam):
        return c.paper_bound((costs[100:] @ weights).mean(), c.kl_divergence(weights, prior), 200, lam, 0.05, cap)

    own = c.paper_posterior(costs[100:], prior, lam, cap)
    found = optimize.minimize(lambda logits: bound(special.softmax(logits)), np.zeros(4), method="Nelder-Mead",
                              options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 20_000})  # fmt: skip
    assert bound(own) <= found.fun + 1e-9
    assert np.allclose(own, special.softmax(found.x), atol=1e-4)
    ours = c.gibbs_posterior(costs[100:], prior, c.choose_lambda(costs[:100], 0.5, 200, 0.05, cap, prior), cap)
    assert bound(own) <= bound(ours)
    plan = c.Plan({}, {"average": c.PosteriorMean("x", cap, 0.3)}, paper_lam={"x": lam})
    draw = c.Draw.of(RNG.random(200), "posterior")
    assert plan.references({"x": costs[100:]}, ours, prior, draw)[0].bound == pytest.approx(bound(own), rel=1e-12)


def test_the_lambda_of_the_papers_bound_is_best_on_the_prior_problems():
    """At its own Gibbs posterior, no other λ gives a smaller bound on the problems that it was chosen on."""
    costs, prior = RNG.random((200, 5)) * np.linspace(0.2, 1.0, 5), np.full(5, 0.2)
    for sharp, theorem in ((False, c.paper_bound), (True, c.sharp_bound)):

        def bound(lam, theorem=theorem):
            own = c.paper_posterior(costs, prior, lam, 1.0)
            return theorem((costs @ own).mean(), c.kl_divergence(own, prior), 200, lam, 0.05, 1.0)

        best = c.choose_paper_lambda(costs, 200, 0.05, 1.0, prior, sharp=sharp)
        assert all(bound(best) <= bound(best * factor) + 1e-6 for factor in (0.5, 0.8, 0.95, 1.05, 1.25, 2.0))


def test_the_papers_theorems_with_each_kind_of_lambda():
    """Fixed, chosen on prior problems, best of a grid that is paid for; all three say so."""
    values, prior = indicators(), UNIFORM
    posterior = c.gibbs_posterior(values, prior, 0.3, 1.0)
    kl, failures = c.kl_divergence(posterior, prior), (values @ posterior).mean()
    chosen = c.catoni_lambda(failures, kl, 200, 0.05)
    best = c.PosteriorProbability("ok", chosen, "chosen on prior problems").certify(1 - values, posterior, prior, 0.95)
    assert best.lam_origin == "chosen on prior problems"
    assert best.bound == pytest.approx(1 - c.catoni_bound(failures, kl, 200, chosen, 0.05))
    for lam in chosen * np.array([0.5, 0.9, 1.1, 2.0]):
        assert c.PosteriorProbability("ok", lam).certify(1 - values, posterior, prior, 0.95).bound < best.bound
    grid = tuple(chosen * np.array([0.5, 1.0, 2.0]))
    paid = c.PosteriorProbability("ok", grid).certify(1 - values, posterior, prior, 0.95)
    assert paid.bound == pytest.approx(1 - c.catoni_bound(failures, kl, 200, chosen, 0.05 / 3))
    assert "grid of 3 declared beforehand and paid for" in paid.lam_origin
    lam = c.paper_lambda(kl, 200, 0.05, 1.0)
    for sharp, theorem in ((False, c.paper_bound), (True, c.sharp_bound)):
        fixed = c.PaperMean("failed", 1.0, lam, sharp=sharp).certify(values, posterior, prior, 0.95)
        assert fixed.bound == pytest.approx(theorem(failures, kl, 200, lam, 0.05, 1.0))
    assert c.KLMean("failed", 1.0).certify(values, posterior, prior, 0.95).lam is None


def test_the_default_grids_cost_little():
    """Compared to the best λ for free, at any divergence and rate of failure one would meet."""
    for count in (20, 250, 1000):
        for kl in (0.0, 1.0, 4.0):
            free = c.paper_bound(0.0, kl, count, c.paper_lambda(kl, count, 0.05, 1.0), 0.05, 1.0)
            grid = c.PaperMean("x", 1.0)._grid(count, 0.05)
            found = c.best_on_grid(lambda lam, d, k=kl, n=count: c.paper_bound(0.0, k, n, lam, d, 1.0), grid, 0.05)
            assert found.bound < 1.35 * free
            for rate in (0.0, 0.01, 0.3):
                best = c.catoni_bound(rate, kl, count, c.catoni_lambda(rate, kl, count, 0.05), 0.05)
                grid = reference._property_grid(count, 0.05)
                found = c.best_on_grid(
                    lambda lam, d, r=rate, k=kl, n=count: c.catoni_bound(r, k, n, lam, d), grid, 0.05
                )
                assert found.bound - rate < 1.75 * (best - rate)


def test_a_distribution_reads_out_a_few_levels():
    values = np.r_[np.arange(1.0, 241.0), np.full(10, 500.0)]
    certificate = c.Distribution("stopping_time", cap=500.0).certify(values, 0.95)
    band = c.tight_band(values, 0.05)
    assert certificate.at(200.0) == band.at(200.0)
    assert certificate.at(600.0) == certificate.at(240.0) == band.at(240.0)
    assert certificate.at(0.5) == 0
    assert max(value for value, _ in certificate.band) == 240
    sentence = certificate.sentence()
    assert "the algorithm needs at most 149 iterations on at least 50% and at most " in sentence
    assert "99%" not in sentence
    assert "on at least 90% of new problems drawn like these 250, all simultaneously" in sentence
    assert "(values are capped at 500; 4% of the sample reached the cap)" in sentence
    assert certificate.bound == next(value for value, share in certificate.band if share >= 0.5)
    few = c.Distribution("contraction_factor", cap=None).certify([0.5, 0.6], 0.95)
    assert few.band is not None
    share = few.band[-1][1]
    assert 0.05 / 2 <= share**2 <= 0.05
    assert (
        f"the algorithm's contraction factor is at most 0.6 on at least {np.floor(1e4 * share) / 100}% of new"
        in few.sentence()
    )
    assert few.bound == np.inf
    hopeless = c.Distribution("stopping_time", cap=500.0).certify(np.full(20, 500.0), 0.95)
    assert hopeless.vacuous
    assert "nothing can be said" in hopeless.sentence()


def test_a_quantile_at_the_cap_says_nothing():
    """Unsolved problems count as the cap: it is no bound on what they would need."""
    values = np.r_[np.full(80, 100.0), np.full(20, 500.0)]
    most = c.Quantile("stopping_time", 0.9, cap=500.0).certify(values, 0.95)
    assert most.vacuous
    assert (
        "the 90% quantile of the stopping time from these 100 problems: 20% of them reached the cap of 500."
        in most.sentence()
    )
    half = c.Quantile("stopping_time", 0.5, cap=500.0).certify(values, 0.95)
    assert "the algorithm needs at most 100 iterations on at least 50% of new problems" in half.sentence()


# Refusals


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: c.certify([1.0, 501.0], cap=500), "must not exceed the cap 500, but the largest is 501"),
        (lambda: c.certify([1.0, np.inf], cap=500), "must not exceed the cap 500"),
        (lambda: c.certify([-1.0], cap=500), "must not be negative"),
        (lambda: c.certify([1.0, np.nan], cap=500), "1 values are NaN: a diverged run counts as the cap"),
        (lambda: c.certify([], cap=500), "values are empty"),
        (lambda: c.certify(np.ones(3, bool)[:0], cap=1), "values are empty"),
        (lambda: c.certify(np.ones((2, 2, 2)), cap=500), r"\(problem,\) or \(problem, replicate\)"),
        (lambda: c.certify([1.0], cap=0), "cap must be positive and finite, got 0"),
        (lambda: c.certify([1.0], cap=np.inf), "cap must be positive and finite"),
        (lambda: c.certify([1.0], cap=500, confidence=95), "confidence must lie strictly between 0 and 1.*got 95"),
        (lambda: c.certify([1.0], cap=500, confidence=1.0), "confidence must lie strictly between 0 and 1"),
        (lambda: c.certify([1.0], cap=500, prior_values=[501.0]), "must not exceed the cap"),
        (lambda: c.Probability("x").certify([0.5], 0.95), "x must be 0 or 1 on every problem"),
        (lambda: c.Quantile("x", 1.5, cap=None), "level must lie strictly between 0 and 1"),
        (lambda: c.Quantile("x", 0.5, cap=-1.0), "cap must be positive"),
        (lambda: c.Quantile("x", 0.5, cap=5.0).certify([6.0], 0.95), "must not exceed the cap 5"),
        (lambda: c.Tail("x", 500.0, cap=500.0), "threshold must lie below the cap 500, got 500.0: values are cut off"),
        (lambda: c.Distribution("x", cap=0.0), "cap must be positive"),
        (lambda: c.Distribution("x", cap=None).certify([np.nan], 0.95), "1 values are NaN"),
        (lambda: c.Distribution("x", cap=None).certify(np.ones((3, 2)), 0.95), "replicates of a problem are not"),
        (lambda: c.Mean("x", 1.0).certify([1.0], 0.95, prior_mass=1.5), r"prior_mass must lie in \(0, 1\], got 1.5"),
        (lambda: c.PaperMean("x", 1.0, lam=-1.0), "lam must be positive"),
        (lambda: c.PaperMean("x", 1.0).certify(np.ones((3, 2)), [1.0], [1.0], 0.95), "2 columns and 1 probabilities"),
        (lambda: c.PaperMean("x", 1.0).certify(np.ones((3, 2)), [0.5, 0.5], [1, 0], 0.95), "KL is infinite"),
        (lambda: c.PosteriorProbability("x").certify([[2.0]], [1.0], [1.0], 0.95), "must not exceed the cap 1"),
        (lambda: c.Plan({"x": c.Mean("x", 1.0)}, deployed_on="test"), "deployed_on must be 'held-out' or 'posterior'"),
        (lambda: c.Plan({"x": c.Tail("x", 1.0, cap=None)}).decided([0.5, 0.5]), "the rule needs sizes="),
        (lambda: c.certify([1.0], cap=2.0).at(1.0), "only the certificate of a distribution"),
        (lambda: c.Probability("x").certify([1.0], 0.95).verify([0.5]), "x must be 0 or 1"),
        (lambda: c.CVaR("x", 0.9, 500.0, 500.0), r"threshold must lie in \[0, cap\)"),
        (lambda: c.quantile_bound(np.ones((3, 2)), 0.5, 0.05), "replicates of a problem are not independent"),
        (lambda: c.tail_bound([], 0.5, 0.05), "values are empty"),
        (lambda: c.tail_bound([1.0], np.nan, 0.05), "threshold must be a number"),
        (lambda: c.kl_divergence([0.5, 0.6], [0.5, 0.5]), "posterior must sum to one, but the sum is 1.1"),
        (lambda: c.kl_divergence([1.5, -0.5], [0.5, 0.5]), "posterior must not be negative"),
        (lambda: c.kl_divergence([0.5, 0.5], [1.0, 0.0]), "mass 0.5 where the prior has none, so KL is infinite"),
        (lambda: c.kl_divergence([1.0], [0.5, 0.5]), "same candidates, got 1 and 2"),
        (lambda: c.product_bound(np.ones((3, 2)), [1.0], 0, 0.5, 0.05, 1), "2 columns and 1 probabilities"),
        (lambda: c.product_bound(np.ones(3), [1.0], 0, 0.5, 0.05, 1), r"must be \(problem, candidate\)"),
        (lambda: c.product_bound(np.ones((3, 1)), [1.0], 0, 1.5, 0.05, 1), "lam must lie strictly between 0 and 1"),
        (lambda: c.product_bound(np.ones((3, 1)), [1.0], 0, 0.5, 0.0, 1), "delta must lie strictly between 0 and 1"),
        (lambda: c.product_bound(np.ones((3, 1)), [1.0], np.inf, 0.5, 0.05, 1), "kl is infinite"),
        (lambda: c.product_bound(np.ones((3, 1)), [1.0], -1.0, 0.5, 0.05, 1), "kl must not be negative"),
        (lambda: c.paper_bound(1.0, 0.0, 100, -1.0, 0.05, 1.0), "lam must be positive and finite, got -1"),
        (lambda: c.paper_bound(2.0, 0.0, 100, 1.0, 0.05, 1.0), "empirical must lie between 0 and the cap 1"),
        (lambda: c.paper_bound(np.nan, 0.0, 100, 1.0, 0.05, 1.0), "empirical must lie between 0 and the cap 1"),
        (lambda: c.paper_bound(0.5, 0.0, 0, 1.0, 0.05, 1.0), "num_problems must be a whole number"),
        (lambda: c.paper_bound(0.5, 0.0, "many", 1.0, 0.05, 1.0), "num_problems must be a whole number"),
        (lambda: c.catoni_bound(1.5, 0.0, 100, 1.0, 0.05), "empirical must be a probability"),
        (lambda: c.best_on_grid(lambda lam, delta: 0.0, [], 0.05), "grid of λ must hold at least one"),
        (lambda: c.clopper_pearson_upper(5, 4, 0.05), "successes must be whole numbers from 0 to trials"),
        (lambda: c.certify_occam([1.0], 0.0, cap=2.0), "without prior mass"),
        (lambda: c.Budget(0.95, {}), "at least one name"),
        (lambda: c.Budget(0.95, {"x": 0}), "must be positive"),
        (lambda: c.ratio_bound([1.0], [1.0, 2.0], 0.05, 2.0), "on the same problems, got 1 and 2"),
        (lambda: c.Plan({}), "at least one goal"),
        (lambda: c.PosteriorMean("x", 1.0, (0.5, 1.5)), "lam must lie strictly between 0 and 1"),
        (lambda: c.lower_cvar_bound([-1.0], 0.5, 0.05), "must not be negative"),
        (lambda: c.Draw("x", ()), "role must be one of training, prior, validation, posterior, held-out, test, got"),
        (lambda: c.Draw.of(np.zeros((5, 2)), "held-out"), "4 of the 5 held-out problems are copies of others"),
        (lambda: c.certify([1.0], cap=2.0, confidence="95%"), "confidence must lie strictly between 0 and 1"),  # pyright: ignore
        (lambda: c.certify([1.0], cap=None), "cap must be positive and finite, got None"),  # pyright: ignore
        (lambda: c.certify([1.0, 2.0], cap=2.0, diverged=[True]), "diverged must say for every value"),
        (lambda: c.Certificate.from_json("hello"), "not a certificate, because it is not JSON"),
        (lambda: c.Draw.of(np.zeros((0, 2)), "prior"), "the stack of problems is empty"),
        (lambda: c.Draw.of(1.0, "prior"), "must be stacked along a leading axis"),
    ],
)  # fmt: skip
@pytest.mark.wrong_types
def test_bad_input_gets_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
