"""Long work says how far it is: a bar on a terminal, and plain lines there and in a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Look(Protocol):
    """A look at work in progress, whose text is what one wants to see: after so many steps and so many seconds."""

    @property
    def step(self) -> int: ...

    @property
    def seconds(self) -> float: ...


@contextmanager
def printed(progress: bool | Callable[[Any], None], what: str, steps: int) -> Iterator[Callable[[Any], None]]:
    """A function that prints one line per look, with the time left, below which a terminal shows a bar."""
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
            bar.console.print(f"{what}: {look}  {_duration(left)} left")

        yield report


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
