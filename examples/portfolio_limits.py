"""Portfolios of 20 stocks with limits on sectors and turnover, real prices: `loa run examples/portfolio_limits.py`."""

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
SECTORS = np.array([list("TTFCEICHFCHHTCHCEHCE")]) == np.array([list("TFCEIH")]).T  # technology, finance, consumer, …
TRADE = np.hstack([np.eye(STOCKS), -np.eye(STOCKS)])  # what is bought and what is sold, both at least 0
HELD, LARGEST = np.vstack([np.eye(STOCKS), SECTORS]), np.repeat([0.2, 0.4], [STOCKS, len(SECTORS)])
A = np.vstack([np.eye(2 * STOCKS), HELD @ TRADE, np.ones(STOCKS) @ TRADE, np.ones(2 * STOCKS)])


class Portfolios(loa.problems.QuadraticPrograms):
    """Mean and variance of a random year, from holdings of which half may be traded."""

    def sample(self, key):
        first, held = jax.random.split(key)
        day = jax.random.randint(first, (), 0, len(RETURNS) - DAYS)
        year = DAYS * jax.lax.dynamic_slice_in_dim(jnp.asarray(RETURNS), day, DAYS)
        holdings = 0.5 / STOCKS + 0.5 * jax.random.dirichlet(held, jnp.full(STOCKS, 2.0))
        return {"covariance": jnp.cov(year.T) / DAYS, "mean": year.mean(axis=0), "holdings": holdings}

    def program(self, problem):
        covariance, held = 10.0 * problem["covariance"], HELD @ problem["holdings"]
        q = TRADE.T @ (covariance @ problem["holdings"] - problem["mean"])
        lower = jnp.concatenate([jnp.zeros(2 * STOCKS), -held, jnp.zeros(2)])
        upper = jnp.concatenate([jnp.full(2 * STOCKS, jnp.inf), LARGEST - held, jnp.array([0.0, 1.0])])
        return loa.problems.Program(TRADE.T @ covariance @ TRADE, q, A, lower, upper)
