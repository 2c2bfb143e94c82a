"""Logged problems from files: a folder with one file per problem, or a table with one row per problem."""

from __future__ import annotations

import csv
import glob
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...messages.arguments import shown
from ..problem_class import count_problems
from .instances import Instances, collected

Named = Iterator[tuple[str, Any]]
"""Names with instances, or with the errors that reading them has raised."""


def from_files(
    files: Any,
    *,
    columns: Iterable[str] | None = None,
    time: str | None = None,
    order: str | None = None,
    repeats: str = "refuse",
    pad: bool = False,
) -> Instances:
    """Read problems that were logged: from a folder, a pattern such as "folder/*.npz", or one file with many of them.

    In a folder each .npz, .npy or .json file is one instance, and files are read in the order of their names, numbers
    in them counting as numbers. One file holds many instances: .npz and .npy arrays with one leading axis, .csv and
    .parquet tables with one row per instance, .json a list, .jsonl one instance per line. In a table, the columns
    `a_0`, `a_1`, … (or `a[0]`, …) together are the vector `a`, and a list in a cell is an array.

    An instance that cannot be read, or is odd (NaN in it, other fields or shapes than most), is named in a warning and
    left out; if these are more than 1%, there is an error instead. Equal instances are counted and named.

    Arguments:
        files: a folder, a pattern, a file, or a list of files with one instance each.
        columns: the columns of a table to read; all by default.
        time, order, repeats, pad: as in `loa.problems.Instances.of`.

    Returns:
        The instances, for `loa.FromInstances(instances, loss, start)`, or as `instances = …` in a file for `loa run`.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for k in range(12):
    ...     np.savez(folder / f"problem-{k}.npz", slope=1.0 + k, target=np.ones(2))
    >>> found = from_files(folder)
    >>> found
    Instances(12 instances with slope: (), target: (2,); shuffled)
    >>> found.names[0], found.names[-1]
    ('problem-0.npz', 'problem-11.npz')
    """
    named = named_instances(files, None if columns is None else list(columns))
    return collected(named, time=time, order=order, repeats=repeats, pad=pad)


def named_instances(files: Any, columns: list[str] | None = None) -> Named:
    """All instances in files, each with its name, in their order; what cannot be read comes as the error it raises."""
    paths, one_each = _paths(files)
    return (pair for path in paths for pair in _instances_in(path, one_each, columns))


def _paths(files: Any) -> tuple[list[Path], bool]:
    """The files, and whether each of them holds one instance."""
    if isinstance(files, list | tuple):
        return [_existing(Path(each)) for each in files], True
    if not isinstance(files, str | Path):
        raise TypeError(f"files must be a folder, a pattern, a file or a list of files, got {shown(files)}.")
    path = Path(files)
    if path.is_dir():
        found = [each for each in path.iterdir() if each.suffix in READERS and not each.name.startswith(".")]
        if not found:
            raise ValueError(f"the folder {path} has no files that end in {', '.join(READERS)}.")
        return _in_order(found), True
    if glob.has_magic(str(files)) and not path.exists():
        found = [Path(each) for each in glob.glob(str(files), recursive=True)]
        if not found:
            raise ValueError(f"no file matches the pattern {str(files)!r}.")
        return _in_order([each for each in found if each.is_file()]), True
    return [_existing(path)], False


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ValueError(f"there is no file or folder {path}.")
    return path


