"""Sums, extremes and products of matrices in C."""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import Node, Value
from .layout import VIEWS
from .places import flat
from .scalars import Unsupported, c_type, elementwise, literal
from .writer import Writer, partial_sums, with_axes

STEPS = {"reduce_max": "max", "reduce_min": "min", "reduce_prod": "mul", "reduce_and": "and", "reduce_or": "or"}
RUNNING = {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min"}


def reduce(writer: Writer, node: Node) -> None:
    """Sum, product, largest, smallest, all or any along some axes."""
    (source,), (output,), axes = node.inputs, node.outputs, set(node.params["axes"])
    indices = ["0" if size == 1 else writer.fresh("i") for size in source.shape]
    inner = [(indices[axis], source.shape[axis]) for axis in range(len(indices)) if axis in axes]
    kept = [(indices[axis], source.shape[axis]) for axis in range(len(indices)) if axis not in axes]
    target = writer.declare(output, as_variable=";")
    target = target if output.size == 1 else f"{target}[{flat([i for i, _ in kept], output.shape)}]"
    term = writer.read(source, indices)
    with writer.braces(_heads(kept)):
        if node.name == "reduce_sum":
            partial_sums(writer, target, c_type(output.dtype), inner, term)
            return
        step = elementwise(STEPS[node.name], {}, output.dtype, [("found", output.dtype), (term, output.dtype)])
        writer.line(f"{c_type(output.dtype)} found = {_neutral(node.name, output.dtype)};")
        writer.nested(inner, f"found = {step};")
        writer.line(f"{target} = found;")


def arg_extreme(writer: Writer, node: Node) -> None:
    """The index of the first largest or smallest entry along an axis; an entry that is not a number comes first."""
    (source,), (output,), (axis,) = node.inputs, node.outputs, node.params["axes"]
    target = writer.declare(output, as_variable=";")
    order = "<" if node.name == "argmin" else ">"
    indices = ["0" if size == 1 else writer.fresh("i") for size in source.shape]
    kept = [(i, size) for n, (i, size) in enumerate(zip(indices, source.shape, strict=True)) if n != axis]
    target = target if output.size == 1 else f"{target}[{flat([i for i, _ in kept], output.shape)}]"
    indices[axis] = "at"
    best = writer.read(source, [i if n != axis else "best" for n, i in enumerate(indices)])
    here = writer.read(source, indices)
    with writer.braces(_heads(kept)):
        writer.line("int best = 0;")
        better = f"({here} {order} {best} || {here} != {here}) && {best} == {best}"
        writer.line(f"for (int at = 1; at < {source.shape[axis]}; ++at) if ({better}) best = at;")
        writer.line(f"{target} = best;")


def accumulate(writer: Writer, node: Node) -> None:
    """Sums, products or extremes of all entries up to each one."""
    (source,), (output,), axis = node.inputs, node.outputs, node.params["axis"]
    name, size = writer.declare(output, as_variable=";"), source.shape[axis]
    indices = ["0" if length == 1 else writer.fresh("i") for length in source.shape]
    kept = [(i, length) for n, (i, length) in enumerate(zip(indices, source.shape, strict=True)) if n != axis]
    indices[axis] = "at"
    target = name if output.size == 1 else f"{name}[{flat(indices, output.shape)}]"
    entry, kind = writer.read(source, indices), output.dtype
    step = elementwise(RUNNING[node.name], {}, kind, [("found", kind), (entry, kind)])
    with writer.braces(_heads(kept)):
        writer.line(f"{c_type(kind)} found = 0;")
        at = f"{size - 1} - round" if node.params["reverse"] else "round"
        with writer.braces(f"for (int round = 0; round < {size}; ++round)"):
            writer.line(f"const int at = {at};")
            writer.line(f"found = round == 0 ? {entry} : {step};")
            writer.line(f"{target} = found;")


def dot_general(writer: Writer, node: Node) -> None:
    """The product of two arrays, in the order of loops in which memory is read in a row."""
    (left, right), (output,) = node.inputs, node.outputs
    (left_sum, right_sum), (left_batch, right_batch) = node.params["dimension_numbers"]
    summed = [writer.fresh("k") if left.shape[axis] > 1 else "0" for axis in left_sum]
    batch = [writer.fresh("i") if left.shape[axis] > 1 else "0" for axis in left_batch]
    a = _Factor(
        writer, left, {*left_sum, *left_batch}, dict(zip([*left_sum, *left_batch], [*summed, *batch], strict=True))
    )
    b = _Factor(
        writer, right, {*right_sum, *right_batch}, dict(zip([*right_sum, *right_batch], [*summed, *batch], strict=True))
    )
    sums = list(zip(summed, (left.shape[axis] for axis in left_sum), strict=True))
    batches = list(zip(batch, (left.shape[axis] for axis in left_batch), strict=True))
    name = writer.declare(output, as_variable=";")
    places = [*batch, *(i for i, _ in a.free), *(i for i, _ in b.free)]
    target = name if output.size == 1 else f"{name}[{flat(places, output.shape)}]"
    inner, other = (b, a) if any(i != "0" for i, _ in b.free) else (a, b)
    if (
        any(i != "0" for i, _ in sums)
        and any(i != "0" for i, _ in inner.free)
        and inner.in_a_row([*left_batch, *left_sum] if inner is a else [*right_batch, *right_sum])
    ):
        writer.line(f"memset({name}, 0, {output.size} * sizeof({c_type(output.dtype)}));")
        axes = [*batches, *other.free, *sums, *inner.free]
        writer.nested(axes, f"{target} += {other.entry()} * {inner.entry()};")
        return
    with writer.braces(_heads([*batches, *a.free, *b.free])):
        partial_sums(writer, target, c_type(output.dtype), sums, f"{a.entry()} * {b.entry()}")


class _Factor:
    """A factor of a product, with an index for each of its axes."""

    def __init__(self, writer: Writer, value: Value, bound: set[int], known: dict[int, str]):
        self.writer, self.value = writer, value
        own = {
            axis: writer.fresh("i") if value.shape[axis] > 1 else "0"
            for axis in range(len(value.shape))
            if axis not in bound
        }
        self.indices = {**known, **own}
        self.free = [(own[axis], value.shape[axis]) for axis in sorted(own)]
        self._last = max((axis for axis, i in own.items() if i != "0"), default=None)
        self._order = list(range(len(value.shape)))

    def in_a_row(self, front: list[int]) -> bool:
        """Whether entries along the last free axis are neighbours; the axes of a constant are arranged so."""
        assert self._last is not None
        if stride(self.writer, self.value, self._last) == 1:
            return True
        if self.value.constant is None:
            return False
        self._order = [*front, *(axis for axis in self._order if axis not in front)]
        self.value = with_axes(self.value, self._order)
        return True

    def entry(self) -> str:
        return self.writer.read(self.value, [self.indices[axis] for axis in self._order])


def stride(writer: Writer, value: Value, axis: int) -> int:
    """How far neighbours along an axis are apart in memory; 0 if that is not known."""
    node = value.node
    if value.constant is not None or node is None or not writer.layout.is_inlined(value):
        return int(np.prod(value.shape[axis + 1 :], dtype=int))
    if node.name not in VIEWS:
        return 0
    source = node.inputs[0]
    if node.name == "transpose":
        return stride(writer, source, node.params["permutation"][axis])
    if node.name in ("squeeze", "reshape", "expand_dims"):
        before, after = ([n for n, size in enumerate(shape) if size > 1] for shape in (source.shape, value.shape))
        same = [source.shape[n] for n in before] == [value.shape[n] for n in after]
        return stride(writer, source, before[after.index(axis)]) if same and axis in after else 0
    if node.name == "element":
        return stride(writer, source, axis + 1)
    return stride(writer, source, axis) if node.name in ("split", "dynamic_slice") else 0


def _heads(axes: list[tuple[str, int]]) -> str:
    return " ".join(f"for (int {i} = 0; {i} < {size}; ++{i})" for i, size in axes if i != "0")


def _neutral(name: str, dtype: Any) -> str:
    if name in ("reduce_and", "reduce_or"):
        if np.dtype(dtype).kind != "b":
            raise Unsupported(f"{name} of whole numbers")
        return "true" if name == "reduce_and" else "false"
    if name == "reduce_prod":
        return "1"
    kind = np.dtype(dtype).kind
    if kind == "f":
        return "-INFINITY" if name == "reduce_max" else "INFINITY"
    limits = np.iinfo(dtype) if kind in "iu" else None
    if limits is None:
        return "false" if name == "reduce_max" else "true"
    return literal(limits.min if name == "reduce_max" else limits.max, dtype)
