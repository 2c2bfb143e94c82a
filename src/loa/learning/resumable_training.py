"""Stretches of training that resume: many steps in pieces of a few seconds, with checkpoints between them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Key

from ..messages.waiting import waiting_for
from ..storage.checkpoint import Checkpoint
from ..storage.resuming import Pace
from .learner import Learner, Recipe, Tally, advance, no_steps

SECONDS_PER_PIECE = 1.0
"""How long the compiled loop runs, about, before control returns to Python, for checkpoints and interruption."""


class Progress(NamedTuple):
    """What changes during a stretch: the learner, the sums since the last report, and the best parameters so far."""

    learner: Learner
    tally: Tally
    best: Any

    @classmethod
    def begin(cls, learner: Learner) -> Progress:
        return cls(learner, no_steps(), learner.parameters)

    @property
    def step(self) -> int:
        return int(self.learner.step)


class Saving:
    """The checkpoint of a course of training, which is saved every few seconds.

    The note that is saved with it holds the seconds spent so far, and what else the course has to say.
    """

    def __init__(self, path: Path | str | None, identity: Callable[[], str | None]):
        self._path = path
        self._identity = identity
        self._checkpoint: Checkpoint | None = None
        self._pace = Pace()
        self._started = time.perf_counter()
        self.note: dict[str, Any] = {}

    @property
    def seconds(self) -> float:
        """Seconds spent so far, in all the processes that worked on it."""
        return time.perf_counter() - self._started

    def load(self, form: Progress) -> Progress | None:
        """What was saved, if anything was; the note is read as well."""
        if self._path is None or not Path(self._path).exists():
            return None
        checkpoint = self._prepared()
        if checkpoint is None:
            return None
        progress, self.note = checkpoint.load(lambda note: form)
        self._started -= self.note.pop("seconds")
        return progress

    def when_due(self, progress: Progress) -> None:
        """Save if enough work would be lost otherwise."""
        if self._pace.due():
            self.now(progress)

    def at_the_end(self, progress: Progress) -> None:
        """Save what is finished, unless it took hardly any time."""
        if self._pace.worth_saving:
            self.now(progress)

    def now(self, progress: Progress) -> None:
        """Save."""
        checkpoint = self._prepared()
        if checkpoint is not None:
            note = {**self.note, "seconds": self.seconds}
            self._pace.save(lambda: checkpoint.save(progress, note))

    def _prepared(self) -> Checkpoint | None:
        if self._path is not None and self._checkpoint is None:
            identity = self._identity()
            self._checkpoint = None if identity is None else Checkpoint(self._path, identity)
            self._path = None if identity is None else self._path
        return self._checkpoint


def advanced(fixed: tuple[Recipe, Any, Key[Array, ""]], progress: Progress, until: int, saving: Saving) -> Progress:
    """Train until this step, in pieces; the result does not depend on how long they are."""
    name = type(fixed[0].form).__name__
    piece, what = 1, f"the compilation and the first steps of training {name}"
    while (left := until - progress.step) > 0:
        started = time.perf_counter()
        steps = np.int32(min(piece, left))
        with waiting_for(what):
            learner, tally = jax.block_until_ready(advance(fixed, progress.learner, steps, progress.tally))
        what = f"steps of training {name}"
        progress = progress._replace(learner=learner, tally=tally)
        saving.when_due(progress)
        spent = max(time.perf_counter() - started, 1e-3)
        piece = max(1, int(piece * min(SECONDS_PER_PIECE / spent, 8.0)))
    return progress
