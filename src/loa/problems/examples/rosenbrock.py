"""The Rosenbrock family: curved valleys in n dimensions."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ...messages.arguments import number_range
from ..problem_class import ProblemClass, whole_number


class Valley(NamedTuple):
    """One problem: the steepness of the walls of the valley, and the solution at its end."""

    steepness: Float[Array, " n-1"]
    bottom: Float[Array, " n"]


class Rosenbrock(ProblemClass):
    r"""Random variants of Rosenbrock's function: curved valleys in n dimensions.

    \[ \min_x \sum_{i=1}^{n-1} b_i ((x_{i+1} - a_{i+1}) - (x_i^2 - a_i^2))^2 + (x_i - a_i)^2. \]

    With \(b_i = 100\) and \(a_i = 1\) this is Rosenbrock's function; here \(b_i\) is uniform on [50, 150] and the
    solution \(a_i\) on [0.5, 1.5]. The start is (-1.2, 1, -1.2, 1, …). The loss is not convex, and its gradient is not
    Lipschitz continuous on the whole space. In dimension 4 or more there may be local minima.

    Arguments:
        dimension: n ≥ 2.
        steepness: the range of the b's.
        bottom: the range of the a's.

    >>> valleys = Rosenbrock(dimension=2)
    >>> problem = valleys.sample(jax.random.key(0))
    >>> float(valleys.loss(valleys.solution(problem), problem))
    0.0
    """

    dimension: int = eqx.field(static=True, default=10)
    steepness: tuple[float, float] = eqx.field(static=True, default=(50.0, 150.0))
    bottom: tuple[float, float] = eqx.field(static=True, default=(0.5, 1.5))

    def __check_init__(self):
        whole_number("the dimension of a Rosenbrock function", self.dimension, least=2)
        number_range("steepness", self.steepness)
        number_range("bottom", self.bottom, least=-float("inf"))

    def sample(self, key: Key[Array, ""]) -> Valley:
        steepness_key, bottom_key = jax.random.split(key)
        low, high = self.steepness
        steepness = jax.random.uniform(steepness_key, (self.dimension - 1,), minval=low, maxval=high)
        low, high = self.bottom
        return Valley(steepness, jax.random.uniform(bottom_key, (self.dimension,), minval=low, maxval=high))

    def start(self, problem: Valley, key: Key[Array, ""]) -> Float[Array, " n"]:
        return jnp.where(jnp.arange(self.dimension) % 2 == 0, -1.2, 1.0)

    def loss(self, x: Float[Array, " n"], problem: Valley) -> Scalar:
        away = x - problem.bottom
        off = away[1:] - (x**2 - problem.bottom**2)[:-1]
        return jnp.sum(problem.steepness * off**2 + away[:-1] ** 2)

    def optimal_loss(self, problem: Valley) -> float:
        return 0.0

    def solution(self, problem: Valley) -> Float[Array, " n"]:
        return problem.bottom
