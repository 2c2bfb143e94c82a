"""Risk budgets for twenty stocks of the S&P 500, by the prices of a random year: `loa run examples/risk_parity.py`."""

import jax
import jax.numpy as jnp
import numpy as np

import loa

try:
    from skfolio.datasets import load_sp500_dataset
except ImportError as error:
    raise ImportError("the prices ship with skfolio: `pip install skfolio`, or `pip install loa[gallery]`.") from error

RETURNS = np.diff(np.log(load_sp500_dataset().to_numpy()), axis=0)
DAYS, STOCKS = 250, RETURNS.shape[1]


class RiskBudgets(loa.ProblemClass):
    """The unknowns are logarithms of the weights; at the solution every stock bears its budget of the risk."""

    returns: jax.Array

    def __init__(self):
        self.returns = jnp.asarray(RETURNS)

    def sample(self, key):
        first, budget = jax.random.split(key)
        day = jax.random.randint(first, (), 0, len(self.returns) - DAYS)
        covariance = jnp.cov(jax.lax.dynamic_slice_in_dim(self.returns, day, DAYS).T)
        budgets = jax.random.uniform(budget, (STOCKS,), minval=0.5, maxval=1.5)
        return STOCKS * covariance / jnp.trace(covariance), budgets / budgets.sum()

    def loss(self, log_weights, problem):
        covariance, budgets = problem
        weights = jnp.exp(log_weights)
        return 0.5 * weights @ covariance @ weights - budgets @ log_weights

    def start(self, problem, key):
        return jnp.full(STOCKS, -0.5 * jnp.log(jnp.sum(problem[0])))
