"""Coverage by simulation: every bound misses at most as often as it says, and the same test catches broken bounds.

A bound of failure probability δ misses in R repetitions at most as often as a binomial variable; the number allowed has
a false alarm of one in a million. Every test has a negative control, a bound broken on purpose that must be caught.
"""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from loa import certificates as c
from loa.certificates.bounds import betting, distribution

pytestmark = pytest.mark.many_calls
DELTA = 0.05


def allowed(repetitions, delta=DELTA):
    return stats.binom.ppf(1 - 1e-6, repetitions, delta)


def assert_covers(misses, delta=DELTA):
    assert np.sum(misses) <= allowed(len(misses), delta), f"missed {np.mean(misses):.2%} of the time"


def assert_is_caught(misses, delta=DELTA):
    assert np.sum(misses) > allowed(len(misses), delta), f"missed only {np.mean(misses):.2%} of the time"


# The regimes of the experiments, on the unit scale: a sampler and its mean


def clipped_normal(mean, deviation):
    """Normal values clipped to [0, 1]."""
    low, high = (0 - mean) / deviation, (1 - mean) / deviation
    inside = mean * (stats.norm.cdf(high) - stats.norm.cdf(low))
    inside += deviation * (stats.norm.pdf(low) - stats.norm.pdf(high))
    return lambda rng, shape: np.clip(rng.normal(mean, deviation, shape), 0, 1), inside + stats.norm.sf(high)


def failures(probability):
    return lambda rng, shape: (rng.random(shape) < probability).astype(float), probability


def with_rare_failures(probability):
    """Quick successes, and failures that cost the cap."""

    def sample(rng, shape):
        return np.where(rng.random(shape) < probability, 1.0, rng.uniform(0.1, 0.2, shape))

    return sample, 0.15 * (1 - probability) + probability


REGIMES = {
    "stopping time": clipped_normal(0.5, 0.2),
    "contraction": clipped_normal(0.93, 0.03),
    "failures of 1%": failures(0.01),
    "failures of 0.1%": failures(0.001),
    "coins": failures(0.5),
    "rarely at the cap": with_rare_failures(0.001),
}
SIZES = (20, 250)

regimes = pytest.mark.parametrize("regime", REGIMES)
sizes = pytest.mark.parametrize("num_problems", SIZES)


def samples(regime, repetitions, num_problems, seed=3):
    sample, mean = REGIMES[regime]
    return sample(np.random.default_rng(seed), (repetitions, num_problems)), mean


def reports_the_sample_mean(values, mean):
    """The most broken bound of all; where failures are rare, it looks perfect nearly always and is below the mean."""
    return values.mean(axis=1) < mean


# One algorithm, no divergence: here the bounds have the least slack


@regimes
@sizes
def test_closed_forms(regime, num_problems):
    values, mean = samples(regime, 4000, num_problems)
    empirical = values.mean(axis=1)
    lam = c.paper_lambda(0.0, num_problems, DELTA, 1.0)
    sharp = c.paper_lambda(0.0, num_problems, DELTA, 1.0, sharp=True)
    bounds = {
        "paper": c.paper_bound(empirical, 0.0, num_problems, lam, DELTA, 1.0),
        "sharp": c.sharp_bound(empirical, 0.0, num_problems, sharp, DELTA, 1.0),
        "kl": c.kl_bound(empirical, 0.0, num_problems, DELTA),
        "catoni": c.catoni_bound(empirical, 0.0, num_problems, 0.7 * num_problems, DELTA),
    }
    for bound in bounds.values():
        assert_covers(bound < mean)
    assert_is_caught(reports_the_sample_mean(values, mean))


def test_closed_forms_that_are_too_small_are_caught():
    """The sharp constant cannot be improved to a quarter of the width, nor Catoni's bound to a third."""
    values, mean = samples("coins", 4000, 250)
    empirical = values.mean(axis=1)
    lam = c.paper_lambda(0.0, 250, DELTA, 1.0, sharp=True)
    assert_is_caught(empirical + (c.sharp_bound(empirical, 0.0, 250, lam, DELTA, 1.0) - empirical) / 4 < mean)
    assert_is_caught(empirical + (c.catoni_bound(empirical, 0.0, 250, 40.0, DELTA) - empirical) / 3 < mean)


