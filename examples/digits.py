"""Softmax regression on 200 handwritten digits at a time: `loa run examples/digits.py`."""

import jax
import jax.numpy as jnp
from sklearn.datasets import load_digits

import loa

PIXELS, DIGITS = load_digits(return_X_y=True)


class Digits(loa.ProblemClass):
    """A problem is a sample of digits; the unknowns are a 65 × 10 matrix of weights, the last row for the bias."""

    images: jax.Array
    digits: jax.Array

    def __init__(self):
        self.images, self.digits = jnp.asarray(PIXELS / 16.0), jnp.asarray(DIGITS)

    def sample(self, key):
        chosen = jax.random.randint(key, (200,), 0, len(self.digits))
        return self.images[chosen], self.digits[chosen]

    def loss(self, weights, problem):
        images, digits = problem
        scores = jax.nn.log_softmax(images @ weights[:-1] + weights[-1])
        return -jnp.mean(jnp.take_along_axis(scores, digits[:, None], axis=1)) + 5e-3 * jnp.sum(weights**2)

    def start(self, problem, key):
        return jnp.zeros((65, 10))
