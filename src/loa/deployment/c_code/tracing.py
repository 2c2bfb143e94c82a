"""From a jaxpr to a graph: calls inlined, constants computed, invariants moved out of loops, nothing computed twice."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal

from .graph import Block, Node, Value, constant, is_known, prune

CALLS = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr", "core_call": "call_jaxpr", "remat2": "jaxpr", "checkpoint": "jaxpr",
}  # fmt: skip
SAME = {"stop_gradient", "copy", "copy_p", "optimization_barrier", "reduce_precision"}

QUICKLY: Any = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""How to compile what runs once."""


def traced(program: ClosedJaxpr) -> Block:
    """The graph of a program, whose arguments are those of the jaxpr."""
    whole, beforehand = Block(), Beforehand()
    arguments = [whole.argument(form.shape, form.dtype) for form in map(_form, program.jaxpr.invars)]
    whole.results = _Tracer(whole, beforehand).closed(program, arguments)
    beforehand.compute(prune(whole))
    return whole


class Beforehand:
    """Operations on constants, which JAX computes in one go when all of them are known."""

    def __init__(self) -> None:
        self._operations: list[tuple[JaxprEqn, list[Value], list[Value]]] = []
        self._known: dict[Any, list[Value]] = {}

    def add(self, equation: JaxprEqn, inputs: list[Value]) -> list[Value]:
        if equation.primitive.name in ("slice", "squeeze") and isinstance(inputs[0].constant, np.ndarray):
            return [constant(_part(equation, inputs[0].constant))]
        key = (equation.primitive.name, str(equation.params), tuple(map(_identity, inputs)))
        if key not in self._known:
            outputs = [Value(tuple(form.shape), form.dtype) for form in map(_form, equation.outvars)]
            self._operations.append((equation, inputs, outputs))
            self._known[key] = outputs
        return self._known[key]

    def compute(self, needed: set[int]) -> None:
        """Compute the constants that are needed."""
        operations, wanted, given, reached = [], [], {}, set(needed)
        for equation, inputs, outputs in reversed(self._operations):
            if any(id(output) in reached for output in outputs):
                operations.insert(0, (equation, inputs, outputs))
                wanted += [output for output in outputs if id(output) in needed and output.constant is None]
                given |= {_identity(each): each.constant for each in inputs if each.constant is not None}
                reached |= set(map(id, inputs))

        def run(known: list[Any]) -> list[Any]:
            found: dict[Any, Any] = dict(zip(given, known, strict=True))
            for equation, inputs, outputs in operations:
                each = equation.primitive.bind(*(found[_identity(value)] for value in inputs), **equation.params)
                several = each if equation.primitive.multiple_results else [each]
                found.update(zip(map(id, outputs), several, strict=True))
            return [found[id(value)] for value in wanted]

        if wanted:
            numbers = list(given.values())
            compiled = jax.jit(run).lower(numbers).compile(compiler_options=QUICKLY)
            for value, found in zip(wanted, compiled(numbers), strict=True):
                value.constant = constant(found).constant


