"""Evaluations that were interrupted: what they had so far, in a directory, for the same ones to go on from."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from .checkpoint import Checkpoint

EVERY = 20.0
"""Seconds between two checkpoints, and so how much work of an evaluation is lost at most."""

SHORT = 5.0
"""Seconds of work that are not worth a file when an evaluation ends."""


class Unfinished:
    """The checkpoint of one job, in a file that is named by the fingerprint of the job.

    So jobs of any number can share a directory, and what another job left there is not even looked at. The fingerprint
    takes a second, and is not made for a job that has nothing to read and ends before anything is written. Of a job
    that cannot be recognized nothing is kept.
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
        """Progress of the job and seconds spent on it, if there are any; `empty` gives the form for so many slots."""
        if not self.directory.is_dir() or self._checkpoint is None or not self._checkpoint.exists:
            return None
        progress, note = self._checkpoint.load(lambda note: empty(note["width"]))
        return progress, note["seconds"]

    def save(self, progress: Any, width: int, seconds: float, finished: bool) -> None:
        """Keep the progress, if it is time to do so."""
        if time.monotonic() - self._saved < (SHORT if finished else EVERY):
            return
        if self._checkpoint is not None:
            self._checkpoint.save(progress, {"width": width, "seconds": seconds})
        self._saved = time.monotonic()
