"""CVaR, quantiles and tails under a posterior: they cover, are recomputed, and a broken one is caught."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from loa import certificates as c

DELTA, REPETITIONS, COUNT, CAP = 0.1, 400, 150, 1.0
PRIOR = np.array([0.5, 0.3, 0.2])
SHAPES = (2.0, 2.5, 4.0)
"""Candidates whose values are 1 - U^(1/shape): their distribution function is 1 - (1 - x)^shape."""


def mixture_tail(weights: np.ndarray, at):
    return sum(weight * (1 - at) ** shape for weight, shape in zip(weights, SHAPES, strict=True))


def mixture_quantile(weights: np.ndarray, level: float) -> float:
    grid = np.linspace(0, 1, 20_001)
    return float(grid[np.argmax(mixture_tail(weights, grid) <= 1 - level)])


def mixture_cvar(weights: np.ndarray, level: float) -> float:
    edge = mixture_quantile(weights, level)
    beyond = sum(w * (1 - edge) ** (s + 1) / (s + 1) for w, s in zip(weights, SHAPES, strict=True))
    return float(edge + beyond / (1 - level))


@pytest.fixture(scope="module")
def samples() -> tuple[np.ndarray, np.ndarray]:
    """Values (repetition, problem, candidate), correlated over candidates, and posteriors chosen on them."""
    uniform = np.random.default_rng(5).random((REPETITIONS, COUNT, 1))
    values = 1 - uniform ** (1 / np.array(SHAPES))
    return values, np.array([c.gibbs_posterior(each, PRIOR, 0.3, CAP) for each in values])


GOALS = {
    "cvar": (c.PosteriorCVaR("time", 0.9, threshold=0.6, cap=CAP, lam=0.7), mixture_cvar),
    "quantile": (c.PosteriorQuantile("time", 0.9, (0.55, 0.6, 0.65, 0.7, 0.75, 0.8), CAP), mixture_quantile),
    "tail": (c.PosteriorTail("time", threshold=0.6, cap=CAP, lam=150.0), None),
}


@pytest.mark.many_calls
@pytest.mark.parametrize("name", GOALS)
def test_they_cover_and_broken_ones_are_caught(name, samples):
    goal, exact = GOALS[name]
    missed, broken = 0, 0
    for values, posterior in zip(*samples, strict=True):
        bound = goal.find(values, posterior, c.kl_divergence(posterior, PRIOR), DELTA).bound
        true = mixture_tail(posterior, 0.6) if exact is None else exact(posterior, 0.9)
        missed, broken = missed + (bound < true), broken + (0.4 * bound < true)
    allowed = stats.binom.ppf(1 - 1e-6, REPETITIONS, DELTA)
    assert missed <= allowed < broken


@pytest.mark.parametrize("name", GOALS)
def test_they_are_recomputed_from_their_values(name, samples):
    goal, _ = GOALS[name]
    values, posterior = samples[0][0], samples[1][0]
    certificate = goal.certify(values, posterior, PRIOR, 0.9)
    assert certificate.measure == name
    assert certificate.target == "posterior"
    assert certificate.empirical <= certificate.bound < CAP
    certificate.check(values)
    assert "drawn from the posterior" in certificate.sentence()
    with pytest.raises(ValueError, match="randomized"):
        certificate.verify(samples[0][1])
    assert not certificate.verify(samples[0][1][:, 0]).contradicted


def test_what_the_sample_shows_is_that_of_the_mixture():
    values = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0], [4.0, 8.0]])
    goal = c.PosteriorCVaR("time", 0.5, threshold=1.0, cap=10.0, lam=0.5)
    assert goal.empirical(values, np.array([0.5, 0.5])) == pytest.approx(6.5)  # the worst half is 5, 6, 7, 8
    assert goal.empirical(values, np.array([1.0, 0.0])) == pytest.approx(3.5)
    assert c.PosteriorQuantile("time", 0.5, (1.0,), 10.0).empirical(values, np.array([0.5, 0.5])) == 4.0