@regimes
@sizes
def test_product_bound(regime, num_problems):
    values, mean = samples(regime, 2000, num_problems)
    lam = c.choose_lambda(samples(regime, 1, 200, seed=4)[0].T, 0.0, num_problems, DELTA, 1.0)
    bound = np.array([c.product_bound(sample[:, None], [1.0], 0.0, lam, DELTA, 1.0) for sample in values])
    assert_covers(bound < mean)
    grid = c.geometric_grid(0.01, 0.99, 12)
    assert_covers(
        [c.product_bound_on_grid(v[:, None], [1.0], 0.0, grid, DELTA, 1.0).bound < mean for v in values[:500]]
    )
    if regime in ("stopping time", "coins"):
        assert_is_caught(values.mean(axis=1) + (bound - values.mean(axis=1)) / 3 < mean)
    assert_is_caught(reports_the_sample_mean(values, mean))


# A posterior on a hundred correlated candidates, chosen by an adversary


def correlated(rng, repetitions, num_problems, means, rare):
    """Candidates share the difficulty of the problem; rarely, all or one of them fail."""
    difficulty = rng.normal(0, 0.15, (repetitions, num_problems, 1))
    own = rng.normal(0, 0.15, (repetitions, num_problems, len(means)))
    values = (means + difficulty + own > 0.5).astype(float)
    return np.where(rng.random(values.shape) < rare, 1.0, values)


def adversarial_posteriors(values, truth, lam):
    """Best and worst candidate on the sample, the luckiest one, Gibbs, the worst case, the prior.

    The worst case maximizes the left side of the Donsker–Varadhan formula: no posterior is harder on the product bound.
    """
    count = len(truth)
    prior = np.full(count, 1 / count)
    gain = np.log1p(-lam * values).sum(axis=0)
    against_truth = gain - len(values) * np.log1p(-lam * truth)
    worst = np.exp(against_truth - against_truth.max())
    empirical = values.mean(axis=0)
    diracs = np.eye(count)[[empirical.argmin(), empirical.argmax(), (empirical - truth).argmin()]]
    return [*diracs, c.gibbs_posterior(values, prior, lam, 1.0), worst / worst.sum(), prior]


@pytest.mark.parametrize("num_problems", [20, 100])
@pytest.mark.parametrize("rare", [0.0, 0.001])
def test_posteriors_chosen_by_an_adversary(num_problems, rare):
    """One miss of any posterior is a miss. Forgetting the divergence is caught."""
    rng = np.random.default_rng(5)
    centers = rng.uniform(0.2, 0.5, 100)
    truth = rare + (1 - rare) * stats.norm.sf((0.5 - centers) / np.hypot(0.15, 0.15))
    prior = np.full(100, 0.01)
    lam = 1 - np.exp(-np.sqrt(2 * 5 / num_problems / 0.2))
    paper, sharp = (c.paper_lambda(2.0, num_problems, DELTA, 1.0, sharp=constant) for constant in (False, True))
    catoni = -num_problems * np.log1p(-lam)
    product, others, broken = [], [], []
    for values in correlated(rng, 600, num_problems, centers, rare):
        posteriors = adversarial_posteriors(values, truth, lam)
        divergences = np.array([c.kl_divergence(posterior, prior) for posterior in posteriors])
        empirical, goal = np.array(posteriors) @ values.mean(axis=0), np.array(posteriors) @ truth
        empirical = np.clip(empirical, 0, 1)
        bounds = [
            c.product_bound(values, posterior, kl, lam, DELTA, 1.0)
            for posterior, kl in zip(posteriors, divergences, strict=True)
        ]
        product.append((bounds < goal).any())
        others.append([
            (c.paper_bound(empirical, divergences, num_problems, paper, DELTA, 1.0) < goal).any(),
            (c.sharp_bound(empirical, divergences, num_problems, sharp, DELTA, 1.0) < goal).any(),
            (c.kl_bound(empirical, divergences, num_problems, DELTA) < goal).any(),
            (c.catoni_bound(empirical, divergences, num_problems, catoni, DELTA) < goal).any(),
        ])  # fmt: skip
        broken.append((c.catoni_bound(empirical, 0 * divergences, num_problems, catoni, DELTA) < goal).any())
    assert_covers(product)
    for misses in np.transpose(others):
        assert_covers(misses)
    assert_is_caught(broken)


