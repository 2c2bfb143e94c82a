"""Problems that are drawn when they are needed, because all of them together would not fit into memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from .problem_class import ProblemClass, check_key, sampled, whole_number


@dataclass(frozen=True)
class Drawn:
    """The problems that `problem_class.draw(key, number)` would draw, some of them at a time.

    Arguments:
        key: a PRNG key.
        number: how many problems there are, at least 1.

    >>> from loa.problems import RunningExample
    >>> Drawn(jax.random.key(0), 10**9).some(RunningExample(), 5, 7).shape
    (2,)
    """

    key: Key[Array, ""]
    number: int

    def __post_init__(self):
        check_key(self.key)
        whole_number("number", self.number)

    def some(self, problem_class: ProblemClass, start: int, stop: int) -> Any:
        """A stack of the problems with the numbers start, …, stop - 1.

        Arguments:
            problem_class: the class that they are drawn from.
            start, stop: the first number, and the one after the last.
        """
        return _some(problem_class, self.key, jnp.arange(start, stop))


@eqx.filter_jit
def _some(problem_class: ProblemClass, key: Any, numbers: Any) -> Any:
    return jax.vmap(lambda number: sampled(problem_class, jax.random.fold_in(key, number)))(numbers)
