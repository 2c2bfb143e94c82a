"""Logistic regressions with features that differ from problem to problem: `loa run examples/logistic.py`."""

import jax
import jax.numpy as jnp

import loa

PEOPLE, FEATURES = 200, 25


class LogisticRegressions(loa.ProblemClass):
    """Correlated features, random coefficients, and a ridge."""

    def sample(self, key):
        mix, person, coefficient, answer, ridge = jax.random.split(key, 5)
        mixing = jnp.eye(FEATURES) + 0.3 * jax.random.normal(mix, (FEATURES, FEATURES))
        features = jax.random.normal(person, (PEOPLE, FEATURES)) @ mixing
        chances = jax.nn.sigmoid(features @ jax.random.normal(coefficient, (FEATURES,)))
        signs = 2.0 * jax.random.bernoulli(answer, chances) - 1.0
        return features * signs[:, None], 10.0 ** jax.random.uniform(ridge, minval=-3.0, maxval=-1.0)

    def loss(self, x, problem):
        signed, ridge = problem
        return jnp.mean(jax.nn.softplus(-signed @ x)) + 0.5 * ridge * jnp.sum(x**2)

    def start(self, problem, key):
        return jnp.zeros(FEATURES)