@pytest.mark.filterwarnings("ignore:the prior has all its mass")  # so has that of the control
@pytest.mark.parametrize(("num_problems", "rare"), [(20, 0.001), (100, 0.0)])
def test_certificates_of_posteriors_chosen_by_an_adversary(num_problems, rare):
    """Every goal for a posterior, with λ from a grid: the paper's theorems, their relatives and the product bound.

    Goals of failure and, for the theorem on properties, of success. Forgetting divergence and price of λ is caught.
    """
    rng = np.random.default_rng(15)
    centers = rng.uniform(0.2, 0.5, 100)
    truth = rare + (1 - rare) * stats.norm.sf((0.5 - centers) / np.hypot(0.15, 0.15))
    prior = np.full(100, 0.01)
    goals = [
        c.PosteriorMean("failed", 1.0, c.odds_grid(0.1, 20.0, 6)),
        c.PaperMean("failed", 1.0),
        c.PaperMean("failed", 1.0, sharp=True),
        c.KLMean("failed", 1.0),
    ]
    misses, broken = [], []
    tables = correlated(rng, 400, num_problems, centers, rare)
    for values in tables[:80]:
        posteriors = adversarial_posteriors(values, truth, 0.4)[2:5]
        claims = [(posterior, truth @ posterior) for posterior in posteriors]
        found = [[goal.certify(values, p, prior, 1 - DELTA).bound < goal_ for p, goal_ in claims] for goal in goals]
        success = [c.PosteriorProbability("ok").certify(1 - values, p, prior, 1 - DELTA).bound for p, _ in claims]
        found.append([bound > 1 - failure for bound, (_, failure) in zip(success, claims, strict=True)])
        misses.append(np.any(found, axis=1))
    for values in tables:
        lucky = adversarial_posteriors(values, truth, 0.4)[2]
        lam = c.catoni_lambda(values.mean(axis=0) @ lucky, 0.0, num_problems, DELTA)
        free = c.PosteriorProbability("ok", lam).certify(1 - values, lucky, lucky, 1 - DELTA)
        broken.append(free.bound > 1 - truth @ lucky)
    for of_one_goal in np.transpose(misses):
        assert_covers(of_one_goal)
    assert_is_caught(broken)


@pytest.mark.parametrize("rare", [0.0, 0.001])
def test_occam_for_every_goal_at_twenty_problems(rare):
    """The candidate that looks best of a hundred correlated ones; forgetting how it was chosen is caught."""
    rng = np.random.default_rng(24)
    values = correlated(rng, 100, 20, np.full(100, 0.4), rare)
    truth = rare + (1 - rare) * stats.norm.sf(0.1 / np.hypot(0.15, 0.15))
    goals = {
        c.Mean("failed", 1.0): lambda bound: bound < truth,
        c.Probability("solved"): lambda bound: bound > 1 - truth,
        c.Tail("failed", 0.5, cap=1.0): lambda bound: bound < truth,
        c.Quantile("failed", 1 - truth + 0.01, cap=None): lambda bound: bound < 1,
        c.Distribution("failed", cap=None): lambda bound: bound < (0 if truth < 0.5 else 1),
    }
    best = [sample[:, sample.mean(axis=0).argmin()] for sample in values]
    for goal, misses in goals.items():
        samples = [1 - each if goal.functional == "solved" else each for each in best]
        assert_covers([misses(goal.certify(each, 1 - DELTA, prior_mass=0.01).bound) for each in samples])
        if goal.measure != "distribution":
            assert_is_caught([misses(goal.certify(each, 1 - DELTA).bound) for each in samples])


def test_occam_on_the_candidate_that_looks_best():
    rng = np.random.default_rng(6)
    values = correlated(rng, 80, 60, np.full(30, 0.4), 0.0)
    truth = stats.norm.sf(0.1 / np.hypot(0.15, 0.15))
    best = [sample[:, sample.mean(axis=0).argmin()] for sample in values]
    assert_covers([c.certify_occam(sample, 1 / 30, cap=1.0).bound < truth for sample in best])
    assert_is_caught([c.certify(sample, cap=1.0).bound < truth for sample in best])


# Betting


@regimes
@pytest.mark.parametrize("num_problems", [1, 20, 250])
def test_the_gambler_rarely_gets_rich(regime, num_problems):
    """At the point of the grid below the mean, the only one that matters; with and without a start on prior problems.

    A bound that is too small by 2.5 standard errors, which is a hypothesis so much above the mean, is caught.
    """
    values, mean = samples(regime, 20_000, num_problems)
    index = np.floor(np.arcsin(np.sqrt(mean)) / (np.pi / 2) * betting.GRID_SIZE)
    hypothesis = np.full(len(values), betting.grid_point(index))
    assert hypothesis[0] <= mean < betting.grid_point(index + 1)
    for known in (np.zeros(0), samples(regime, 1, 30, seed=7)[0][0]):
        wealth = betting.log_wealth(values.T, hypothesis, DELTA, known)
        assert_covers(wealth >= -np.log(DELTA))
    if num_problems > 1 and regime in ("stopping time", "contraction", "coins"):
        above = hypothesis + 2.5 * values.std() / np.sqrt(num_problems)
        assert_is_caught(betting.log_wealth(values.T, above, DELTA, np.zeros(0)) >= -np.log(DELTA))


