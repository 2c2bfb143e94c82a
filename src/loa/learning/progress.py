"""What one wants to see while something is learned, on a terminal and as plain lines in a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

Report = Callable[["Check"], None]


class Glance(NamedTuple):
    """A look at imitation: the mean squared distance to the teacher since the last one, relative to how far it goes."""

    step: int
    distance: float
    seconds: float

    def __str__(self) -> str:
        return f"step {self.step:>7}  squared distance to the teacher {self.distance:.4f}"


class Check(NamedTuple):
    """A look at the algorithm during training, on the validation problems.

    `objective` is its mean since the last check (none before training), `holds` the share of problems on which the
    constraint's property holds, `setback` what went wrong ("dead" or "diverged"), if anything did.
    """

    step: int
    objective: float | None
    mean: float
    median: float
    solved: float
    holds: float
    best: bool = False
    setback: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        objective = "" if self.objective is None else f"objective {self.objective:8.4f}  "
        flag = f"  {self.setback}, back to the best" if self.setback else "  best" if self.best else ""
        return (
            f"step {self.step:>7}  {objective}solved {self.solved:6.1%}  "
            f"stopping time {self.mean:7.1f} (median {self.median:g}){flag}"
        )


@dataclass(frozen=True)
class History:
    """All checks so far, the first one before training."""

    checks: tuple[Check, ...]

    def __len__(self) -> int:
        return len(self.checks)

    @property
    def best(self) -> Check:
        """The check at which the best point so far was seen; the first is that of the point training begins with."""
        return next(check for check in reversed(self.checks) if check.best)

    @property
    def setbacks(self) -> int:
        """How many of the last checks in a row were set-backs."""
        count = 0
        for check in reversed(self.checks):
            if not check.setback or check.best:
                break
            count += 1
        return count

    def is_best(self, check: Check, at_least: float) -> bool:
        """Whether this point is to be kept: it satisfies the constraint better, or equally and stops earlier."""

        def rank(check: Check) -> tuple[float, float]:
            return min(check.holds, at_least), -check.mean

        return rank(check) > rank(self.best)

    def after(self, check: Check, seconds: float) -> History:
        return History((*self.checks, check._replace(seconds=self.checks[-1].seconds + seconds)))


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

        def report(look: Check | Glance) -> None:
            left = look.seconds * (steps - look.step) / max(look.step, 1)
            bar.update(task, completed=look.step)
            bar.console.print(f"{what}: {look}  {_duration(left)} left")

        yield report


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
