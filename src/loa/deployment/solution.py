"""Solutions of problems: what `loa.solve` and `loa.Solver` return."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..problems.oracle import Calls
from ..trajectory import job as trajectory

OUTCOMES = (*trajectory.OUTCOMES, "late")
"""How solving a problem can end; "late" is for solvers with a deadline."""


@dataclasses.dataclass(frozen=True)
class Solution:
    """The solution of one problem.

    `x` is the point that meets the criterion if `outcome` is "solved". Otherwise ("exhausted", "diverged" or "late") it
    is the point with the lowest finite loss that was seen, or the start if no loss was finite. `steps` and `calls` are
    what it took; `gap` is the distance of the loss to its minimum, None where the class does not state that; `by` is
    "fallback" if the fallback of a solver found x, and else "algorithm".
    """

    x: Any
    outcome: str
    steps: int
    loss: float
    gap: float | None
    calls: Calls
    by: str = "algorithm"

    @property
    def solved(self) -> bool:
        """Whether x meets the criterion."""
        return self.outcome == "solved"


@dataclasses.dataclass(frozen=True, repr=False)
class Solutions:
    """The solutions of many problems, in their order: every array has the leading axis of the problems.

    `solutions[n]` is the `Solution` of problem n, with the same fields. `seconds` is how long it took to compute all of
    them, without compilation.
    """

    x: Any
    outcome: np.ndarray
    steps: np.ndarray
    loss: np.ndarray
    gap: np.ndarray | None
    calls: Calls
    by: np.ndarray
    seconds: float = 0.0

    @classmethod
    def of(cls, solutions: Sequence[Solution], seconds: float = 0.0) -> Solutions:
        """Stack solutions of problems of the same shapes."""
        first = solutions[0]
        x, calls = (
            jax.tree.map(lambda *leaves: np.stack(leaves), *(getattr(each, name) for each in solutions))
            for name in ("x", "calls")
        )
        rows = {name: np.asarray([getattr(each, name) for each in solutions]) for name in ("outcome", "steps", "loss")}
        gap = None if first.gap is None else np.asarray([each.gap for each in solutions])
        return cls(x, **rows, gap=gap, calls=calls, by=np.asarray([each.by for each in solutions]), seconds=seconds)

    def __len__(self) -> int:
        return len(self.outcome)

    def __getitem__(self, number: int) -> Solution:
        if not -len(self) <= number < len(self):
            raise IndexError(f"there are {len(self)} solutions, got the number {number}.")
        x, calls = jax.tree.map(lambda leaf: leaf[number], (self.x, self.calls))
        gap = None if self.gap is None else float(self.gap[number])
        return Solution(
            x, str(self.outcome[number]), int(self.steps[number]), float(self.loss[number]), gap,
            Calls._make(map(int, calls)), str(self.by[number]),
        )  # fmt: skip

    def __iter__(self) -> Iterator[Solution]:
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        counts = ((word, int((self.outcome == word).sum())) for word in OUTCOMES)
        return f"Solutions({len(self)}: {', '.join(f'{count} {word}' for word, count in counts if count)})"

    def save(self, path: Path | str) -> None:
        """Write the solutions to a file: `.npz` for NumPy, `.parquet` or `.jsonl` with a row per problem.

        Arguments:
            path: the file, whose suffix says which; an existing file is replaced.
        """
        from .files.solutions import write

        write(path, [self])
