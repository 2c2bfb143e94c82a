"""Steps with functions from outside of loa, compiled piece by piece between the questions to these functions.

A step is traced once, with a question in the place of each loss and gradient. What lies between two questions is
compiled as one piece. Loops and branches in which questions are asked are carried out here, and their bodies are
divided in the same way, so that there are as many pieces as the step has questions, however often a loop runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray, eval_jaxpr
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Primitive
from jaxtyping import Array, Key

from ...algorithms.algorithm import Algorithm, initial_state
from ...trajectory.walk import state_key, step_key
from .python_functions import EagerOracle, NoProblem, Outside, OutsideOracle

Functions = dict[str, Callable[[np.ndarray], Any]]
"""The functions from outside, "value" and "gradient"."""

EAGER = 25
"""The first steps run operation by operation: to compile them would take longer."""

CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr"}
"""Primitives that carry out a program, and the name under which they hold it."""

question = Primitive("question")
question.def_abstract_eval(lambda x, *, kind: ShapedArray(() if kind == "value" else x.shape, x.dtype))


class CompiledSteps:
    """The steps of an algorithm on functions from outside: at first operation by operation, later compiled.

    Arguments:
        algorithm: in the precision of the points.
        dtype: their type.
    """

    def __init__(self, algorithm: Algorithm, dtype: Any):
        self.algorithm, self.dtype = algorithm, dtype
        self._programs: dict[Any, tuple[_Program, Any]] = {}
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
        if self._made <= EAGER:
            return self.algorithm.step(_eager(value, gradient), state, key)
        leaves, structure = jax.tree.flatten((state, key))
        form = structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves)
        if form not in self._programs:
            self._programs[form] = self._traced(state, key)
        program, after = self._programs[form]
        return jax.tree.unflatten(after, program.run(leaves, {"value": value, "gradient": gradient}))

    def _traced(self, state: Any, key: Any) -> tuple[_Program, Any]:
        """The program of a step, and the structure of the state that it returns."""
        outside = Outside(lambda x: question.bind(x, kind="value"), lambda x: question.bind(x, kind="gradient"))

        def step(state: Any, key: Any) -> Any:
            return self.algorithm.step(OutsideOracle(outside, NoProblem()), state, key)

        traced, form = jax.make_jaxpr(step, return_shape=True)(state, key)
        return _Program(traced), jax.tree.structure(form)


@jax.jit
def numbered_key(key: Key[Array, ""], steps: Any) -> Key[Array, ""]:
    """The key of the step that follows this number of steps."""
    return step_key(key, steps)


def _eager(value: Callable[[Any], Any], gradient: Callable[[Any], Any]) -> EagerOracle:
    return EagerOracle(Outside(lambda x: jnp.asarray(value(x)), lambda x: jnp.asarray(gradient(x))), NoProblem())


class _Program:
    """A traced computation, divided where it asks."""

    def __init__(self, traced: ClosedJaxpr):
        self.jaxpr: Jaxpr = traced.jaxpr
        self.consts = dict(zip(self.jaxpr.constvars, traced.consts, strict=True))
        self.parts = _parts(self.jaxpr)

    def run(self, arguments: Iterable[Any], functions: Functions) -> list[Any]:
        """The results of the computation, with answers of these functions."""
        known = {**self.consts, **dict(zip(self.jaxpr.invars, arguments, strict=True))}
        for part in self.parts:
            part(known, functions)
        return [_read(known, atom) for atom in self.jaxpr.outvars]


def _parts(jaxpr: Jaxpr) -> list[Callable[[dict[Any, Any], Functions], None]]:
    """Compiled pieces, and between them what asks; each computes variables from those that are known."""
    parts: list[Callable[[dict[Any, Any], Functions], None]] = []
    wanted, piece = _variables(jaxpr.outvars), []
    for equation in reversed(jaxpr.eqns):
        if _asks(equation):
            if piece:
                compiled = _Piece(jaxpr, piece, wanted)
                parts.append(compiled)
                wanted, piece = wanted | compiled.needs, []
            parts.append(_asking(equation))
            wanted = wanted | _variables(equation.invars)
        else:
            piece = [equation, *piece]
    first = [_Piece(jaxpr, piece, wanted)] if piece else []
    return [*first, *reversed(parts)]


class _Piece:
    """Equations without questions, compiled together."""

    def __init__(self, jaxpr: Jaxpr, equations: list[JaxprEqn], wanted: set[Any]):
        made = _variables(out for each in equations for out in each.outvars)
        self.needs = _variables(atom for each in equations for atom in each.invars) - made
        self._inputs, self._outputs = list(self.needs), [each for each in made if each in wanted]
        inner = jaxpr.replace(
            constvars=[], invars=self._inputs, outvars=self._outputs, eqns=equations,
            debug_info=jaxpr.debug_info.with_unknown_names(),
        )  # fmt: skip
        self._compiled = jax.jit(lambda given: eval_jaxpr(inner, (), *given))

    def __call__(self, known: dict[Any, Any], functions: Functions) -> None:
        found = self._compiled([known[each] for each in self._inputs])
        known.update(zip(self._outputs, found, strict=True))


def _asking(equation: JaxprEqn) -> Callable[[dict[Any, Any], Functions], None]:
    """Carry out an equation in which something is asked."""
    name, params = equation.primitive.name, equation.params
    if name == "question":
        run = _answer(params["kind"], equation.outvars[0].aval.dtype)  # pyright: ignore[reportAttributeAccessIssue]
    elif name in CALLS:
        run = _Program(params[CALLS[name]]).run
    elif name == "while":
        run = _loop(params)
    elif name == "cond":
        run = _branch([_Program(each) for each in params["branches"]])
    else:
        raise TypeError(
            f"this algorithm calls the oracle inside of {name}, where functions from outside of loa cannot be called: "
            "use oracle.while_loop or oracle.cond instead."
        )

    def part(known: dict[Any, Any], functions: Functions) -> None:
        found = run([_read(known, atom) for atom in equation.invars], functions)
        known.update(zip(equation.outvars, found, strict=True))

    return part


def _answer(kind: str, dtype: Any) -> Callable[..., list[Any]]:
    return lambda given, functions: [np.asarray(functions[kind](np.array(given[0])), dtype)]


def _loop(params: dict[str, Any]) -> Callable[..., list[Any]]:
    condition, body = _Program(params["cond_jaxpr"]), _Program(params["body_jaxpr"])
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]

    def run(given: list[Any], functions: Functions) -> list[Any]:
        carried = given[second:]
        while bool(condition.run([*given[:first], *carried], functions)[0]):
            carried = body.run([*given[first:second], *carried], functions)
        return carried

    return run


def _branch(branches: list[_Program]) -> Callable[..., list[Any]]:
    def run(given: list[Any], functions: Functions) -> list[Any]:
        return branches[min(max(int(given[0]), 0), len(branches) - 1)].run(given[1:], functions)

    return run


def _asks(equation: JaxprEqn) -> bool:
    """Whether something is asked in an equation, at whatever depth."""
    return equation.primitive is question or any(
        _asks(inner) for program in _programs_in(equation) for inner in program.eqns
    )


def _programs_in(equation: JaxprEqn) -> Iterable[Jaxpr]:
    for value in equation.params.values():
        for each in value if isinstance(value, tuple | list) else (value,):
            if isinstance(each, ClosedJaxpr | Jaxpr):
                yield each.jaxpr if isinstance(each, ClosedJaxpr) else each


def _variables(atoms: Iterable[Any]) -> set[Any]:
    return {atom for atom in atoms if not isinstance(atom, Literal)}


def _read(known: dict[Any, Any], atom: Any) -> Any:
    return atom.val if isinstance(atom, Literal) else known[atom]