class _Tracer:
    """Adds operations to a block."""

    def __init__(self, block: Block, beforehand: Beforehand):
        self.block, self.beforehand = block, beforehand

    def closed(self, program: ClosedJaxpr, arguments: list[Value]) -> list[Value]:
        return self.run(program.jaxpr, [constant(each) for each in program.consts], arguments)

    def run(self, jaxpr: Jaxpr, consts: list[Value], arguments: list[Value]) -> list[Value]:
        """The values of a jaxpr, all of whose operations are added to the block."""
        known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments], strict=True))

        def read(atom: Any) -> Value:
            return constant(np.asarray(atom.val, _form(atom).dtype)) if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            found = self.operation(equation, [read(atom) for atom in equation.invars])
            known.update(zip(equation.outvars, found, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def operation(self, equation: JaxprEqn, inputs: list[Value]) -> list[Value]:
        name, params = equation.primitive.name, equation.params
        if name in CALLS:
            inner = params[CALLS[name]]
            return self.closed(inner, inputs) if isinstance(inner, ClosedJaxpr) else self.run(inner, [], inputs)
        if name in SAME:
            return inputs
        if name == "custom_linear_solve":
            return self.linear_solve(params, inputs)
        if name == "cond":
            return self.choice(params["branches"], inputs[0], inputs[1:], equation)
        if name == "while":
            return self.while_loop(params, inputs, equation)
        if name == "scan":
            return self.scan(params, inputs, equation)
        if all(map(is_known, inputs)):
            return self.beforehand.add(equation, inputs)
        return self.add(Node(name, inputs, params), [var.aval for var in equation.outvars])

    def add(self, node: Node, forms: list[Any]) -> list[Value]:
        """An operation in the outermost place, or its values if they are known already."""
        place = self.block.place_for(node.inputs)
        key = (node.name, str(node.params), tuple(_identity(value) for value in node.inputs))
        known = place.known(key)
        if known is None:
            known = place.computed[key] = place.append(node, forms)
        return known

    def linear_solve(self, params: dict[str, Any], inputs: list[Value]) -> list[Value]:
        lengths, solve = params["const_lengths"], params["jaxprs"].solve
        before = lengths.matvec + lengths.vecmat
        consts = inputs[before : before + lengths.solve]
        return self.closed(solve, [*consts, *inputs[sum(lengths) :]])

    def choice(self, branches: Any, index: Value, inputs: list[Value], equation: JaxprEqn) -> list[Value]:
        if is_known(index):
            self.beforehand.compute({id(index)})
            return self.closed(branches[int(np.clip(index.constant, 0, len(branches) - 1))], inputs)
        blocks = []
        for branch in branches:
            block = Block(parent=self.block)
            block.results = _Tracer(block, self.beforehand).closed(branch, inputs)
            blocks.append(block)
        node = Node("cond", [index], {}, blocks=blocks)
        return self.block.append(node, [var.aval for var in equation.outvars])

    def while_loop(self, params: dict[str, Any], inputs: list[Value], equation: JaxprEqn) -> list[Value]:
        """A loop; what its body returns unchanged is read from outside of it."""
        first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        body, starts = params["body_jaxpr"], inputs[second:]
        changed = _changed(body.jaxpr, params["body_nconsts"], len(starts))
        block = Block(parent=self.block, repeats=True)
        arguments = {n: block.argument(starts[n].shape, starts[n].dtype) for n in changed}
        carried = [arguments.get(n, start) for n, start in enumerate(starts)]
        inner = _Tracer(block, self.beforehand)
        (goes_on,) = inner.closed(params["cond_jaxpr"], [*inputs[:first], *carried])
        block.nodes.append(Node("break_unless", [goes_on], {}))
        results = inner.closed(body, [*inputs[first:second], *carried])
        block.results = [results[n] for n in changed]
        node = Node("while", [starts[n] for n in changed], {}, blocks=[block])
        outputs = self.block.append(node, [equation.outvars[n].aval for n in changed])
        ended = dict(zip(changed, outputs, strict=True))
        return [ended.get(n, start) for n, start in enumerate(starts)]

    def scan(self, params: dict[str, Any], inputs: list[Value], equation: JaxprEqn) -> list[Value]:
        """A loop over the leading axis of some arrays; the last argument of its body is the number of the round."""
        count, carried = params["num_consts"], params["num_carry"]
        consts, starts, arrays = inputs[:count], inputs[count : count + carried], inputs[count + carried :]
        block = Block(parent=self.block, repeats=True)
        arguments = [block.argument(each.shape, each.dtype) for each in starts]
        number = block.argument((), np.dtype("int32"))
        inner, length, backwards = _Tracer(block, self.beforehand), params["length"], params["reverse"]
        if backwards:
            one = jax.ShapeDtypeStruct((), np.int32)
            (number,) = inner.add(Node("sub", [constant(np.int32(length - 1)), number], {}), [one])
        elements = [
            inner.add(Node("element", [each, number], {}), [jax.ShapeDtypeStruct(each.shape[1:], each.dtype)])[0]
            for each in arrays
        ]
        block.results = inner.closed(params["jaxpr"], [*consts, *arguments, *elements])
        node = Node("scan", starts, {"length": length, "reverse": backwards}, blocks=[block])
        return self.block.append(node, [var.aval for var in equation.outvars])


def _part(equation: JaxprEqn, numbers: np.ndarray) -> np.ndarray:
    """A part of a constant; networks take thousands of these, which XLA would compile for minutes."""
    params = equation.params
    if equation.primitive.name == "squeeze":
        return numbers.reshape(_form(equation.outvars[0]).shape)
    steps = params["strides"] or [1] * numbers.ndim
    ranges = zip(params["start_indices"], params["limit_indices"], steps, strict=True)
    return numbers[tuple(slice(*each) for each in ranges)]


def _form(atom: Any) -> Any:
    """The shape and type of a variable."""
    return atom.aval


def _changed(body: Jaxpr, consts: int, carried: int) -> list[int]:
    """The numbers of what a loop carries, without what its body returns as it was."""
    pairs = zip(body.outvars, body.invars[consts:], strict=True)
    unchanged = {n for n, (after, before) in enumerate(pairs) if after is before}
    return [n for n in range(carried) if n not in unchanged]


def _identity(value: Value) -> Any:
    """What two values have in common if they are the same: constants by their numbers, others by themselves."""
    if value.constant is None or not isinstance(value.constant, np.ndarray):
        return id(value)
    return str(value.dtype), value.shape, value.constant.tobytes()
