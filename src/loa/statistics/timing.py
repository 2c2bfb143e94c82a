"""Timing algorithms against each other on the same machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping

ROUNDS = 5
"""No more of them, however short they are."""


def best_in_turn(
    runs: Mapping[str, Callable[[], float]], budget: float, first: Mapping[str, float] | None = None
) -> dict[str, float]:
    """The shortest of the times that each run reports, one after the other, in as many rounds as the budget affords.

    In turn, so that all have the same machine; the shortest, because whatever else happens there only makes it longer.
    There is one round at least, `first` if it has been made already. The budget has the unit of the reported times.
    """
    best = dict(first or {name: run() for name, run in runs.items()})
    for _ in range(min(ROUNDS - 1, int(budget / sum(best.values())))):
        best = {name: min(best[name], run()) for name, run in runs.items()}
    return best
