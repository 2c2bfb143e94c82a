"""Softmax regression on handwritten digits, by mini-batches of 32: `loa run examples/digits_in_batches.py`."""

import jax
import jax.numpy as jnp
from sklearn.datasets import load_digits

import loa

PIXELS, DIGITS = load_digits(return_X_y=True)


class DigitsInBatches(loa.ProblemClass):
    """A problem is a sample of 400 digits; the unknowns are a 65 × 10 matrix of weights, the last row for the bias."""

    images: jax.Array
    digits: jax.Array

    def __init__(self):
        self.images, self.digits = jnp.asarray(PIXELS / 16.0), jnp.asarray(DIGITS)

    def sample(self, key):
        chosen = jax.random.randint(key, (400,), 0, len(self.digits))
        return self.images[chosen], self.digits[chosen]

    def loss(self, weights, problem):
        images, digits = problem
        scores = jax.nn.log_softmax(images @ weights[:-1] + weights[-1])
        return -jnp.mean(jnp.take_along_axis(scores, digits[:, None], axis=1)) + 1e-4 * jnp.sum(weights**2)

    def stochastic_loss(self, weights, problem, key):
        batch = jax.random.randint(key, (32,), 0, 400)
        return self.loss(weights, (problem[0][batch], problem[1][batch]))

    def start(self, problem, key):
        return jnp.zeros((65, 10))


criterion = loa.loss_below(0.2)
