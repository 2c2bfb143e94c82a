"""Steps with functions from outside of loa, compiled piece by piece between the questions to these functions.

A step is a computation that now and then asks for a loss or a gradient, or tests whether a loop ends. The answers up to
a point say which way it has taken. For each way there is a program that computes the step, given these answers, up to
the next question. It is compiled when a way is taken for the first time; afterwards a question costs one call of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Key, Scalar

from ...algorithms.algorithm import Algorithm, initial_state
from ...trajectory.walk import state_key, step_key
from .python_functions import EagerOracle, NoProblem, Outside

Carry = TypeVar("Carry")
Path = tuple[Any, ...]
"""What happened in a step so far: the kinds of the questions that were answered, and the results of tests."""

EAGER = 25
"""The first steps run operation by operation: to compile them would take longer."""

MOST_PROGRAMS = 48
"""The number of ways that are compiled; a step that takes another one runs operation by operation."""


class CompiledSteps:
    """The steps of an algorithm on functions from outside: at first operation by operation, later compiled.

    Arguments:
        algorithm: in the precision of the points.
        dtype: their type.
    """

    def __init__(self, algorithm: Algorithm, dtype: Any):
        self.algorithm, self.dtype = algorithm, dtype
        parameters, self._rest = eqx.partition(algorithm, eqx.is_array)
        self._parameters, self._structure = jax.tree.flatten(parameters)
        self._programs: dict[Path, _Program] = {}
        self._made = 0

    def init(self, x0: Any, value: Callable[[Any], Any], gradient: Callable[[Any], Any], key: Key[Array, ""]) -> Any:
        """The initial state at a point; `value` and `gradient` as for `step`, `key` as for all of its steps."""
        return initial_state(self.algorithm, _eager(value, gradient), x0, state_key(key))

    def iterate(self, state: Any) -> np.ndarray:
        """The point of a state. (A bound method of a module is a module, which takes longer to make than to call.)"""
        return np.array(type(self.algorithm).iterate(self.algorithm, state))

    def step(self, state: Any, key: Key[Array, ""], value: Callable[[Any], Any], gradient: Callable[[Any], Any]) -> Any:
        """The state after one step.

        Arguments:
            state: the state before.
            key: the key of this step.
            value, gradient: the functions from outside; they take a concrete point and return arrays of NumPy.
        """
        self._made += 1
        compiled = None if self._made <= EAGER else self._compiled(state, key, value, gradient)
        if compiled is not None:
            return compiled[0]
        return self.algorithm.step(_eager(value, gradient), state, key)

    def _compiled(self, state: Any, key: Any, value: Any, gradient: Any) -> tuple[Any] | None:
        path, answers = (), []
        while len(self._programs) < MOST_PROGRAMS or path in self._programs:
            if path not in self._programs:
                self._programs[path] = _Program(self._structure, self._rest, path)
            program = self._programs[path]
            found = program.run(self._parameters, state, key, answers)
            if program.question == "end":
                return (found,)
            if program.question == "test":
                path = (*path, bool(found))
                continue
            path, point = (*path, program.question), np.asarray(found)
            asked = {"value": [value], "gradient": [gradient], "both": [value, gradient]}[program.question]
            answers.append([function(point) for function in asked])
        return None


@jax.jit
def numbered_key(key: Key[Array, ""], steps: Any) -> Key[Array, ""]:
    """The key of the step that follows this number of steps."""
    return step_key(key, steps)


def _eager(value: Callable[[Any], Any], gradient: Callable[[Any], Any]) -> EagerOracle:
    return EagerOracle(Outside(lambda x: jnp.asarray(value(x)), lambda x: jnp.asarray(gradient(x))), NoProblem())


class _Program:
    """A step up to the question that follows a way; `question` is "end" if there is none."""

    def __init__(self, structure: Any, rest: Algorithm, path: Path):
        self.question = ""

        def run(parameters: Any, state: Any, key: Any, answers: list[Any]) -> Any:
            algorithm = eqx.combine(jax.tree.unflatten(structure, parameters), rest)
            try:
                found, self.question = algorithm.step(_ReplayingOracle(path, answers), state, key), "end"
            except _Question as asked:
                found, self.question = asked.about, asked.kind
            return found

        self.run = jax.jit(run)


class _Question(Exception):
    """Ends the tracing of a step where something has to be known."""

    def __init__(self, kind: str, about: Any):
        self.kind, self.about = kind, about


class _ReplayingOracle(EagerOracle):
    """An oracle that gives the answers of a way in their order, and then asks."""

    def __init__(self, path: Path, answers: list[Any]):
        super().__init__(
            Outside(lambda x: self._ask("value", x)[0], lambda x: self._ask("gradient", x)[0]), NoProblem()
        )
        self._path, self._answers = iter(path), iter(answers)

    def value_and_gradient(self, x: Any) -> tuple[Scalar, Any]:
        value, gradient = self._ask("both", x)
        return value, gradient

    def stochastic_value_and_gradient(self, x: Any, key: Key[Array, ""]) -> tuple[Scalar, Any]:
        return self.value_and_gradient(x)

    def stochastic_gradient(self, x: Any, key: Key[Array, ""]) -> Any:
        return self._ask("gradient", x)[0]

    def while_loop(self, condition: Callable[[Carry], Any], body: Callable[[Carry], Carry], carry: Carry) -> Carry:
        while self._test(condition(carry)):
            carry = body(carry)
        return carry

    def cond(self, predicate: Any, if_true: Callable[..., Carry], if_false: Callable[..., Carry], *operands) -> Carry:
        return if_true(*operands) if self._test(predicate) else if_false(*operands)

    def _ask(self, kind: str, x: Any) -> Any:
        if next(self._path, None) is None:
            raise _Question(kind, x)
        return next(self._answers)

    def _test(self, predicate: Any) -> bool:
        if not isinstance(predicate, Tracer):
            return bool(predicate)
        decided = next(self._path, None)
        if decided is None:
            raise _Question("test", predicate)
        return decided
