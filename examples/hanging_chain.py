"""A chain of links of fixed length that hangs between two points: `loa run examples/hanging_chain.py`."""

import jax
import jax.numpy as jnp

import loa

LINKS = 8


class Chains(loa.problems.NonlinearPrograms):
    """A problem: the weights of the joints, and where the chain ends. The unknowns are the places of the joints."""

    def sample(self, key):
        first, second = jax.random.split(key)
        weights = jax.random.uniform(first, (LINKS - 1,), minval=0.5, maxval=2.0)
        return {"weights": weights, "end": jnp.array([0.6 * LINKS, 0.0]) + 0.5 * jax.random.normal(second, (2,))}

    def objective(self, joints, problem):
        return problem["weights"] @ joints[:, 1]

    def equalities(self, joints, problem):
        places = jnp.concatenate([jnp.zeros((1, 2)), joints, problem["end"][None]])
        return jnp.sum((places[1:] - places[:-1]) ** 2, axis=1) - 1.0

    def first(self, problem, key):
        way = jnp.linspace(0.0, 1.0, LINKS + 1)[1:-1, None]
        return way * problem["end"] - way * (1.0 - way) * jnp.array([0.0, LINKS])
