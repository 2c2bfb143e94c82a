"""Blurred and noisy 64 × 64 patches of photographs, restored: `loa run examples/deconvolution.py`."""

import jax
import jax.numpy as jnp
import numpy as np
from skimage import data

import loa

SIDE = 64
PHOTOGRAPHS = np.stack([each[:300, :380] for each in (data.camera(), data.coins(), data.moon(), data.brick())])
FREQUENCIES = jnp.fft.fftfreq(SIDE)[:, None] ** 2 + jnp.fft.rfftfreq(SIDE) ** 2


def blur(image, width):
    filtered = jnp.fft.rfft2(image) * jnp.exp(-2.0 * (jnp.pi * width) ** 2 * FREQUENCIES)
    return jnp.fft.irfft2(filtered, s=(SIDE, SIDE))


class Deconvolution(loa.ProblemClass):
    """Least squares with a smooth kind of total variation; the width of the blur differs, and is known."""

    def sample(self, key):
        place, width, noise = jax.random.split(key, 3)
        most = jnp.array(PHOTOGRAPHS.shape) - jnp.array([1, SIDE, SIDE])
        patch = jax.lax.dynamic_slice(PHOTOGRAPHS, jax.random.randint(place, (3,), 0, most + 1), (1, SIDE, SIDE))[0]
        width = jax.random.uniform(width, minval=0.5, maxval=2.0)
        return blur(patch / 255.0, width) + 0.01 * jax.random.normal(noise, (SIDE, SIDE)), width

    def loss(self, image, problem):
        blurred, width = problem
        steps = jnp.stack([jnp.roll(image, 1, axis) - image for axis in (0, 1)])
        variation = jnp.sum(jnp.sqrt(jnp.sum(steps**2, axis=0) + 1e-2**2))
        return 0.5 * jnp.sum((blur(image, width) - blurred) ** 2) + 2e-3 * variation

    def start(self, problem, key):
        return problem[0]
