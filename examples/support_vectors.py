"""Support vector machines that tell wines apart, by their duals: `loa run examples/support_vectors.py`."""

import jax
import jax.numpy as jnp
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import loa

WINES, GROWERS = load_wine(return_X_y=True)
FEATURES, GROWERS = jnp.asarray(scale(WINES)), jnp.asarray(GROWERS)


class SupportVectors(loa.ProblemClass):
    """A problem is a sample of 60 wines, one grower against the others, and the width of the kernel."""

    def sample(self, key):
        wine, grower, width = jax.random.split(key, 3)
        chosen = jax.random.choice(wine, len(GROWERS), (60,), replace=False)
        signs = jnp.where(GROWERS[chosen] == jax.random.randint(grower, (), 0, 3), 1.0, -1.0)
        squares = jnp.sum((FEATURES[chosen, None] - FEATURES[chosen]) ** 2, axis=-1)
        kernel = jnp.exp(-0.5 * squares / jax.random.uniform(width, minval=2.0, maxval=5.0) ** 2)
        return signs[:, None] * kernel * signs

    def smooth(self, multipliers, matrix):
        return 0.5 * multipliers @ matrix @ multipliers - jnp.sum(multipliers)

    constraint = loa.sets.Box(0.0, 10.0)

    def smoothness(self, matrix):
        return jnp.linalg.eigvalsh(matrix)[-1]

    def start(self, matrix, key):
        return jnp.zeros(60)
