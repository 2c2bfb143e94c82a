"""Where an entry of an array is read: operations that only move entries, as functions of indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import Node, Value

MOVES = {
    "broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "slice", "rev", "dynamic_slice", "element",
    "split", "gather", "iota", "concatenate", "stack", "pad",
}  # fmt: skip
"""Operations whose result has entries of its inputs, or the numbers 0, 1, …, in other places."""
FREE = {"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "slice", "rev", "element"}
"""Those that cost nothing where their result is read, so that they are never carried out."""


def flat(indices: list[str], shape: tuple[int, ...]) -> str:
    """The place of an entry in memory, rows one after the other.

    >>> flat(["i", "j"], (3, 4)), flat(["0", "(j+1)"], (3, 4))
    ('i*4+j', '(j+1)')
    """
    strides = np.cumprod([1, *shape[:0:-1]])[::-1]
    terms = [
        index if stride == 1 else f"{index}*{stride}"
        for index, stride in zip(indices, strides, strict=False)
        if index != "0"
    ]
    return "+".join(terms) or "0"


def unflat(place: str, shape: tuple[int, ...]) -> list[str]:
    """The indices of the entry that is at this place in memory."""
    found, strides = [], np.cumprod([1, *shape[:0:-1]])[::-1]
    for number, (size, stride) in enumerate(zip(shape, strides, strict=False)):
        whole = place if stride == 1 else f"({place})/{stride}"
        found.append("0" if size == 1 else (whole if number == 0 else f"({whole})%{size}"))
    return [each if each in ("0", place) else f"({each})" for each in found]


def plus(index: str, offset: int) -> str:
    return index if offset == 0 else (str(offset) if index == "0" else f"({index}+{offset})")


def times(index: str, factor: int) -> str:
    return index if factor == 1 or index == "0" else f"{index}*{factor}"


def moved(node: Node, output: Value, indices: list[str], read: Any) -> str:
    """The expression of an entry of the result of an operation that moves entries.

    Arguments:
        node: the operation.
        output: which of its results.
        indices: expressions of the indices of the entry.
        read: the expression of an entry of a value, a function of the value and of indices.
    """
    return _RULES[node.name](node, output, indices, read)


def _broadcast(node: Node, output: Value, indices: list[str], read: Any) -> str:
    source = node.inputs[0]
    chosen = [indices[axis] for axis in node.params["broadcast_dimensions"]]
    return read(source, ["0" if size == 1 else i for i, size in zip(chosen, source.shape, strict=True)])


def _reshaped(node: Node, output: Value, indices: list[str], read: Any) -> str:
    """Without the axes of length 1, which are the only ones to come or go most of the time."""
    source = node.inputs[0]
    long = [i for i, size in zip(indices, output.shape, strict=True) if size != 1]
    if [size for size in source.shape if size != 1] == [size for size in output.shape if size != 1]:
        rest = iter(long)
        return read(source, ["0" if size == 1 else next(rest) for size in source.shape])
    return read(source, unflat(flat(indices, output.shape), source.shape))


def _transposed(node: Node, output: Value, indices: list[str], read: Any) -> str:
    permutation = node.params["permutation"]
    return read(node.inputs[0], [indices[permutation.index(axis)] for axis in range(len(permutation))])


def _slice(node: Node, output: Value, indices: list[str], read: Any) -> str:
    starts, strides = node.params["start_indices"], node.params["strides"] or [1] * len(indices)
    places = zip(indices, starts, strides, strict=True)
    return read(node.inputs[0], [plus(times(i, stride), start) for i, start, stride in places])


def _reversed(node: Node, output: Value, indices: list[str], read: Any) -> str:
    turned = [
        f"({size - 1}-{i})" if axis in node.params["dimensions"] and i != "0" else i
        for axis, (i, size) in enumerate(zip(indices, output.shape, strict=True))
    ]
    return read(node.inputs[0], turned)


def _dynamic_slice(node: Node, output: Value, indices: list[str], read: Any) -> str:
    source, *starts = node.inputs
    places = []
    for i, start, size, all_of_it in zip(indices, starts, output.shape, source.shape, strict=True):
        first = "0" if size == all_of_it else f"within({read(start, [])}, {all_of_it - size})"
        places.append(first if i == "0" else (i if first == "0" else f"({i}+{first})"))
    return read(source, places)


def _element(node: Node, output: Value, indices: list[str], read: Any) -> str:
    source, number = node.inputs
    return read(source, [read(number, []), *indices])


def _split(node: Node, output: Value, indices: list[str], read: Any) -> str:
    axis = node.params["axis"]
    before = sum(int(size) for size in node.params["sizes"][: node.outputs.index(output)])
    return read(node.inputs[0], [plus(i, before) if n == axis else i for n, i in enumerate(indices)])


def _iota(node: Node, output: Value, indices: list[str], read: Any) -> str:
    return indices[node.params["dimension"]]


def _concatenated(node: Node, output: Value, indices: list[str], read: Any) -> str:
    axis, found, before = int(node.params["dimension"]), "", 0
    for number, part in enumerate(node.inputs):
        place = [("0" if part.shape[n] == 1 else plus(i, -before)) if n == axis else i for n, i in enumerate(indices)]
        before += part.shape[axis]
        entry = read(part, place)
        found += entry if number == len(node.inputs) - 1 else f"{indices[axis]} < {before} ? {entry} : "
    return f"({found})"


def _stacked(node: Node, output: Value, indices: list[str], read: Any) -> str:
    axis, found = node.params["axis"], ""
    rest = [i for n, i in enumerate(indices) if n != axis]
    for number, part in enumerate(node.inputs):
        last = number == len(node.inputs) - 1
        found += read(part, rest) if last else f"{indices[axis]} == {number} ? {read(part, rest)} : "
    return f"({found})"


def _padded(node: Node, output: Value, indices: list[str], read: Any) -> str:
    source, filling = node.inputs
    conditions, places = [], []
    for i, (low, _, between), size in zip(indices, node.params["padding_config"], source.shape, strict=True):
        step, shifted = int(between) + 1, plus(i, -int(low))
        conditions += [f"{shifted} >= 0", f"{shifted} < {(size - 1) * step + 1}"]
        conditions += [f"{shifted} % {step} == 0"] if step > 1 else []
        places.append(shifted if step == 1 else f"({shifted}/{step})")
    return f"({' && '.join(conditions)} ? {read(source, places)} : {read(filling, [])})"


def _gathered(node: Node, output: Value, indices: list[str], read: Any) -> str:
    source, where = node.inputs
    numbers, sizes = node.params["dimension_numbers"], node.params["slice_sizes"]
    batch = [i for axis, i in enumerate(indices) if axis not in numbers.offset_dims]
    left_out = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    kept = [axis for axis in range(len(source.shape)) if axis not in left_out]
    offsets = dict(zip(kept, (indices[axis] for axis in numbers.offset_dims), strict=True))
    fills = "FILL" in str(node.params["mode"])
    places, conditions = [], []
    for axis, (size, taken) in enumerate(zip(source.shape, sizes, strict=True)):
        place, last = offsets.get(axis, "0"), size - taken
        if axis in numbers.operand_batching_dims:
            twin = numbers.start_indices_batching_dims[numbers.operand_batching_dims.index(axis)]
            place = batch[twin]
        elif axis in numbers.start_index_map and (last > 0 or fills):
            start = read(where, [*batch, str(numbers.start_index_map.index(axis))])
            conditions += [f"{start} >= 0", f"{start} <= {last}"]
            first = f"within({start}, {last})"
            place = first if place == "0" else f"({first}+{place})"
        places.append(place)
    entry = read(source, places)
    return f"({' && '.join(conditions)} ? {entry} : {_filling(node, output)})" if fills and conditions else entry


def _filling(node: Node, output: Value) -> str:
    given, kind = node.params["fill_value"], np.dtype(output.dtype).kind
    if given is not None:
        return str(given)
    limits = np.iinfo(output.dtype) if kind in "iu" else None
    return "NAN" if limits is None else str(limits.min if kind == "i" else limits.max)


_RULES = {
    "broadcast_in_dim": _broadcast, "reshape": _reshaped, "squeeze": _reshaped, "expand_dims": _reshaped,
    "transpose": _transposed, "slice": _slice, "rev": _reversed, "dynamic_slice": _dynamic_slice, "element": _element,
    "split": _split, "iota": _iota, "concatenate": _concatenated, "stack": _stacked, "pad": _padded,
    "gather": _gathered,
}  # fmt: skip
