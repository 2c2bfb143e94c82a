"""Hyperparameters of Gaussian processes, by marginal likelihood: `loa run examples/gaussian_process.py`."""

import jax
import jax.numpy as jnp

import loa

POINTS = 30


def covariance(inputs, log_parameters):
    lengths, size, noise = jnp.exp(log_parameters[:2]), *jnp.exp(log_parameters[2:])
    squares = jnp.sum(((inputs[:, None] - inputs) / lengths) ** 2, axis=-1)
    return size * jnp.exp(-0.5 * squares) + (noise + 1e-6) * jnp.eye(POINTS)


class GaussianProcesses(loa.ProblemClass):
    """The unknowns are logarithms of two lengths and of the variances of signal and noise, with a weak prior."""

    def sample(self, key):
        place, parameters, value = jax.random.split(key, 3)
        inputs = jax.random.uniform(place, (POINTS, 2))
        truth = jnp.array([-1.0, -1.0, 0.0, -3.0]) + 0.5 * jax.random.normal(parameters, (4,))
        factor = jnp.linalg.cholesky(covariance(inputs, truth))
        return inputs, factor @ jax.random.normal(value, (POINTS,))

    def loss(self, log_parameters, problem):
        inputs, outputs = problem
        factor = jnp.linalg.cholesky(covariance(inputs, log_parameters))
        whitened = jax.scipy.linalg.solve_triangular(factor, outputs, lower=True)
        prior = 0.5 * jnp.sum((log_parameters - jnp.array([-1.0, -1.0, 0.0, -3.0])) ** 2)
        return 0.5 * jnp.sum(whitened**2) + jnp.sum(jnp.log(jnp.diag(factor))) + prior

    def start(self, problem, key):
        return jnp.array([-0.5, -0.5, 0.0, -2.0])
