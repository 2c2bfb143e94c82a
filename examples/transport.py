"""Optimal transport between clouds of 30 weighted points, with entropy: `loa run examples/transport.py`."""

import jax
import jax.numpy as jnp

import loa

POINTS, ENTROPY = 30, 0.05


class Transport(loa.ProblemClass):
    """The unknowns are the 60 dual potentials: prices at the sources and at the targets."""

    def sample(self, key):
        source, target, supply, demand = jax.random.split(key, 4)
        sources = jax.random.uniform(source, (POINTS, 2))
        targets = jax.random.uniform(target, (POINTS, 2))
        supply = jax.random.uniform(supply, (POINTS,), minval=0.5, maxval=1.5)
        demand = jax.random.uniform(demand, (POINTS,), minval=0.5, maxval=1.5)
        cost = jnp.sum((sources[:, None] - targets) ** 2, axis=-1)
        return {"cost": cost, "supply": supply / supply.sum(), "demand": demand / demand.sum()}

    def loss(self, prices, problem):
        at_sources, at_targets = prices[:POINTS], prices[POINTS:]
        exponents = (at_sources[:, None] + at_targets - problem["cost"]) / ENTROPY
        masses = problem["supply"][:, None] * problem["demand"]
        value = problem["supply"] @ at_sources + problem["demand"] @ at_targets
        return ENTROPY * jax.scipy.special.logsumexp(exponents, b=masses) - value

    def start(self, problem, key):
        return jnp.zeros(2 * POINTS)
