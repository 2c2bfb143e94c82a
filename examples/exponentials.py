"""Sums of two decaying exponentials, fitted from random starts: `loa run examples/exponentials.py`."""

import jax
import jax.numpy as jnp

import loa

TIMES = jnp.linspace(0.0, 4.0, 40)


def curve(parameters):
    sizes, rates = parameters[:2], jnp.exp(parameters[2:])
    return jnp.exp(-TIMES[:, None] * rates) @ sizes


class TwoExponentials(loa.ProblemClass):
    """The unknowns are two sizes and the logarithms of two rates, one slow and one fast."""

    def sample(self, key):
        size, rate, noise = jax.random.split(key, 3)
        sizes = jax.random.uniform(size, (2,), minval=0.5, maxval=2.0)
        log_rates = jax.random.uniform(rate, (2,), minval=-0.3, maxval=0.3) + jnp.array([-1.0, 1.2])
        return curve(jnp.concatenate([sizes, log_rates])) + 0.01 * jax.random.normal(noise, TIMES.shape)

    def loss(self, parameters, measured):
        return 0.5 * jnp.sum((curve(parameters) - measured) ** 2)

    def start(self, measured, key):
        return jnp.array([1.0, 1.0, -1.0, 1.0]) + 0.3 * jax.random.normal(key, (4,))
