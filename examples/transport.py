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
        return {
            "cost": jnp.sum((sources[:, None] - targets) ** 2, axis=-1),
            "supply": jax.random.dirichlet(supply, jnp.full(POINTS, 5.0)),
            "demand": jax.random.dirichlet(demand, jnp.full(POINTS, 5.0)),
        }

    def loss(self, prices, problem):
        at_sources, at_targets = prices[:POINTS], prices[POINTS:]
        exponents = (at_sources[:, None] + at_targets - problem["cost"]) / ENTROPY
        masses = problem["supply"][:, None] * problem["demand"]
        value = problem["supply"] @ at_sources + problem["demand"] @ at_targets
        return ENTROPY * jax.scipy.special.logsumexp(exponents, b=masses) - value

    def start(self, problem, key):
        return jnp.zeros(2 * POINTS)
