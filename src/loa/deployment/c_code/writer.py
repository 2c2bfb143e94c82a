"""Lines of C: names, constants, memory and loops of a program."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from .graph import Value, constant
from .layout import Layout
from .places import MOVES, flat, moved
from .scalars import c_type, elementwise, literal


class Writer:
    """The text of a program while it grows.

    Arrays live in static memory that values share one after the other; single numbers are variables.
    """

    def __init__(self, layout: Layout):
        self.layout = layout
        self.lines: list[str] = []
        self.constants: dict[tuple[str, bytes], str] = {}
        self.tables: list[tuple[str, np.ndarray]] = []
        self.memory: list[tuple[str, str, int]] = []
        self._free: list[tuple[str, str, int]] = []
        self._owned: dict[int, tuple[str, str, int]] = {}
        self._names: dict[int, str] = {}
        self._kept: list[Value] = []
        self._numbers = itertools.count()
        self._depth = 1

    def line(self, text: str) -> None:
        self.lines.append("  " * self._depth + text)

    @contextlib.contextmanager
    def braces(self, head: str, tail: str = "}") -> Iterator[None]:
        """A statement with lines of its own between braces."""
        self.line(f"{head} {{".lstrip())
        self._depth += 1
        yield
        self._depth -= 1
        self.line(tail)

    def fresh(self, letter: str) -> str:
        return f"{letter}{next(self._numbers)}"

    def name(self, value: Value) -> str:
        """The variable or the memory of a value."""
        return self._names[id(value)]

    def call(self, value: Value, name: str) -> None:
        """Give a value a name."""
        self._names[id(value)] = name
        self._kept.append(value)  # so that its id stays its own

    def declare(self, value: Value, *, as_variable: str = "") -> str:
        """Make a place for a value: a variable if it is a single number, else memory."""
        if value.size == 1:
            self.call(value, self.fresh("s"))
            if as_variable:
                self.line(f"{c_type(value.dtype)} {self.name(value)}{as_variable}")
        else:
            self._owned[id(value)] = self.take(c_type(value.dtype), value.size)
            self.call(value, self._owned[id(value)][0])
        return self.name(value)

    def take(self, kind: str, size: int) -> tuple[str, str, int]:
        """Memory that is free, or new memory."""
        fitting = [each for each in self._free if each[1] == kind and size <= each[2] <= 2 * size]
        if fitting:
            best = min(fitting, key=lambda each: each[2])
            self._free.remove(best)
            return best
        self.memory.append((self.fresh("w"), kind, max(size, 1)))
        return self.memory[-1]

    def release(self, memory: tuple[str, str, int]) -> None:
        self._free.append(memory)

    def forget(self, value: Value) -> None:
        """Free the memory of a value that nobody reads any more."""
        if id(value) in self._owned:
            self.release(self._owned.pop(id(value)))

    def read(self, value: Value, indices: list[str]) -> str:
        """The expression of an entry of a value."""
        if value.constant is not None:
            return self._constant_entry(value, indices)
        node = value.node
        if node is None or not self.layout.is_inlined(value):
            return self.name(value) if value.size == 1 else f"{self.name(value)}[{flat(indices, value.shape)}]"
        return self.entry(value, indices)

    def entry(self, value: Value, indices: list[str]) -> str:
        """The expression that computes an entry of an elementwise operation, or of one that moves entries."""
        node = value.node
        assert node is not None
        if node.name in MOVES:
            return moved(node, value, indices, self.read)
        inputs = [(self.read(each, _in_shape(indices, each.shape)), each.dtype) for each in node.inputs]
        found = elementwise(node.name, node.params, value.dtype, inputs)
        assert found is not None
        return found

    def _constant_entry(self, value: Value, indices: list[str]) -> str:
        numbers = np.asarray(value.constant)
        if numbers.size and (numbers == numbers.flat[0]).all():
            return literal(numbers.flat[0].item(), value.dtype)
        return f"{self.table(value)}[{flat(indices, value.shape)}]"

    def table(self, value: Value) -> str:
        """The name of a constant array."""
        numbers = np.ascontiguousarray(value.constant)
        key = c_type(value.dtype), numbers.tobytes()
        if key not in self.constants:
            self.constants[key] = self.fresh("c")
            self.tables.append((self.constants[key], numbers.reshape(-1)))
        return self.constants[key]

    def pointer(self, value: Value) -> str:
        """Where a value begins in memory."""
        if value.constant is not None:
            return self.table(value)
        return f"&{self.name(value)}" if value.size == 1 else self.name(value)

    def loops(self, shape: tuple[int, ...], body: Callable[[list[str]], str]) -> None:
        """A statement for every entry of an array; `body` is a function of the indices."""
        indices = ["0" if size == 1 else self.fresh("i") for size in shape]
        self.nested(list(zip(indices, shape, strict=True)), body(indices))

    def nested(self, axes: list[tuple[str, int]], statement: str) -> None:
        """A statement in loops over these axes."""
        heads = [f"for (int {i} = 0; {i} < {size}; ++{i})" for i, size in axes if i != "0"]
        self.line(" ".join([*heads, statement]))

    def write(self, value: Value, compute: Callable[[list[str]], str]) -> None:
        """Declare a value and compute each of its entries."""
        if value.size == 1:
            self.declare(value, as_variable=f" = {compute(['0'] * len(value.shape))};")
        elif value.size:
            name = self.declare(value)
            self.loops(value.shape, lambda indices: f"{name}[{flat(indices, value.shape)}] = {compute(indices)};")

    def copy(self, target: str, value: Value) -> None:
        """Copy a value to memory or to a variable."""
        if value.size == 1:
            self.line(f"{target} = {self.read(value, ['0'] * len(value.shape))};")
        elif value.constant is None and not self.layout.is_inlined(value):
            self.line(f"memcpy({target}, {self.name(value)}, {value.size} * sizeof({c_type(value.dtype)}));")
        elif value.size:
            shape = value.shape
            self.loops(shape, lambda indices: f"{target}[{flat(indices, shape)}] = {self.read(value, indices)};")


def _in_shape(indices: list[str], shape: tuple[int, ...]) -> list[str]:
    """The indices of an entry of an array that is stretched along its axes of length 1."""
    if len(shape) < len(indices):
        return ["0"] * len(shape)
    return ["0" if size == 1 else i for i, size in zip(indices, shape, strict=True)]


def with_axes(value: Value, order: list[int]) -> Value:
    """A constant with its axes in another order."""
    return constant(np.ascontiguousarray(np.transpose(value.constant, order)))


def partial_sums(writer: Writer, target: str, kind: str, axes: list[tuple[str, int]], term: str) -> None:
    """The sum of a term along some axes, the last of which in four parts, which a compiler can do side by side."""
    real = [(i, size) for i, size in axes if i != "0"]
    if not real or real[-1][1] < 8:
        writer.line(f"{kind} sum = 0;")
        writer.nested(real, f"sum += {term};")
        writer.line(f"{target} = sum;")
        return
    *outer, (i, size) = real
    whole = 4 * (size // 4)
    part = f"for (int part = 0; part < 4; ++part) {{ const int {i} = four + part; sum[part] += {term}; }}"
    writer.line(f"{kind} sum[4] = {{0}};")
    writer.nested(outer, f"for (int four = 0; four < {whole}; four += 4) {part}")
    if whole < size:
        writer.nested(outer, f"for (int {i} = {whole}; {i} < {size}; ++{i}) sum[0] += {term};")
    writer.line(f"{target} = (sum[0] + sum[1]) + (sum[2] + sum[3]);")
