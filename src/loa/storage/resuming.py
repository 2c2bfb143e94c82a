"""Evaluations that resume: their progress is saved in a directory, where the same evaluation finds it again."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from ..messages.arguments import as_path
from ..messages.warning import warn
from .checkpoint import Checkpoint, UnusableCheckpoint

EVERY = 8.0
"""Seconds between two checkpoints, if they are cheap. It bounds how much work can be lost: less than ten seconds."""

SHARE = 0.03
"""The largest share of the time that is spent on checkpoints; expensive ones are saved less often."""

SHORT = 5.0
"""What ends is saved only if more seconds than these passed since the last checkpoint."""


class Pace:
    """When the next checkpoint is due: after `EVERY` seconds, or later if saving one takes long."""

    def __init__(self):
        self._saved = time.monotonic()
        self._cost = 0.0

    @property
    def unsaved(self) -> float:
        """Seconds of work since the last checkpoint."""
        return time.monotonic() - self._saved

    def due(self, more: float = 0.0) -> bool:
        """Whether it is time for a checkpoint, with `more` seconds of other work that is unsaved as well."""
        return self.unsaved + more >= max(EVERY, self._cost / SHARE)

    @property
    def worth_saving(self) -> bool:
        """Whether work that has ended took long enough to be saved."""
        return self.unsaved >= SHORT

    def save(self, write: Callable[[], None]) -> None:
        """Write a checkpoint and note how long that takes."""
        started = time.monotonic()
        write()
        self._saved = time.monotonic()
        self._cost = self._saved - started


class Evaluations:
    """A directory for the checkpoints of several evaluations that serve one purpose, such as the rounds of a search.

    Evaluations that end before a checkpoint is due are kept in memory and saved together once they have taken long
    enough, so that many short ones are not lost either.
    """

    def __init__(self, directory: Path | str):
        self.directory = Path(directory)
        self._ended: list[tuple[float, Callable[[], None]]] = []
        self._lock = threading.Lock()

    @property
    def unsaved(self) -> float:
        """Seconds spent on evaluations that have ended and are not saved."""
        return sum(seconds for seconds, _ in list(self._ended))

    def keep(self, seconds: float, write: Callable[[], None]) -> None:
        """Remember how an evaluation is saved that has ended."""
        with self._lock:
            self._ended.append((seconds, write))

    def save(self) -> None:
        """Save all evaluations that have ended."""
        with self._lock:
            ended, self._ended = self._ended, []
        for _, write in ended:
            write()


def as_evaluations(checkpoints: Evaluations | Path | str | None) -> Evaluations | None:
    """The argument `checkpoints` of `loa.evaluate` and of what calls it."""
    if checkpoints is None or isinstance(checkpoints, Evaluations):
        return checkpoints
    if (directory := as_path("checkpoints", checkpoints)).is_file():
        raise ValueError(f"checkpoints must be a directory, but {directory} is a file.")
    return Evaluations(directory)


def forget_evaluations(directory: Path) -> None:
    """Remove the checkpoints in a directory of evaluations, and the directory unless it holds something else."""
    for path in directory.glob("*.checkpoint"):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        directory.rmdir()


class EvaluationCheckpoint:
    """The checkpoint of one job, in a file named by the fingerprint of the job.

    Any number of jobs can therefore share a directory, and each reads only its own file. Computing the fingerprint
    takes a second; it is skipped for a job that has nothing to read and ends before anything is written. Jobs that
    cannot be fingerprinted are not saved. A damaged file is ignored with a warning, and the job starts from the
    beginning.
    """

    def __init__(self, evaluations: Evaluations, identity: Callable[[], str | None]):
        self.evaluations = evaluations
        self._identity = identity
        self._pace = Pace()

    @cached_property
    def _checkpoint(self) -> Checkpoint | None:
        identity = self._identity()
        return None if identity is None else Checkpoint(self.evaluations.directory / f"{identity}.checkpoint", identity)

    def load(self, empty: Callable[[int], Any]) -> tuple[Any, float] | None:
        """The progress of the job and the seconds spent on it, if it was saved; `empty` gives the form for a width."""
        if not self.evaluations.directory.is_dir() or self._checkpoint is None or not self._checkpoint.exists:
            return None
        try:
            progress, note = self._checkpoint.load(lambda note: empty(note["width"]))
        except UnusableCheckpoint:
            warn(
                f"{self._checkpoint.path} is damaged and was ignored: the evaluation starts from the beginning.",
            )
            return None
        return progress, note["seconds"]

    def save(self, progress: Any, width: int, seconds: float, finished: bool) -> None:
        """Save the progress if enough work would be lost otherwise."""

        def write() -> None:
            if self._checkpoint is not None:
                self._checkpoint.save(progress, {"width": width, "seconds": seconds})

        if self._pace.due(self.evaluations.unsaved) or (finished and self._pace.worth_saving):
            self.evaluations.save()
            _ = self._checkpoint  # which takes a second, but only once
            self._pace.save(write)
        elif finished:
            self.evaluations.keep(self._pace.unsaved, write)