@regimes
def test_betting_bound(regime):
    values, mean = samples(regime, 200, 20)
    bound = np.array([c.betting_bound(sample, DELTA, 1.0) for sample in values])
    assert_covers(bound < mean)
    lower = np.array([c.lower_betting_bound(sample, DELTA, 1.0) for sample in values[:100]])
    assert_covers(lower > mean)
    assert_is_caught(reports_the_sample_mean(values, mean))
    if regime in ("stopping time", "contraction", "coins"):
        assert_is_caught(values.mean(axis=1) + (bound - values.mean(axis=1)) / 4 < mean)


@pytest.mark.parametrize("regime", ["stopping time", "contraction", "coins"])
def test_betting_is_safe_from_sorting(regime):
    """Sorted values would make a gambler rich: the fixed shuffle prevents it, and without it the test fails."""
    values, mean = samples(regime, 100, 50)
    ascending = np.sort(values, axis=1)
    for ordered in (ascending, ascending[:, ::-1]):
        assert_covers([c.betting_bound(sample, DELTA, 1.0) < mean for sample in ordered])
    hypothesis = np.full(len(values), mean)
    wealth = [betting.log_wealth(v.T, hypothesis, DELTA, np.zeros(0)) for v in (ascending, ascending[:, ::-1])]
    assert_is_caught(np.max(wealth, axis=0) >= -np.log(DELTA))


def test_betting_at_an_experiments_size():
    values, mean = samples("stopping time", 100, 250)
    bound = np.array([c.betting_bound(sample, DELTA, 1.0) for sample in values])
    assert_covers(bound < mean)
    assert_is_caught(values.mean(axis=1) + (bound - values.mean(axis=1)) / 4 < mean)


@pytest.mark.parametrize("regime", ["stopping time", "failures of 1%", "rarely at the cap"])
def test_bounds_for_all_times(regime):
    """A bound below the mean at any of 150 times is a miss. A bound for one time, read all the time, is caught."""
    values, mean = samples(regime, 100, 150)
    assert_covers([(c.anytime_bounds(sample, DELTA, 1.0) < mean).any() for sample in values])
    counts = np.arange(1, 151)
    averages = np.cumsum(values, axis=1) / counts
    deviations = np.sqrt(np.maximum(np.cumsum(values**2, axis=1) / counts - averages**2, 0))
    assert_is_caught((averages + 1.645 * deviations / np.sqrt(counts) < mean)[:, 10:].any(axis=1))


# Probabilities, quantiles, distribution functions, CVaR


@pytest.mark.parametrize("trials", [1, 5, 20, 100, 1000])
def test_clopper_pearson_covers_exactly(trials):
    """The probability of a miss, summed exactly. The normal approximation is caught."""
    counts = np.arange(trials + 1)
    upper, lower = c.clopper_pearson_upper(counts, trials, DELTA), c.clopper_pearson_lower(counts, trials, DELTA)
    shares = counts / trials
    normal = shares + 1.645 * np.sqrt(shares * (1 - shares) / trials)
    broken = []
    for probability in (1e-4, 0.001, 0.01, 0.05, 0.3, 0.5, 0.9, 0.999):
        weights = stats.binom.pmf(counts, trials, probability)
        assert weights[upper < probability].sum() <= DELTA * (1 + 1e-9)
        assert weights[lower > probability].sum() <= DELTA * (1 + 1e-9)
        broken.append(weights[normal < probability].sum())
    assert max(broken) > 2 * DELTA


@pytest.mark.parametrize("level", [0.5, 0.9])
@sizes
def test_quantile_bound(level, num_problems):
    """Continuous values, and few different ones."""
    rng = np.random.default_rng(8)
    values = rng.exponential(size=(2000, num_problems))
    whole = np.floor(3 * values)
    truth = -np.log(1 - level)
    assert_covers([c.quantile_bound(sample, level, DELTA) < truth for sample in values])
    assert_covers([c.quantile_bound(sample, level, DELTA) < np.floor(3 * truth) for sample in whole])
    assert_is_caught(np.quantile(values, level, axis=1) < truth)


