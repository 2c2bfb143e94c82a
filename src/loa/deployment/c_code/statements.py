"""From a graph to statements of C: one operation after the other, loops and choices as those of C."""

from __future__ import annotations

import math

from . import matrices, products
from .graph import Block, Node, Value
from .layout import REDUCTIONS, laid_out
from .places import MOVES, flat
from .scalars import Unsupported, is_elementwise
from .writer import Writer

WRITERS = {
    **dict.fromkeys(REDUCTIONS, products.reduce),
    **dict.fromkeys(products.RUNNING, products.accumulate),
    **dict.fromkeys(matrices.SCATTERED, matrices.scatter),
    "argmax": products.arg_extreme, "argmin": products.arg_extreme, "dot_general": products.dot_general,
    "cholesky": matrices.cholesky, "lu": matrices.lu, "eigh": matrices.eigh, "sort": matrices.sort,
    "triangular_solve": matrices.triangular_solve, "dynamic_update_slice": matrices.dynamic_update_slice,
}  # fmt: skip
CONTROL = {"while", "scan", "cond", "break_unless"}


def unsupported(block: Block) -> set[str]:
    """The names of the operations of a program for which there is no C here."""
    found = set()
    for node in block.nodes:
        name = node.name
        if not (is_elementwise(name) or name in MOVES or name in WRITERS or name in CONTROL):
            found.add("random numbers" if name.startswith(("random_", "threefry")) else name)
        for inner in node.blocks:
            found |= unsupported(inner)
    return found


def written(block: Block, names: list[str]) -> Writer:
    """The statements of a program, whose arguments have these names."""
    missing = unsupported(block)
    if missing:
        raise Unsupported(", ".join(sorted(missing)))
    writer = Writer(laid_out(block))
    for value, name in zip(block.arguments, names, strict=True):
        writer.call(value, name)
    _statements(writer, block)
    return writer


def _statements(writer: Writer, block: Block) -> None:
    ended: dict[float, list[Value]] = {}
    for position, node in enumerate(block.nodes):
        for output in node.outputs:
            ended.setdefault(writer.layout.last.get(id(output), position), []).append(output)
        if not (node.outputs and all(map(writer.layout.is_inlined, node.outputs))):
            _statement(writer, node)
        for value in ended.get(position, []):
            writer.forget(value)


def _statement(writer: Writer, node: Node) -> None:
    if node.name == "while":
        _loop(writer, node, "for (;;)")
    elif node.name == "scan":
        number = writer.fresh("t")
        writer.call(node.blocks[0].arguments[len(node.inputs)], number)
        _loop(writer, node, f"for (int32_t {number} = 0; {number} < {node.params['length']}; ++{number})", number)
    elif node.name == "cond":
        _choice(writer, node)
    elif node.name == "break_unless":
        writer.line(f"if (!{writer.read(node.inputs[0], [])}) break;")
    elif node.name in WRITERS:
        WRITERS[node.name](writer, node)
    else:
        for output in node.outputs:
            if not writer.layout.is_inlined(output):
                writer.write(output, lambda indices, output=output: writer.entry(output, indices))


def _loop(writer: Writer, node: Node, head: str, number: str = "") -> None:
    """A loop; what it carries has memory of its own, which is written at the end of every round."""
    (body,), carried = node.blocks, len(node.inputs)
    for n in node.kept:
        output, start = node.outputs[n], node.inputs[n] if n < carried else None
        if start is None:
            writer.declare(output, as_variable=";")
        elif output.size == 1:
            writer.declare(output, as_variable=f" = {writer.read(start, ['0'] * len(start.shape))};")
        else:
            writer.copy(writer.declare(output), start)
        if start is not None:
            writer.call(body.arguments[n], writer.name(output))
    with writer.braces(head):
        _statements(writer, body)
        for n in (n for n in node.kept if n >= carried):
            _entry_of_stack(writer, node, n, number)
        _carry_over(writer, node, body)
    _forget_results(writer, body)


def _carry_over(writer: Writer, node: Node, body: Block) -> None:
    changed = [n for n in node.kept if n < len(node.inputs) and body.results[n] is not body.arguments[n]]
    among = {id(argument) for argument in body.arguments}
    aside, taken = {}, []
    for n in changed:
        value = body.results[n]
        if id(value) in among:  # what another place held before this round: kept until all are written
            copy = Value(value.shape, value.dtype, body)
            writer.declare(copy, as_variable=";")
            writer.copy(writer.name(copy), value)
            aside[n] = copy
            taken.append(copy)
    for n in changed:
        writer.copy(writer.name(node.outputs[n]), aside.get(n, body.results[n]))
    for copy in taken:
        writer.forget(copy)


def _entry_of_stack(writer: Writer, node: Node, n: int, number: str) -> None:
    """Write a result of this round into the array of all rounds."""
    value, output = node.blocks[0].results[n], node.outputs[n]
    last = node.params["length"] - 1
    at = f"({last} - {number})" if node.params["reverse"] else number
    name = writer.name(output)

    def statement(indices: list[str]) -> str:
        target = name if output.size == 1 else f"{name}[{flat([at, *indices], output.shape)}]"
        return f"{target} = {writer.read(value, indices)};"

    writer.loops(value.shape, statement)


def _choice(writer: Writer, node: Node) -> None:
    for n in node.kept:
        writer.declare(node.outputs[n], as_variable=";")
    index = writer.read(node.inputs[0], [])
    for number, branch in enumerate(node.blocks):
        last = number == len(node.blocks) - 1
        condition = "else" if last else f"{'else ' if number else ''}if ({index} <= {number})"
        with writer.braces(condition):
            _statements(writer, branch)
            for n in node.kept:
                writer.copy(writer.name(node.outputs[n]), branch.results[n])
        _forget_results(writer, branch)


def _forget_results(writer: Writer, block: Block) -> None:
    for node in block.nodes:
        for output in node.outputs:
            if writer.layout.last.get(id(output), -1) == math.inf:
                writer.forget(output)
