"""Certificates for numbers that were measured anywhere and stand in a column of a table."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..messages.warning import warn
from ..problems.logs.log_files import TABLES, table_in
from ..trajectory.units import unit_of
from .bounds.inputs import failure_probability, warn_of_truncation
from .certificate import Certificate
from .goals import Mean, Quantile

LABELS = ("instance", "problem", "file", "name", "id", "case", "solver", "algorithm", "method", "status", "outcome")
"""Columns of these names do not hold measurements, even if their cells are numbers."""


def certify_table(
    path: Path | str,
    column: str,
    *,
    cap: float | None = None,
    quantile: float | None = None,
    confidence: float = 0.95,
    unit: str = "",
    problem: str | None = None,
) -> tuple[Certificate, ...]:
    """Certify the numbers in a column of a table, one row per problem: their mean, a quantile, or both together.

    All rows must be runs of one solver. Where there are several runs on a problem, as with several seeds, say in which
    column its name stands: the average over the runs on a problem counts, because they are not independent.

    Every row counts. A cell that is empty or no number is refused: a run that failed or was stopped counts as the cap.

    Arguments:
        path: a .csv or .parquet file.
        column: the name of the column.
        cap: the largest possible value, such as the time limit; needed for the mean. It must have been fixed before the
            numbers were measured.
        quantile: the level of a quantile to certify as well, or alone if there is no cap; in (0, 1).
        confidence: with which all certificates hold together, in (0, 1).
        problem: the column that says which problem a row belongs to; each row is a problem of its own by default.
        unit: what the numbers count; known for a column named "seconds", "milliseconds" or "stopping_time".

    Returns:
        The certificate of the mean, if there is a cap, and that of the quantile, if a level is given.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "times.csv"
    >>> _ = path.write_text("seconds\\n" + "\\n".join(str(0.5 + 0.01 * (k % 49)) for k in range(500)))
    >>> print(*certify_table(path, "seconds", cap=10.0))
    With 95% confidence, the algorithm needs at most 0.7943 seconds on average on new problems drawn like these 500.
    """
    if cap is None and quantile is None:
        raise ValueError(
            "a mean needs the largest possible value: declare a cap, such as the time limit of each run; or ask for a "
            "quantile, which needs none."
        )
    runs = numbers_in(Path(path), column)
    if problem is None:
        _warn_of_labels(Path(path), column)
        problems = np.arange(len(runs))
    else:
        problems = _numbered(_column(Path(path), problem), quantile is not None)
    unit = unit or unit_of(column)
    goals: list[Any] = [] if cap is None else [Mean(column, cap, unit)]
    if quantile is not None:
        goals.append(Quantile(column, quantile, cap=cap))
    each = 1 - failure_probability(confidence) / len(goals)
    values = _averages(runs, problems)
    found = tuple(goal.certify(values, each) for goal in goals)
    warn_of_truncation(runs, cap)
    if cap is None:
        return found
    at_cap = float(_averages(runs >= cap, problems).mean())
    return tuple(dataclasses.replace(certificate, at_cap=at_cap) for certificate in found)


def numbers_in(path: Path, column: str) -> np.ndarray:
    """The numbers in a column; a cell that is none is refused in a sentence that names its row."""
    cells = _column(path, column)
    return np.array([_number(cell, f"row {index + 1} of {column!r}") for index, cell in enumerate(cells)])


def _column(path: Path, column: str) -> list[Any]:
    if path.suffix not in TABLES:
        raise ValueError(f"{path} is not a table: its name must end in {' or '.join(TABLES)}.")
    if not path.is_file():
        raise ValueError(f"there is no file {path}.")
    table = table_in(path)
    if column not in table:
        raise ValueError(f"{path} has no column {column!r}; there are {', '.join(table)}.")
    return table[column]


def _numbered(names: list[Any], ranked: bool) -> np.ndarray:
    """The number of the problem that each row belongs to, in the order in which the problems come."""
    known = {name: number for number, name in enumerate(dict.fromkeys(names))}
    if ranked and len(known) < len(names):
        raise ValueError(
            "a quantile needs one row per problem, because several runs on a problem are not independent: keep one of "
            "them, chosen without looking."
        )
    return np.array([known[name] for name in names])


def _averages(values: np.ndarray, problems: np.ndarray) -> np.ndarray:
    """The average over the rows of each problem."""
    return np.bincount(problems, weights=values) / np.bincount(problems)


def _warn_of_labels(path: Path, column: str) -> None:
    """Warn of columns that label rows, some of them alike: problems that come several times, solvers, failures."""
    for name, cells in table_in(path).items():
        different = len(set(map(str, cells)))
        labels = name.lower().split("_")[0] in LABELS or not all(_is_number(cell) for cell in cells)
        if name != column and labels and 1 < different < len(cells):
            warn(
                f"the column {name!r} has {different} different values in {len(cells)} rows: all rows must be runs of "
                "one solver, failed ones with the cap, each on a problem of its own; if there are several runs on a "
                "problem, say which column names it, by problem=… or --problem."
            )


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _number(cell: Any, where: str) -> float:
    try:
        value = float(cell)
    except (TypeError, ValueError):
        value = math.nan
    if math.isnan(value):
        raise ValueError(
            f"{where} is {cell!r}, not a number: every run counts, and one that failed or was stopped counts as "
            "the cap."
        )
    return value
