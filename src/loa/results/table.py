"""The table of a run or a comparison for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .names import HEADERS
from .summary import AlgorithmSummary, FunctionalSummary, Measured

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def table(title: str, algorithms: Mapping[str, AlgorithmSummary], functionals: Iterable[FunctionalSummary]) -> Table:
    """A row for every algorithm: measures of the stopping time, the share solved, means of all other functionals."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    others = [each for each in functionals if each.name != "stopping_time"]
    made = Table(title=Text(title), box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    made.add_column("algorithm")
    for column in (*HEADERS.values(), "solved", *(_header(each) for each in others), "ms each"):
        made.add_column(Text(column), justify="right", no_wrap=True)
    for name, numbers in algorithms.items():
        times = numbers.functionals["stopping_time"]
        row = [_with_margin(times), *(f"{getattr(times, key):.4g}" for key in list(HEADERS)[1:])]
        row += [f"{numbers.solved:.1%}", *(f"{numbers.functionals[each.name].mean:.4g}" for each in others)]
        made.add_row(Text(name), *row, f"{numbers.milliseconds:.3g}")
    return made


def show(console: Console, made: Table) -> None:
    """Print a table in full, wider than the console if it must be: numbers are not cut off."""
    needed = console.measure(made, options=console.options.update(max_width=1000)).minimum
    console.print(made, width=max(needed, console.width), crop=False, no_wrap=False)


def _header(functional: FunctionalSummary) -> str:
    """Broken at its spaces, so that columns stay narrow."""
    return functional.with_unit.replace(" ", "\n")


def _with_margin(measured: Measured) -> str:
    low, high = measured.intervals["mean"]
    if low is None or high is None or not math.isfinite(measured.mean):
        return f"{measured.mean:.4g}"
    return f"{measured.mean:.4g} ± {(high - low) / 2:.2g}"
