"""Problems that JAX cannot trace: a loss and its gradient as Python functions, called for one point at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Key, Scalar

from ...algorithms.algorithm import Algorithm
from ...messages.arguments import check_type
from ...problems.oracle import Oracle
from ...problems.problem_class import MissingOracle, ProblemClass, check_key

Carry = TypeVar("Carry")


class Outside(ProblemClass):
    """One problem whose loss and gradient are functions from outside of loa."""

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
        return _unknown(what)


def _unknown(what: str) -> MissingOracle:
    return MissingOracle(
        f"a function from outside of loa has no {what}: use an algorithm that does not need it, such as one with a "
        "fixed step size."
    )


def check_deployed(algorithm: Any, key: Any) -> None:
    """Refuse what is not one algorithm, and a key that is none."""
    check_type("algorithm", algorithm, Algorithm, "one loa.Algorithm (of a stack, take stack[k])")
    if key is not None:
        check_key(key)


class NoProblem:
    """A placeholder for a problem, which raises `MissingOracle` for every attribute."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingOracle(f"this algorithm needs {name}, which a function from outside of loa does not have.")

    def __getitem__(self, index: Any) -> Any:
        raise MissingOracle(f"this algorithm needs {index!r}, which a function from outside of loa does not have.")


def concrete(x: Any) -> np.ndarray:
    """The point as a NumPy array; raises an error inside of code that JAX compiles."""
    if isinstance(x, Tracer):
        raise TypeError(
            "this algorithm calls the oracle inside a loop or branch of JAX, where functions from outside of loa "
            "cannot be called: use oracle.while_loop or oracle.cond instead."
        )
    return np.array(x)


class OutsideOracle(Oracle):
    """An oracle whose stochastic gradients are those of the function, which may itself choose a mini-batch."""

    def stochastic_gradient(self, x: Any, key: Key[Array, ""]) -> Any:
        self._count("stochastic_gradient")
        return self.problem_class.gradient(x, self.problem)

    def stochastic_value_and_gradient(self, x: Any, key: Key[Array, ""]) -> tuple[Scalar, Any]:
        self._count("stochastic_gradient")
        return self.problem_class.value_and_gradient(x, self.problem)


class EagerOracle(OutsideOracle):
    """The oracle of an algorithm that runs step by step in Python, so that every point is a concrete array.

    Its loops and branches are those of Python, and there are no second derivatives.
    """

    def hessian_product(self, x: Any, direction: Any) -> Any:
        raise _unknown("Hessian")

    def hessian(self, x: Any) -> Any:
        raise _unknown("Hessian")

    def while_loop(self, condition: Callable[[Carry], Any], body: Callable[[Carry], Carry], carry: Carry) -> Carry:
        while condition(carry):
            carry = body(carry)
        return carry

    def cond(self, predicate: Any, if_true: Callable[..., Carry], if_false: Callable[..., Carry], *operands) -> Carry:
        return if_true(*operands) if predicate else if_false(*operands)