def _in_order(paths: list[Path]) -> list[Path]:
    """Sorted by name, with the numbers in names as numbers."""

    def parts(path: Path) -> list[tuple[int, str]]:
        return [(int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", str(path))]

    return sorted(paths, key=parts)


def _instances_in(path: Path, one: bool, columns: list[str] | None) -> Named:
    """The instances in a file; where it can hold one only and cannot be read, that error instead."""
    if path.suffix not in READERS:
        raise ValueError(f"{path} cannot be read: its name must end in {', '.join(READERS)}.")
    whole = one and path.suffix in ARRAYS
    try:
        found = READERS[path.suffix](path)
        if path.suffix in TABLES:
            yield from _rows(path, found, columns)
        elif path.suffix == ".jsonl":
            yield from _lines(path, found)
        elif whole:
            yield path.name, found
        elif isinstance(found, list):
            yield from ((f"{path.name}, instance {index}", each) for index, each in enumerate(found))
        else:
            stack = {name: np.asarray(leaf) for name, leaf in found.items()} if isinstance(found, dict) else found
            for index in range(count_problems(stack)):
                each = {name: leaf[index] for name, leaf in stack.items()} if isinstance(stack, dict) else stack[index]
                yield f"{path.name}, instance {index}", each
    except ImportError:
        raise
    except Exception as error:
        words = f"it cannot be read as {path.suffix[1:]} ({' '.join(str(error).split())[:120] or type(error).__name__})"
        if not whole:
            raise ValueError(f"{path}: {words}.") from error
        yield path.name, ValueError(words)


def _loaded(path: Path) -> Any:
    """What NumPy reads, without its advice on pickled data for files that begin with neither of its signatures."""
    with path.open("rb") as file:
        if not file.read(6).startswith((b"PK", b"\x93NUMPY")):
            raise ValueError("it is not a NumPy file")
    return np.load(path, allow_pickle=False)


def _npz(path: Path) -> Any:
    with _loaded(path) as found:
        if isinstance(found, np.ndarray):
            raise ValueError("it holds one array without a name, as .npy files do")
        return {name: found[name] for name in found.files}


def _npy(path: Path) -> Any:
    found = _loaded(path)
    if not isinstance(found, np.ndarray):
        raise ValueError("it holds several arrays, as .npz files do")
    return found


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _csv(path: Path) -> dict[str, list[Any]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        header, *rows = csv.reader(file)
    twice = [name for place, name in enumerate(header) if name in header[:place]]
    if twice:
        raise ValueError(f"there are two columns {twice[0]!r}")
    while rows and not rows[-1]:
        rows.pop()
    if len(header) == 1:
        rows = [row or [""] for row in rows]  # an empty line is an empty cell there
    short = [index for index, row in enumerate(rows) if row and len(row) != len(header)]
    if short:
        raise ValueError(f"row {short[0] + 1} has {len(rows[short[0]])} cells, but there are {len(header)} columns")
    rows = [row for row in rows if row]
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def _parquet(path: Path) -> dict[str, list[Any]]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{path} is a Parquet table, which needs pyarrow: pip install pyarrow.") from error
    return parquet.read_table(path).to_pydict()


def table_in(path: Path) -> dict[str, list[Any]]:
    """The columns of a .csv or .parquet table, by name; the cells of a .csv table are texts."""
    try:
        return READERS[path.suffix](path)
    except ImportError:
        raise
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read as {path.suffix[1:]} ({' '.join(str(error).split())[:120]})."
        ) from error


def _text_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _lines(path: Path, lines: list[str]) -> Named:
    for index, line in enumerate(lines):
        if line.strip():
            try:
                yield f"{path.name}, line {index + 1}", json.loads(line)
            except ValueError:
                yield f"{path.name}, line {index + 1}", ValueError("it is not JSON")


def _rows(path: Path, table: Mapping[str, list[Any]], columns: list[str] | None) -> Named:
    """The rows of a table, with numbered columns put together."""
    missing = [name for name in columns or () if name not in table]
    if missing:
        raise ValueError(f"there is no column {missing[0]!r}; there are {', '.join(table)}")
    chosen = list(table) if columns is None else columns
    texts = [name for name in chosen if all(isinstance(_value(cell), str) for cell in table[name])]
    if texts:
        raise ValueError(f"the column {texts[0]!r} holds text: leave it out by columns=[…]")
    vectors: dict[str, dict[int, str]] = {}
    for name in chosen:
        numbered = re.fullmatch(r"(.+?)(?:_(\d+)|\[(\d+)\])", name)
        if numbered:
            vectors.setdefault(numbered[1], {})[int(numbered[2] or numbered[3])] = name
    vectors = {name: parts for name, parts in vectors.items() if sorted(parts) == list(range(len(parts)))}
    inside = {part for parts in vectors.values() for part in parts.values()}
    for index in range(len(next(iter(table.values()), []))):
        cells = {name: _value(table[name][index]) for name in chosen}
        single = {name: cell for name, cell in cells.items() if name not in inside}
        together = {name: [cells[parts[place]] for place in sorted(parts)] for name, parts in vectors.items()}
        yield f"{path.name}, row {index + 1}", {**single, **together}


def _value(cell: Any) -> Any:
    """A cell of a table as a number, where it is one: an empty cell is NaN, and a list in brackets is read as JSON."""
    if cell is None or cell == "":
        return float("nan")
    if not isinstance(cell, str):
        return cell
    try:
        return json.loads(cell) if cell.lstrip().startswith("[") else float(cell)
    except ValueError:
        return cell


READERS = {
    ".npz": _npz, ".npy": _npy, ".json": _json, ".jsonl": _text_lines, ".csv": _csv, ".parquet": _parquet,
}  # fmt: skip
ARRAYS = (".npz", ".npy", ".json")
"""Files that hold one instance in a folder, and a stack or a list of them alone."""
TABLES = (".csv", ".parquet")