@pytest.mark.parametrize("band", [c.simple_band, c.tight_band])
@sizes
def test_bands(band, num_problems):
    """Of uniform values, all of which have to be above the band; a band for a δ four times as large is caught."""
    values = np.random.default_rng(9).random((4000, num_problems))
    shares = band(np.arange(num_problems), DELTA).shares
    broken = band(np.arange(num_problems), 4 * DELTA).shares
    ordered = np.sort(values, axis=1)
    assert_covers((ordered < shares).any(axis=1))
    assert_is_caught((ordered < broken).any(axis=1))


@pytest.mark.parametrize("probability", [0.01, 0.001])
def test_a_distribution_with_rare_failures(probability):
    """Quick successes and rare failures: the share of successes that is certified; that of the sample is caught."""
    values, _ = with_rare_failures(probability)[0](np.random.default_rng(25), (500, 250)), None
    certificates = [c.Distribution("time", cap=1.0).certify(np.ceil(10 * sample) / 10, 1 - DELTA) for sample in values]
    assert_covers([certificate.at(0.2) > 1 - probability for certificate in certificates])
    assert_is_caught((values <= 0.2).mean(axis=1) > 1 - probability)


@sizes
def test_cvar_bound_with_rare_failures(num_problems):
    """One problem in a thousand costs the cap: it belongs to the worst tenth, whose mean most samples underrate."""
    sample, _ = with_rare_failures(0.001)
    values = sample(np.random.default_rng(26), (50, num_problems))
    truth = (0.001 + 0.099 * (0.2 - 0.1 * (0.099 / 0.999) / 2)) / 0.1
    assert_covers([c.cvar_bound(each, 0.9, 0.19, DELTA, 1.0) < truth for each in values])
    assert_covers([c.lower_cvar_bound(each, 0.9, DELTA) > truth for each in values])
    assert_is_caught(0.19 + np.maximum(values - 0.19, 0).mean(axis=1) / 0.1 < truth)


@sizes
def test_cvar_bound(num_problems):
    """Of uniform values, whose worst tenth has the mean .95; from both sides."""
    rng = np.random.default_rng(10)
    values = rng.random((100, num_problems))
    threshold = c.cvar_threshold(rng.random(100), 0.9, 1.0)
    bound = np.array([c.cvar_bound(sample, 0.9, threshold, DELTA, 1.0) for sample in values])
    assert_covers(bound < 0.95)
    assert_covers([c.lower_cvar_bound(sample, 0.9, DELTA) > 0.95 for sample in values])
    plain = threshold + np.maximum(values - threshold, 0).mean(axis=1) / 0.1
    assert_is_caught(plain < 0.95)
    assert_is_caught(plain > 0.95)


@pytest.mark.parametrize("num_problems", [20, 60])
def test_pairs(num_problems):
    """Difference and ratio of the means of two algorithms that share the difficulty of a problem."""
    rng = np.random.default_rng(16)
    shape = (80, num_problems)
    difficulty = rng.uniform(0.2, 1.0, shape)
    values, baseline = difficulty * rng.uniform(0.5, 0.9, shape), difficulty * rng.uniform(0.6, 1.0, shape)
    pairs = list(zip(values, baseline, strict=True))
    assert_covers([c.difference_bound(first, second, DELTA, 1.0) < 0.6 * (0.7 - 0.8) for first, second in pairs])
    assert_covers([c.ratio_bound(first, second, DELTA, 1.0) < 0.7 / 0.8 for first, second in pairs])
    assert_is_caught(values.mean(axis=1) / baseline.mean(axis=1) < 0.7 / 0.8)
    assert_is_caught((values - baseline).mean(axis=1) < 0.6 * (0.7 - 0.8))
    better = np.mean(rng.uniform(0.5, 0.9, 10**6) < rng.uniform(0.6, 1.0, 10**6))
    assert_covers([c.better_bound(first, second, DELTA) > better + 0.002 for first, second in pairs])
    assert_is_caught((values < baseline).mean(axis=1) > better + 0.002)


# Together, and afterwards


def test_what_a_plan_certifies_holds_together():
    """Time, success and its tail with 90 % together; each with 90 % for itself is caught."""
    rng = np.random.default_rng(11)
    goals = {
        "time": c.Mean("time", 1.0),
        "tail": c.Tail("time", 0.7, cap=None),
        "half": c.Quantile("time", 0.5, cap=None),
    }
    truths = np.array([0.5, 0.3, 0.5])
    plan = c.Plan(goals, confidence=0.9)
    together, apart = [], []
    for values in rng.random((150, 40)):
        certificates = plan.certify({"time": values}, c.Draw("held-out", tuple("x" * 40)))
        together.append((np.array([certificate.bound for certificate in certificates]) < truths).any())
        apart.append((np.array([goal.certify(values, 0.7).bound for goal in goals.values()]) < truths).any())
    assert_covers(together, 0.1)
    assert_is_caught(apart, 0.1)


