"""Problems that JAX cannot see into: a loss and its gradient as Python functions, asked one point at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Key, Scalar

from ..problems.oracle import Oracle
from ..problems.problem_class import MissingOracle, ProblemClass

Carry = TypeVar("Carry")


class Outside(ProblemClass):
    """One problem, whose loss and gradient come from elsewhere."""

    value_function: Callable[[Any], Scalar] = eqx.field(static=True)
    gradient_function: Callable[[Any], Array] = eqx.field(static=True)

    def sample(self, key: Key[Array, ""]) -> tuple[()]:
        return ()

    def start(self, problem: Any, key: Key[Array, ""]) -> Any:
        raise self._missing("start", "start")

    def loss(self, x: Float[Array, " d"], problem: Any) -> Scalar:
        return self.value_function(x)

    def gradient(self, x: Float[Array, " d"], problem: Any) -> Float[Array, " d"]:
        return self.gradient_function(x)

    def _missing(self, what: str, method: str) -> MissingOracle:
        return MissingOracle(
            f"a function from outside of loa has no {what}: use an algorithm that does not ask for it, such as one "
            "with a step size of its own."
        )


class NoProblem:
    """In place of a problem: whatever an algorithm wants to know of it is missing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingOracle(f"a function from outside of loa has no {name}, for which this algorithm asks.")

    def __getitem__(self, index: Any) -> Any:
        raise MissingOracle(f"a function from outside of loa has no {index!r}, for which this algorithm asks.")


def concrete(x: Any) -> np.ndarray:
    """The point as numbers, which it is unless the algorithm asks inside of what JAX compiles."""
    if isinstance(x, Tracer):
        raise TypeError(
            "this algorithm asks for losses inside of a loop or branch of JAX, where functions from outside of loa "
            "cannot be called: in an algorithm of yours, use oracle.while_loop or oracle.cond."
        )
    return np.array(x)


class OutsideOracle(Oracle):
    """A stochastic gradient is what the function gives: it is up to the outside on which part of the data."""

    def stochastic_gradient(self, x: Any, key: Key[Array, ""]) -> Any:
        self._count("stochastic_gradient")
        return self.problem_class.gradient(x, self.problem)

    def stochastic_value_and_gradient(self, x: Any, key: Key[Array, ""]) -> tuple[Scalar, Any]:
        self._count("stochastic_gradient")
        return self.problem_class.value_and_gradient(x, self.problem)


class EagerOracle(OutsideOracle):
    """The oracle of an algorithm that runs in Python, step by step, so that every point it asks about is an array.

    Loops and branches are Python's.
    """

    def while_loop(self, condition: Callable[[Carry], Any], body: Callable[[Carry], Carry], carry: Carry) -> Carry:
        while condition(carry):
            carry = body(carry)
        return carry

    def cond(self, predicate: Any, if_true: Callable[..., Carry], if_false: Callable[..., Carry], *operands) -> Carry:
        return if_true(*operands) if predicate else if_false(*operands)
