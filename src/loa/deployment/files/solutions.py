"""Solutions in files: arrays of NumPy (`.npz`), or a row per problem (`.parquet`, `.jsonl`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...messages.arguments import as_path
from ...storage.files import write_whole
from .column_names import names_of_leaves

if TYPE_CHECKING:
    from ..solution import Solutions


def write(path: Path | str, parts: Iterable[Solutions]) -> None:
    """Write solutions to a file, whose suffix says in which format.

    Rows of `.parquet` and `.jsonl` are written part by part, so that not all of them have to be in memory. The columns
    are x (`x.NAME` for the arrays in a dictionary), outcome, steps, loss, gap where it is known, by, and `calls.KIND`.

    Arguments:
        path: the file; an existing file is replaced.
        parts: the solutions, in the order of the problems.
    """
    path = check_path(path)
    write_whole(path, lambda temporary: WRITERS[path.suffix](temporary, parts))


def check_path(path: Path | str) -> Path:
    """Refuse a file of solutions with another suffix, or in a directory that does not exist."""
    path = as_path("path", path)
    if path.suffix not in WRITERS:
        raise ValueError(f"solutions are written to files with the suffix {', '.join(WRITERS)}, got {str(path)!r}.")
    if not path.parent.is_dir():
        raise ValueError(f"path must name a file in a directory that exists, got {str(path)!r}.")
    return path


def columns(solutions: Solutions) -> dict[str, np.ndarray]:
    """All arrays by name."""
    points = names_of_leaves(solutions.x)
    gap = {} if solutions.gap is None else {"gap": solutions.gap}
    return {
        **{f"x.{name}".removesuffix("."): np.asarray(leaf) for name, leaf in points.items()},
        "outcome": solutions.outcome,
        "steps": np.asarray(solutions.steps),
        "loss": np.asarray(solutions.loss),
        **gap,
        "by": solutions.by,
        **{f"calls.{kind}": np.asarray(count) for kind, count in solutions.calls._asdict().items()},
    }


def _write_npz(path: Path, parts: Iterable[Solutions]) -> None:
    tables = [columns(part) for part in parts]
    whole: dict[str, Any] = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    np.savez(path, **whole)


def _write_json_lines(path: Path, parts: Iterable[Solutions]) -> None:
    with path.open("w") as file:
        for part in parts:
            table = columns(part)
            for row in zip(*table.values(), strict=True):
                values = (_plain(value) for value in row)
                file.write(json.dumps(dict(zip(table, values, strict=True)), allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    """A number, text or array in a form that JSON can represent; what is not finite becomes null."""
    array = np.asarray(value)
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return array.tolist()
    plain = array.astype(object)
    plain[~np.isfinite(array)] = None
    return plain.tolist()


def _write_parquet(path: Path, parts: Iterable[Solutions]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install pyarrow, or write .npz or .jsonl.") from None

    writer = None
    try:
        for part in parts:
            table = pyarrow.table({name: _arrow(pyarrow, values) for name, values in columns(part).items()})
            writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _arrow(pyarrow: Any, values: np.ndarray) -> Any:
    """A column; an array for each problem becomes a list of its entries in order."""
    if values.ndim == 1:
        return pyarrow.array(values)
    size = int(np.prod(values.shape[1:]))
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(np.ravel(values)), size)


WRITERS: dict[str, Callable[[Path, Iterable[Solutions]], None]] = {
    ".npz": _write_npz,
    ".parquet": _write_parquet,
    ".jsonl": _write_json_lines,
}
