"""A program as a graph of values: what is left of a jaxpr when calls are inlined and constants are computed."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np


@dataclasses.dataclass(eq=False, repr=False)
class Value:
    """An array that a program computes, reads or knows.

    `block` is where it is computed, None for what is known before the program runs. The numbers of such a value are in
    `constant`, at the latest when the whole program is traced.
    """

    shape: tuple[int, ...]
    dtype: Any
    block: Block | None = None
    node: Node | None = None
    constant: Any = None

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclasses.dataclass(eq=False, repr=False)
class Node:
    """An operation: a primitive of JAX, or a loop or choice with blocks of its own.

    Besides the names of JAX's primitives there are `break_unless`, which ends the loop around it, and `element`, which
    takes an entry along the leading axis.
    """

    name: str
    inputs: list[Value]
    params: dict[str, Any]
    outputs: list[Value] = dataclasses.field(default_factory=list)
    blocks: list[Block] = dataclasses.field(default_factory=list)
    kept: list[int] = dataclasses.field(default_factory=list)
    """The numbers of the outputs of a loop or choice that somebody needs; `prune` fills it."""


@dataclasses.dataclass(eq=False, repr=False)
class Block:
    """A sequence of operations: the whole program, the body of a loop, or a branch of a choice."""

    parent: Block | None = None
    repeats: bool = False
    nodes: list[Node] = dataclasses.field(default_factory=list)
    arguments: list[Value] = dataclasses.field(default_factory=list)
    results: list[Value] = dataclasses.field(default_factory=list)
    computed: dict[Any, list[Value]] = dataclasses.field(default_factory=dict)
    """What this block has computed so far, by operation and inputs, so that nothing is computed twice."""

    def argument(self, shape: tuple[int, ...], dtype: Any) -> Value:
        """A value that is given to the block from outside."""
        self.arguments.append(Value(tuple(shape), dtype, self))
        return self.arguments[-1]

    def append(self, node: Node, forms: list[Any]) -> list[Value]:
        """Add an operation, whose outputs have these forms (shapes and types)."""
        node.outputs = [Value(tuple(form.shape), form.dtype, self, node) for form in forms]
        self.nodes.append(node)
        return node.outputs

    def place_for(self, inputs: list[Value]) -> Block:
        """The outermost block in which an operation may stand: out of every loop that does not change its inputs.

        Operations are not moved out of branches, which may never be executed.
        """
        owners = {id(value.block) for value in inputs if value.block is not None}
        place = self
        while place.repeats and place.parent is not None and id(place) not in owners:
            place = place.parent
        return place

    def known(self, key: Any) -> list[Value] | None:
        """The values of the same operation on the same inputs, from this block or one around it."""
        block: Block | None = self
        while block is not None:
            if key in block.computed:
                return block.computed[key]
            block = block.parent
        return None


def prune(block: Block) -> set[int]:
    """Remove all operations whose results nobody needs; returns the ids of the values that are needed."""
    needed = set(map(id, block.results))
    _mark(block, needed)
    _sweep(block, needed)
    return needed


def _mark(block: Block, needed: set[int]) -> None:
    for node in reversed(block.nodes):
        if node.name in ("while", "scan"):
            _mark_loop(node, needed)
        elif node.name == "cond":
            node.kept = [number for number, output in enumerate(node.outputs) if id(output) in needed]
            if node.kept:
                needed.add(id(node.inputs[0]))
                for branch in node.blocks:
                    needed.update(id(branch.results[number]) for number in node.kept)
                    _mark(branch, needed)
        elif node.name == "break_unless" or any(id(output) in needed for output in node.outputs):
            needed.update(map(id, node.inputs))


def _mark_loop(node: Node, needed: set[int]) -> None:
    """What a loop carries is needed if it is needed after the loop, or for something else that it carries."""
    (body,) = node.blocks
    if not any(id(output) in needed for output in node.outputs):
        return
    carried = len(node.inputs)
    while True:
        kept = [n for n, output in enumerate(node.outputs) if id(output) in needed or n in node.kept]
        kept = [n for n in range(len(node.outputs)) if n in kept or (n < carried and id(body.arguments[n]) in needed)]
        needed.update(id(body.results[n]) for n in kept)
        before = len(needed)
        _mark(body, needed)
        grown = [n for n in range(carried) if n not in kept and id(body.arguments[n]) in needed]
        if kept == node.kept and len(needed) == before and not grown:
            break
        node.kept = kept
    needed.update(id(node.inputs[n]) for n in node.kept if n < carried)


def _sweep(block: Block, needed: set[int]) -> None:
    def is_needed(node: Node) -> bool:
        if node.blocks:
            return bool(node.kept)
        return node.name == "break_unless" or any(id(output) in needed for output in node.outputs)

    block.nodes = [node for node in block.nodes if is_needed(node)]
    for node in block.nodes:
        for inner in node.blocks:
            _sweep(inner, needed)


def is_known(value: Value) -> bool:
    """Whether the numbers of a value do not depend on the arguments of the program."""
    return value.block is None


def constant(numbers: Any) -> Value:
    """A value that is known. Keys of JAX stay what they are, everything else is an array of NumPy."""
    array = numbers if _is_key(numbers) else np.asarray(numbers)
    return Value(tuple(array.shape), array.dtype, constant=array)


def _is_key(numbers: Any) -> bool:
    dtype = getattr(numbers, "dtype", None)
    return dtype is not None and not isinstance(dtype, np.dtype)
