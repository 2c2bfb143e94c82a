"""A run by several independent calls that only share its directory: one of them leads, the others compute for it."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from ..parallel.shared_folder import SharedFolder, help_in
from ..results.run_results import SUMMARY
from ..storage.claim import ClaimedError, claimed
from ..storage.files import lock
from .directory import LOCK, ORDER, OccupiedError
from .identity import differences

TASKS = ".loa-tasks"
"""The folder where calls find what is to be computed."""

POLL = 0.5
"""Seconds between two attempts to lead."""


@dataclass(frozen=True)
class Execution:
    """How a run is carried out: alone, or by several calls.

    Fields:
        part: the number of this call and of all calls, where several of them share the directory.
        collect: whether to finish what other calls have left behind.
        resume, overwrite, executor: as for `carry_out`.
    """

    part: tuple[int, int] | None = None
    collect: bool = False
    resume: bool = False
    overwrite: bool = False
    executor: Any = None

    @classmethod
    def of(cls, batch: str | None, collect: bool, *, resume: bool, overwrite: bool, executor: Any) -> Execution:
        """The way that the options of the command ask for; refused with a sentence if they exclude each other."""
        if batch is not None and (collect or overwrite or executor is not None):
            other = "--collect" if collect else "--overwrite" if overwrite else "--jobs or --parallel-config"
            raise ValueError(f"--batch and {other} exclude each other.")
        if collect and overwrite:
            raise ValueError("--collect finishes a run and --overwrite begins it again: give one of them.")
        return cls(None if batch is None else part_of_batch(batch), collect, resume, overwrite, executor)

    def carried_out(self, carry: Callable[..., Any], order: Any, directory: Path, console: Console) -> Any | None:
        """Carry out an order in this way.

        Arguments:
            carry: `carry_out` or `carry_out_solver`.
            order: what to run.
            directory, console: as for these.

        Returns:
            The results; None if another call has finished the run.
        """
        if self.part is not None:
            lead = partial(carry, order, directory, console, resume=True)
            return in_batch(self.part, directory, order.identity, lambda executor: lead(executor=executor), console)
        if self.collect and (directory / SUMMARY).exists():
            console.print(f"the run in {directory} is complete.")
            return None
        if self.collect and not (directory / ORDER).exists():
            raise OccupiedError(f"{directory} holds no run that --collect could finish: begin one, or give its --out.")
        resume = self.resume or self.collect
        return carry(order, directory, console, resume=resume, overwrite=self.overwrite, executor=self.executor)


def part_of_batch(text: str) -> tuple[int, int]:
    """The numbers i and n of `--batch i/n`.

    >>> part_of_batch("2/8")
    (2, 8)
    """
    found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    number, count = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= count:
        raise ValueError(f"--batch must be i/n with 1 ≤ i ≤ n, such as 2/8 for the second of eight calls, got {text}.")
    return number, count


def in_batch(
    part: tuple[int, int],
    directory: Path,
    identity: Callable[[], Mapping[str, Any]],
    lead: Callable[[Any], Any],
    console: Console,
) -> Any | None:
    """Take part in a run that several calls carry out together.

    Whichever call comes first leads: it goes through the stages, and the others compute a part of each evaluation. If
    the leader dies, another one resumes from what is in the directory.

    Arguments:
        part: the number of this call, and of all calls.
        directory: of the run.
        identity: what determines the results, to be compared with the run that is in the directory.
        lead: carries out the run, or resumes it, with an executor.
        console: where it is told what this call does.

    Returns:
        What `lead` returns; None if another call has finished the run.
    """
    number, count = part
    words, helped = f"call {number} of {count}", 0
    directory.mkdir(parents=True, exist_ok=True)
    with claimed(directory / f".loa-call-{number}.lock", directory / words):
        while not (directory / SUMMARY).exists():
            try:
                with SharedFolder(directory / TASKS) as executor:
                    return lead(executor)
            except ClaimedError:
                _check_same(directory, identity())
                if not helped:
                    console.print(f"{words} computes for the one that leads the run in {directory}")
                helped += help_in(directory / TASKS, lambda: not _is_led(directory))
                time.sleep(POLL)
    console.print(f"{words} has computed {helped} parts; the run in {directory} is complete.")
    return None


def _check_same(directory: Path, identity: Mapping[str, Any]) -> None:
    """Refuse to help with a run that is not the one that was asked for."""
    try:
        before = json.loads((directory / ORDER).read_text())
    except (OSError, ValueError):
        return  # the leader has only begun
    different = differences(before, json.loads(json.dumps(dict(identity))))
    if different:
        raise OccupiedError(
            f"the run in {directory} is another one ({'; '.join(different)}): give all calls of a batch the same "
            "arguments, or choose another --out."
        )


def _is_led(directory: Path) -> bool:
    """Whether a process leads the run."""
    try:
        handle = os.open(directory / LOCK, os.O_RDWR)
    except OSError:
        return False
    try:
        return not lock(handle)
    finally:
        os.close(handle)
