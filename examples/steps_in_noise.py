"""Piecewise constant signals found in noise, by total variation: `loa run examples/steps_in_noise.py`."""

import jax
import jax.numpy as jnp

import loa

LENGTH = 100


class StepsInNoise(loa.ProblemClass):
    """The dual of total-variation denoising: 99 tensions, bounded by the penalty; jumps are where it is reached."""

    def sample(self, key):
        jump, size, noise, penalty = jax.random.split(key, 4)
        jumps = jax.random.bernoulli(jump, 0.05, (LENGTH,)) * jax.random.normal(size, (LENGTH,))
        noisy = jnp.cumsum(jumps) + 0.2 * jax.random.normal(noise, (LENGTH,))
        return noisy, jax.random.uniform(penalty, minval=0.2, maxval=0.8)

    def smooth(self, tensions, problem):
        noisy, _ = problem
        denoised = noisy + jnp.diff(tensions, prepend=0.0, append=0.0)
        return 0.5 * jnp.sum(denoised**2)

    def constraint(self, problem):
        return loa.sets.Box(-problem[1], problem[1])

    def smoothness(self, problem):
        return jnp.asarray(4.0)

    def start(self, problem, key):
        return jnp.zeros(LENGTH - 1)
