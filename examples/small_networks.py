"""Small neural networks that each learn a different curve from 20 points: `loa run examples/small_networks.py`."""

import jax
import jax.numpy as jnp

import loa

POINTS, HIDDEN = 20, 8


class SmallNetworks(loa.ProblemClass):
    """Least squares with weight decay over all 20 points. The unknowns are a dictionary of arrays."""

    def sample(self, key):
        place, size, phase, noise = jax.random.split(key, 4)
        inputs = jnp.sort(jax.random.uniform(place, (POINTS,), minval=-2.0, maxval=2.0))
        sizes, phases = jax.random.normal(size, (2,)), jax.random.uniform(phase, (2,), maxval=6.3)
        curve = sizes[0] * jnp.sin(inputs + phases[0]) + sizes[1] * jnp.sin(2.0 * inputs + phases[1])
        return inputs, curve + 0.05 * jax.random.normal(noise, (POINTS,))

    def loss(self, network, problem):
        inputs, outputs = problem
        hidden = jnp.tanh(inputs[:, None] * network["slopes"] + network["shifts"])
        predictions = hidden @ network["weights"] + network["bias"]
        decay = sum(jnp.sum(part**2) for part in network.values())
        return jnp.sum((predictions - outputs) ** 2) + 1e-2 * decay

    def start(self, problem, key):
        slopes, shifts, weights = jax.random.normal(key, (3, HIDDEN))
        return {"slopes": slopes, "shifts": shifts, "weights": weights / HIDDEN**0.5, "bias": jnp.zeros(())}
