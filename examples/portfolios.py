"""Long-only portfolios of 60 assets, each with its own estimate of risk: `loa run examples/portfolios.py`."""

import jax
import jax.numpy as jnp

import loa

ASSETS, FACTORS, DAYS = 60, 5, 250


class Portfolios(loa.ProblemClass):
    """Mean and variance over the simplex; a problem is a year of returns from a factor model."""

    def sample(self, key):
        exposure, factors, noise, drift, aversion = jax.random.split(key, 5)
        exposures = jax.random.normal(exposure, (FACTORS, ASSETS)).at[0].add(3.0)
        returns = 0.01 * jax.random.normal(factors, (DAYS, FACTORS)) @ exposures / 3.0
        returns += 0.01 * jax.random.normal(noise, (DAYS, ASSETS)) + 0.001 * jax.random.normal(drift, (ASSETS,))
        aversion = jax.random.uniform(aversion, minval=2.0, maxval=20.0)
        return {"covariance": jnp.cov(returns.T), "mean": returns.mean(axis=0), "aversion": aversion}

    def smooth(self, weights, problem):
        variance = weights @ problem["covariance"] @ weights
        return 0.5 * problem["aversion"] * variance - problem["mean"] @ weights

    constraint = loa.sets.Simplex()

    def smoothness(self, problem):
        return problem["aversion"] * jnp.linalg.eigvalsh(problem["covariance"])[-1]

    def start(self, problem, key):
        return jnp.full(ASSETS, 1.0 / ASSETS)
