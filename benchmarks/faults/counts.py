"""How often a fault was tried and what came of it."""

from __future__ import annotations

from typing import NamedTuple


class Count(NamedTuple):
    """A kind of fault: what survives it, how often it was tried, and what was lost, in words.

    Fields:
        fault: what was done.
        survival: what counts as having survived it.
        tried: how often it was done.
        lost: a line for each time that something was lost.
    """

    fault: str
    survival: str
    tried: int
    lost: tuple[str, ...]

    @property
    def survived(self) -> int:
        return self.tried - len(self.lost)


def table(counts: list[Count]) -> str:
    """The counts as a table in Markdown."""
    head = ["| fault | survived means | tried | survived | lost |", "|---|---|--:|--:|--:|"]
    rows = [f"| {c.fault} | {c.survival} | {c.tried} | {c.survived} | {len(c.lost)} |" for c in counts]
    total = sum(c.tried for c in counts), sum(c.survived for c in counts), sum(len(c.lost) for c in counts)
    return "\n".join([*head, *rows, "| **all** | | **{}** | **{}** | **{}** |".format(*total)])
