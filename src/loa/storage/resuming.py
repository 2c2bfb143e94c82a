"""Evaluations that resume: their progress is saved in a directory, where the same evaluation finds it again."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from .checkpoint import Checkpoint, UnusableCheckpoint

EVERY = 20.0
"""Seconds between two checkpoints, which bounds how much work of an evaluation can be lost."""

SHORT = 5.0
"""When an evaluation ends, its results are saved only if more seconds than these passed since the last checkpoint."""


class EvaluationCheckpoint:
    """The checkpoint of one job, in a file named by the fingerprint of the job.

    Any number of jobs can therefore share a directory, and each reads only its own file. Computing the fingerprint
    takes a second; it is skipped for a job that has nothing to read and ends before anything is written. Jobs that
    cannot be fingerprinted are not saved. A damaged file is ignored with a warning, and the job starts from the
    beginning.
    """

    def __init__(self, directory: Path, identity: Callable[[], str | None]):
        self.directory = directory
        self._identity = identity
        self._saved = time.monotonic()

    @cached_property
    def _checkpoint(self) -> Checkpoint | None:
        identity = self._identity()
        return None if identity is None else Checkpoint(self.directory / f"{identity}.checkpoint", identity)

    def load(self, empty: Callable[[int], Any]) -> tuple[Any, float] | None:
        """The progress of the job and the seconds spent on it, if it was saved; `empty` gives the form for a width."""
        if not self.directory.is_dir() or self._checkpoint is None or not self._checkpoint.exists:
            return None
        try:
            progress, note = self._checkpoint.load(lambda note: empty(note["width"]))
        except UnusableCheckpoint:
            warnings.warn(
                f"{self._checkpoint.path} is damaged and was ignored: the evaluation starts from the beginning.",
                stacklevel=2,
            )
            return None
        return progress, note["seconds"]

    def save(self, progress: Any, width: int, seconds: float, finished: bool) -> None:
        """Save the progress if enough time has passed since it was last saved."""
        if time.monotonic() - self._saved < (SHORT if finished else EVERY):
            return
        if self._checkpoint is not None:
            self._checkpoint.save(progress, {"width": width, "seconds": seconds})
        self._saved = time.monotonic()
