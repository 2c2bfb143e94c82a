"""Which values are written to memory, which are computed where they are read, and how long memory is needed."""

from __future__ import annotations

import dataclasses
import math

from .graph import Block, Node, Value
from .places import FREE, MOVES
from .scalars import is_elementwise

VIEWS = FREE | {"split", "dynamic_slice"}
"""Operations that are never carried out: reading their result is reading their input in another place."""
POINTERS = {"cholesky", "lu", "triangular_solve", "sort", "eigh"}
"""Operations that need their inputs in memory, row by row."""
REDUCTIONS = {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or"}


@dataclasses.dataclass
class Layout:
    """The plan for the memory of a program.

    `inlined` has the values that are computed where they are read, `last` the number of the last operation of its
    block that reads a value.
    """

    inlined: set[int] = dataclasses.field(default_factory=set)
    last: dict[int, float] = dataclasses.field(default_factory=dict)

    def is_inlined(self, value: Value) -> bool:
        return id(value) in self.inlined

    def sources(self, value: Value) -> list[Value]:
        """The values in memory that are read where this one is."""
        if value.constant is not None:
            return []
        if value.node is None or not self.is_inlined(value):
            return [value]
        return [source for each in value.node.inputs for source in self.sources(each)]


def laid_out(block: Block) -> Layout:
    """The layout of a program."""
    layout = Layout()
    _inline(block, {}, layout)
    _end(block, layout)
    return layout


def _inline(block: Block, reads: dict[int, float], layout: Layout) -> None:
    """Find the values that are read once, each entry separately, or are views: they need no memory."""
    for value in block.results:
        reads[id(value)] = math.inf
    forced = set(map(id, block.results))
    for node in reversed(block.nodes):
        for inner in node.blocks:
            _inline(inner, reads, layout)
        for output in node.outputs:
            if output.size > 1 and id(output) not in forced and _may_inline(node, reads.get(id(output), 0.0)):
                layout.inlined.add(id(output))
        for number, value in enumerate(node.inputs):
            elsewhere = value.block is not block
            count = math.inf if elsewhere else _reads(node, number, reads, layout)
            reads[id(value)] = reads.get(id(value), 0.0) + count
            if node.name in POINTERS:
                forced.add(id(value))


def _may_inline(node: Node, reads: float) -> bool:
    return node.name in VIEWS or (reads == 1 and (is_elementwise(node.name) or node.name in MOVES))


def _reads(node: Node, number: int, reads: dict[int, float], layout: Layout) -> float:
    """How often an operation reads each entry of an input; infinity if it may be more than once."""
    value, output = node.inputs[number], node.outputs[0] if node.outputs else None
    if output is None or node.blocks:
        return math.inf
    if node.name in VIEWS and layout.is_inlined(output):
        return math.inf if output.size > value.size or len(node.outputs) > 1 else reads.get(id(output), 0.0)
    if node.name in REDUCTIONS:
        return 1
    if is_elementwise(node.name) or node.name in MOVES:
        return 1 if output.size <= value.size or (node.name in ("concatenate", "stack")) else math.inf
    return math.inf


def _end(block: Block, layout: Layout) -> list[Value]:
    """Note for each value of a block which operation reads it last; returns what the block reads from outside."""
    outside: list[Value] = []

    def note(values: list[Value], position: float) -> None:
        for value in values:
            if value.block is block:
                layout.last[id(value)] = position
            else:
                outside.append(value)

    for position, node in enumerate(block.nodes):
        if node.outputs and all(map(layout.is_inlined, node.outputs)):
            continue
        note([source for value in node.inputs for source in layout.sources(value)], position)
        for inner in node.blocks:
            note(_end(inner, layout), position)
    note([source for value in block.results for source in layout.sources(value)], math.inf)
    return outside