def test_true_certificates_are_rarely_contradicted():
    """Certificates that are exactly true are contradicted at the stated rate at most, and false ones often."""
    rng = np.random.default_rng(12)
    make = partial(c.Certificate, functional="x", kind="x", empirical=0.5, confidence=0.95, n=100, cap=1.0)
    exact = {
        "mean": (make(measure="mean", bound=0.5), make(measure="mean", bound=0.4)),
        "tail": (make(measure="tail", bound=0.3, threshold=0.7), make(measure="tail", bound=0.2, threshold=0.7)),
        "quantile": (make(measure="quantile", bound=0.5, level=0.5), make(measure="quantile", bound=0.4, level=0.5)),
        "cvar": (make(measure="cvar", bound=0.75, level=0.5), make(measure="cvar", bound=0.6, level=0.5)),
    }
    for true, false in exact.values():
        values = rng.random((60, 200))
        assert_covers([true.verify(sample, error_rate=DELTA).contradicted for sample in values])
        assert_is_caught([false.verify(sample, error_rate=DELTA).contradicted for sample in values])
    levels = np.linspace(0.05, 0.95, 19)
    true, false = (
        make(measure="distribution", bound=0.5, band=tuple(zip(levels, shares, strict=True)))
        for shares in (levels, np.minimum(levels + 0.2, 1.0))
    )
    values = rng.random((200, 200))
    assert_covers([true.verify(sample, error_rate=DELTA).contradicted for sample in values])
    assert_is_caught([false.verify(sample, error_rate=DELTA).contradicted for sample in values])
    average = make(measure="probability", target="posterior", bound=0.9, posterior=(0.5, 0.5))
    tables = rng.random((60, 200, 2)) < 0.9
    assert_covers([average.verify(table, error_rate=DELTA).contradicted for table in tables])
    assert_is_caught([average.verify(table[:150] & table[50:], error_rate=DELTA).contradicted for table in tables])
    success = make(measure="probability", bound=0.9)
    solved = rng.random((1000, 200)) < 0.9
    assert_covers([success.verify(sample, error_rate=DELTA).contradicted for sample in solved])
    assert_is_caught([success.verify(sample & (rng.random(200) < 0.9)).contradicted for sample in solved])


# Tightness: the table of our measurements may not get worse


@pytest.mark.parametrize(
    ("regime", "num_problems", "largest"),
    [("stopping time", 50, 0.065), ("stopping time", 250, 0.027), ("contraction", 50, 0.0105),
     ("contraction", 250, 0.0038), ("failures of 1%", 250, 0.021)],
)  # fmt: skip
def test_betting_stays_tight(regime, num_problems, largest):
    values, mean = samples(regime, 40, num_problems, seed=13)
    assert np.mean([c.betting_bound(sample, DELTA, 1.0) for sample in values]) - mean < largest


@pytest.mark.parametrize(("regime", "largest"), [("stopping time", 0.030), ("contraction", 0.0046)])
def test_the_product_bound_stays_tight(regime, largest):
    values, mean = samples(regime, 100, 500, seed=14)
    lam = c.choose_lambda(samples(regime, 1, 200, seed=15)[0].T, 2.0, 500, DELTA, 1.0)
    bounds = [c.product_bound(sample[:, None], [1.0], 2.0, lam, DELTA, 1.0) for sample in values]
    assert np.mean(bounds) - mean < largest


@pytest.mark.parametrize(("count", "delta"), [(2, DELTA), (50, DELTA), (50, 0.5), (250, 1e-3), (1000, 1e-5)])
def test_the_level_of_berk_and_jones_is_no_larger_than_needed(count, delta):
    level = distribution.berk_jones_level(count, delta)
    crossing = 1 - distribution.never_below(*distribution._boundaries(count, level), count)
    assert delta * 0.999 < crossing <= delta


def test_the_level_of_berk_and_jones_for_a_tiny_failure_probability():
    """Such as that of Occam for a candidate of little prior mass: one minus it rounds to one."""
    assert distribution.berk_jones_level(100, 1e-18) == pytest.approx(1e-20)
