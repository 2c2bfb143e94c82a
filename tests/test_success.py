"""λ for the certified probability of success is fixed on prior problems."""

import numpy as np
import pytest

import loa
from loa.certificates import PosteriorProbability
from loa.run.certification import posterior_share
from loa.run.prior import lambda_of_success

FUNCTIONALS = (loa.StoppingTime(), loa.ContractionFactor(cap=1.0), loa.OracleCalls(cap=1e3))


def failed(rate: float, size: int = 250) -> np.ndarray:
    found = np.zeros((1, size, 1), bool)
    found[0, : round(rate * size)] = True
    return found


@pytest.mark.parametrize(("rate", "gain"), [(0.0, 0.15), (0.01, 0.1), (0.1, 0.04)])
def test_a_lambda_from_prior_problems_is_better_than_a_grid_that_is_paid_for(rate, gain):
    size, confidence = 500, 1 - posterior_share(FUNCTIONALS, 1.0)
    solved = 1.0 - np.repeat(failed(rate, size)[0], 2, axis=1)
    lam = lambda_of_success(failed(rate), [1.0], size, FUNCTIONALS)
    weights = [0.9, 0.1], [0.5, 0.5]
    grid, own = (PosteriorProbability("solved", each).certify(solved, *weights, confidence) for each in (None, lam))
    assert 1 - own.bound < (1 - gain) * (1 - grid.bound)
    assert own.lam == lam


def test_fewer_failures_mean_a_larger_lambda():
    lams = [lambda_of_success(failed(rate), [1.0], 500, FUNCTIONALS) for rate in (0.5, 0.1, 0.01, 0.0)]
    assert sorted(lams) == lams
    halves = np.concatenate([failed(0.0), failed(0.02)])
    assert lambda_of_success(halves, [0.5, 0.5], 500, FUNCTIONALS) == pytest.approx(
        lambda_of_success(failed(0.01), [1.0], 500, FUNCTIONALS), rel=0.2
    )
