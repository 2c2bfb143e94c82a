"""Matrix completion: ratings of 30 films by 40 people, a third of them known: `loa run examples/ratings.py`."""

import jax
import jax.numpy as jnp

import loa

PEOPLE, FILMS, TASTES = 40, 30, 3


class Ratings(loa.ProblemClass):
    """A factorization; the unknowns are a 70 × 3 matrix, the tastes of the people above those of the films."""

    def sample(self, key):
        taste, noise, which = jax.random.split(key, 3)
        tastes = jax.random.normal(taste, (PEOPLE + FILMS, TASTES))
        ratings = tastes[:PEOPLE] @ tastes[PEOPLE:].T + 0.1 * jax.random.normal(noise, (PEOPLE, FILMS))
        return ratings, jax.random.bernoulli(which, 0.35, (PEOPLE, FILMS)).astype(float)

    def loss(self, tastes, problem):
        ratings, known = problem
        errors = known * (tastes[:PEOPLE] @ tastes[PEOPLE:].T - ratings)
        return 0.5 * jnp.sum(errors**2) + 0.5 * jnp.sum(tastes**2)

    def start(self, problem, key):
        return 0.3 * jax.random.normal(key, (PEOPLE + FILMS, TASTES))
