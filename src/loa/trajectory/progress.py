"""Progress of long computations: a bar on a terminal, and plain lines there and in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from ..messages.waiting import duration

LINE_EVERY = 120.0
"""Seconds between two lines in a log, for work that is only counted."""


@runtime_checkable
class Look(Protocol):
    """A report of work in progress: its text, and the steps and seconds so far."""

    @property
    def step(self) -> int: ...

    @property
    def seconds(self) -> float: ...


@contextmanager
def printed(progress: bool | Callable[[Any], None], what: str, steps: int) -> Iterator[Callable[[Any], None]]:
    """A function that prints one line per report, with the time left; on a terminal, a bar is shown below."""
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield lambda look: None
        return

    from rich.console import Console
    from rich.progress import Progress

    console = Console(highlight=False, soft_wrap=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=steps)

        def report(look: Look) -> None:
            left = look.seconds * (steps - look.step) / max(look.step, 1)
            bar.update(task, completed=look.step)
            bar.console.print(f"{what}: {look}  {duration(left)} left")

        yield report


@contextmanager
def counted(show: bool, what: str, totals: Sequence[int]) -> Iterator[Callable[[int, int], None]]:
    """A function to call with how much of each part is done; it shows bars on a terminal, and else occasional lines."""
    if not show:
        yield lambda part, done: None
        return

    from rich.console import Console
    from rich.progress import Progress

    console = Console(highlight=False, soft_wrap=True)
    counts, first, started = [0] * len(totals), {}, time.monotonic()
    due = started + LINE_EVERY
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks = [bar.add_task(what, total=total) for total in totals]

        def report(part: int, done: int) -> None:
            nonlocal due
            counts[part] = done
            first.setdefault(part, done)  # not zero if the work was resumed
            bar.update(tasks[part], completed=done)
            now = time.monotonic()
            if now >= due and not console.is_terminal:
                due = now + LINE_EVERY
                left = (now - started) * (sum(totals) - sum(counts)) / max(sum(counts) - sum(first.values()), 1)
                console.print(f"{what}: {sum(counts)} of {sum(totals)}  {duration(left)} left")

        yield report
