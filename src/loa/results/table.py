"""The table of a run or a comparison for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..certificates.bounds.rounding import percent_down, two_digits_up
from ..certificates.budget import joint_confidence
from ..messages.percent import percent_seen
from .algorithm_summary import AlgorithmSummary, FunctionalSummary, Measured
from .names import HEADERS, TIMES

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from .run_results import Results


def table(title: str, algorithms: Mapping[str, AlgorithmSummary], functionals: Iterable[FunctionalSummary]) -> Table:
    """A row for every algorithm: measures of the time it takes, the share solved, means of all other functionals."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    functionals = list(functionals)
    time = next(name for name in TIMES if name in [each.name for each in functionals])
    others = [each for each in functionals if each.name != time]
    clock = ["ms\neach"] if time != "seconds" else []
    columns = [*HEADERS.values(), "solved", *(_header(each) for each in others), *clock]
    rows = {name: _cells(numbers, time, others) for name, numbers in algorithms.items()}
    made = Table(title=Text(title), box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    made.add_column("algorithm", overflow="fold")
    for place, column in enumerate(columns):
        widest = max(map(len, [*column.split("\n"), *(row[place] for row in rows.values())]))
        made.add_column(Text(column), justify="right", no_wrap=True, min_width=widest)
    for name, row in rows.items():
        made.add_row(Text(name), *row)
    return made


def show(console: Console, made: Table) -> None:
    """Print a table in full: names are broken into lines, but numbers are never cut off, however narrow the console."""
    before = console.width
    needed = console.measure(made, options=console.options.update(max_width=1000)).minimum
    try:
        console.width = max(needed, before)
        console.print(made)
    finally:
        console.width = before


def _cells(numbers: AlgorithmSummary, time: str, others: Iterable[FunctionalSummary]) -> list[str]:
    times = numbers.functionals[time]
    return [
        _with_margin(times),
        *(f"{getattr(times, measure):.4g}" for measure in list(HEADERS)[1:]),
        percent_seen(numbers.solved),
        *(f"{numbers.functionals[each.name].mean:.4g}" for each in others),
        *([f"{numbers.milliseconds:.3g}"] if time != "seconds" else []),
    ]


def _header(functional: FunctionalSummary) -> str:
    """Broken at its spaces, so that columns stay narrow."""
    return functional.with_unit.replace(" ", "\n")


def _with_margin(measured: Measured) -> str:
    """The mean and its distance from the farther end of its interval, so that both ends are within the margin."""
    low, high = measured.intervals["mean"]
    if low is None or high is None or not math.isfinite(measured.mean):
        return f"{measured.mean:.4g}"
    return f"{measured.mean:.4g} ± {two_digits_up(max(high - measured.mean, measured.mean - low))}"


def tell(results: Results, console: Console) -> None:
    """The results in a few lines: the table, and what is certified."""
    summary = results.summary
    kind = "test problems of an earlier look" if summary.seen_before else "unseen problems"
    title = f"{summary.sizes['test']} {kind}" + ", running time in seconds" * summary.clocked
    show(console, table(title, summary.algorithms, summary.functionals))
    if summary.choice.sentence():
        console.print(summary.choice.sentence(), markup=False)
    if not results.certificates:
        console.print("Nothing was certified.")
        return
    sure = percent_down(joint_confidence(results.certificates.values()))
    console.print(f"With {sure} confidence all of these hold together:")
    for claim in dict.fromkeys(each.claim() for each in results.certificates.values()):
        console.print(f"- {claim}", markup=False)
