"""Spectral unmixing: how much of which material is in a pixel? `loa run examples/unmixing.py`."""

import jax
import jax.numpy as jnp

import loa

BANDS, MATERIALS = 100, 40
WAVELENGTHS = jnp.linspace(0.0, 1.0, BANDS)


class Unmixing(loa.ProblemClass):
    """Non-negative least squares; every problem has a library of spectra of its own, sums of three peaks each."""

    def sample(self, key):
        centre, width, height, which, amount, noise = jax.random.split(key, 6)
        centres = jax.random.uniform(centre, (MATERIALS, 3, 1))
        widths = jax.random.uniform(width, (MATERIALS, 3, 1), minval=0.01, maxval=0.1)
        heights = jax.random.uniform(height, (MATERIALS, 3, 1))
        spectra = jnp.sum(heights * jnp.exp(-0.5 * ((WAVELENGTHS - centres) / widths) ** 2), axis=1).T
        abundances = jax.random.uniform(amount, (MATERIALS,)) * jax.random.bernoulli(which, 0.2, (MATERIALS,))
        return spectra, spectra @ abundances + 0.01 * jax.random.normal(noise, (BANDS,))

    def smooth(self, abundances, problem):
        spectra, pixel = problem
        return 0.5 * jnp.sum((spectra @ abundances - pixel) ** 2)

    constraint = loa.sets.NonNegative()

    def smoothness(self, problem):
        return jnp.linalg.eigvalsh(problem[0].T @ problem[0])[-1]

    def start(self, problem, key):
        return jnp.zeros(MATERIALS)


horizon = 1000
