"""Factorizations, triangular systems, sorting and writing into arrays in C."""

from __future__ import annotations

from .graph import Node, Value
from .places import flat
from .scalars import Unsupported, c_type, elementwise
from .writer import Writer

SCATTERED = {"scatter": None, "scatter-add": "add", "scatter-mul": "mul", "scatter-min": "min", "scatter-max": "max"}


def cholesky(writer: Writer, node: Node) -> None:
    (output,) = node.outputs
    size = _square(node, output)
    writer.copy(writer.declare(output, as_variable=";"), node.inputs[0])
    writer.line(f"factorize{_small(output)}({writer.pointer(output)}, {size});")


def lu(writer: Writer, node: Node) -> None:
    factors = node.outputs[0]
    if len(factors.shape) != 2:
        raise Unsupported("lu of several matrices")
    for output in node.outputs:
        writer.declare(output, as_variable=";")
    writer.copy(writer.name(factors), node.inputs[0])
    places = ", ".join(map(writer.pointer, node.outputs))
    writer.line(f"decompose{_small(factors)}({places}, {factors.shape[0]}, {factors.shape[1]});")


def eigh(writer: Writer, node: Node) -> None:
    vectors, values = node.outputs
    size = _square(node, vectors)
    for output in node.outputs:
        writer.declare(output, as_variable=";")
    scratch = writer.take(c_type(vectors.dtype), vectors.size)
    writer.copy(scratch[0] if vectors.size > 1 else f"{scratch[0]}[0]", node.inputs[0])
    places = f"{scratch[0]}, {writer.pointer(vectors)}, {writer.pointer(values)}"
    writer.line(f"diagonalize{_small(vectors)}({places}, {size});")
    writer.release(scratch)


def triangular_solve(writer: Writer, node: Node) -> None:
    """Solve A X = B or X A = B; the second is the first for the transposed matrices."""
    (matrix, given), (output,), params = node.inputs, node.outputs, node.params
    size = _square(node, matrix)
    rows, columns = output.shape
    writer.copy(writer.declare(output, as_variable=";"), given)
    lower, left = params["lower"], params["left_side"]
    transposed = bool(params["transpose_a"]) == bool(left)
    steps = (1, size) if transposed else (size, 1)
    lower = lower != transposed
    along, count = ((columns, 1), columns) if left else ((1, columns), rows)
    flags = f"{str(bool(lower)).lower()}, {str(bool(params['unit_diagonal'])).lower()}"
    a, x = _pointer(writer, matrix), writer.pointer(output)
    steps_of_both = f"{a}, {steps[0]}, {steps[1]}, {x}, {along[0]}, {along[1]}"
    writer.line(f"substitute{_small(output)}({steps_of_both}, {size}, {count}, {flags});")


def sort(writer: Writer, node: Node) -> None:
    """Sort along the last axis, by insertion; further arrays follow the first one."""
    key, axis = node.inputs[0], node.params["dimension"]
    if axis != len(key.shape) - 1 or node.params["num_keys"] != 1:
        raise Unsupported("sort by several keys or along another axis than the last")
    names = [writer.declare(output, as_variable=";") for output in node.outputs]
    if key.size == 1:
        for name, given in zip(names, node.inputs, strict=True):
            writer.copy(name, given)
        return
    size, order = key.shape[-1], writer.take("int32_t", key.shape[-1])
    rows = ["0" if length == 1 else writer.fresh("i") for length in key.shape[:-1]]
    heads = " ".join(f"for (int {i} = 0; {i} < {n}; ++{i})" for i, n in zip(rows, key.shape, strict=False) if i != "0")
    precedes = f"precedes{_small(key)}" if c_type(key.dtype) in ("double", "float") else "precedes"
    this, before = (writer.read(key, [*rows, place]) for place in ("at", f"{order[0]}[j - 1]"))
    with writer.braces(heads):
        with writer.braces(f"for (int at = 0; at < {size}; ++at)"):
            writer.line("int j = at;")
            writer.line(f"for (; j > 0 && {precedes}({this}, {before}); --j) {order[0]}[j] = {order[0]}[j - 1];")
            writer.line(f"{order[0]}[j] = at;")
        for name, given in zip(names, node.inputs, strict=True):
            entry = writer.read(given, [*rows, f"{order[0]}[at]"])
            writer.line(f"for (int at = 0; at < {size}; ++at) {name}[{flat([*rows, 'at'], key.shape)}] = {entry};")
    writer.release(order)


def dynamic_update_slice(writer: Writer, node: Node) -> None:
    source, new, *starts = node.inputs
    (output,) = node.outputs
    name = writer.declare(output, as_variable=";")
    writer.copy(name, source)
    firsts = [
        "0" if size == whole else f"within({writer.read(start, [])}, {whole - size})"
        for start, size, whole in zip(starts, new.shape, source.shape, strict=True)
    ]

    def statement(indices: list[str]) -> str:
        places = [i if first == "0" else f"({i}+{first})" for i, first in zip(indices, firsts, strict=True)]
        target = name if output.size == 1 else f"{name}[{flat(places, output.shape)}]"
        return f"{target} = {writer.read(new, indices)};"

    writer.loops(new.shape, statement)


def scatter(writer: Writer, node: Node) -> None:
    """Write or add entries in places that are known only when the program runs; those outside are left out."""
    source, where, new = node.inputs
    (output,), numbers = node.outputs, node.params["dimension_numbers"]
    combined, clips = SCATTERED[node.name.replace("_", "-")], "CLIP" in str(node.params["mode"])
    name = writer.declare(output, as_variable=";")
    writer.copy(name, source)
    left_out = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    kept = [axis for axis in range(len(source.shape)) if axis not in left_out]
    window = dict(zip(kept, numbers.update_window_dims, strict=True))

    def statement(indices: list[str]) -> str:
        batch = [i for axis, i in enumerate(indices) if axis not in numbers.update_window_dims]
        places, conditions = [], []
        for axis, size in enumerate(source.shape):
            place = indices[window[axis]] if axis in window else "0"
            last = size - (new.shape[window[axis]] if axis in window else 1)
            if axis in numbers.operand_batching_dims:
                place = batch[numbers.scatter_indices_batching_dims[numbers.operand_batching_dims.index(axis)]]
            elif axis in numbers.scatter_dims_to_operand_dims:
                start = writer.read(where, [*batch, str(numbers.scatter_dims_to_operand_dims.index(axis))])
                conditions += [] if clips else [f"{start} >= 0", f"{start} <= {last}"]
                first = f"within({start}, {last})"
                place = first if place == "0" else f"({first}+{place})"
            places.append(place)
        target = name if output.size == 1 else f"{name}[{flat(places, output.shape)}]"
        entry, kind = writer.read(new, indices), output.dtype
        entry = entry if combined is None else elementwise(combined, {}, kind, [(target, kind), (entry, kind)])
        return (f"if ({' && '.join(conditions)}) " if conditions else "") + f"{target} = {entry};"

    writer.loops(new.shape, statement)


def _pointer(writer: Writer, matrix: Value) -> str:
    if matrix.size == 1:  # a literal has no address
        variable = writer.fresh("s")
        writer.line(f"const {c_type(matrix.dtype)} {variable} = {writer.read(matrix, ['0', '0'])};")
        return f"&{variable}"
    return writer.pointer(matrix)


def _square(node: Node, value: Value) -> int:
    if len(value.shape) != 2:
        raise Unsupported(f"{node.name} of several matrices")
    return value.shape[0]


def _small(value: Value) -> str:
    return "f" if c_type(value.dtype) == "float" else ""
