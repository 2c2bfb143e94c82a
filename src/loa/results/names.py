"""What measures, costs and outcomes are called wherever a reader meets them.

Functionals are not listed here: each speaks for itself by its title, unit and symbol (`FunctionalSummary`). The words
of certificates stand in `loa.certificates.names`, and units in `loa.trajectory.units`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..trajectory.units import ITERATIONS, MILLISECONDS, ORACLE_CALLS, SECONDS

MEASURES = {
    "mean": "mean",
    "median": "median",
    "q95": "95% quantile",
    "cvar95": "mean of the worst 5%",
}
"""Measures of a functional on the test problems."""

PUBLISHED = {**MEASURES, "bound": "bound of the mean"}
"""What the paper publishes of a functional."""

HEADERS = {"mean": "mean", "median": "median", "q95": "q95", "cvar95": "CVaR95"}
"""The same where there is little room."""

OUTCOMES = {
    "won": "Better than",
    "level": "Not decided against",
    "lost": "Worse than",
    "unmeasured": "Not known for",
}
"""How the learned algorithm fares against a baseline in one cost."""

MARKS = {
    "mean": "mean",
    "median": "median",
    "certificate": "certified mean",
    "paper": "bound of the paper",
    "cap": "cap",
}
"""Lines in a histogram."""


@dataclass(frozen=True)
class Cost:
    """A cost in which algorithms are compared: its name in a sentence, and how an amount of it is read.

    Fields:
        title: as in "beats every baseline in iterations".
        unit: as in "12 iterations on average" or "0.5 ms per problem on average".
        less, more: as in "3 × fewer" and "20% slower".
        counted: whether "20% fewer" means a fifth less, rather than a speed that is a fifth higher.
    """

    title: str
    unit: str
    less: str = "fewer"
    more: str = "more"
    counted: bool = True


COSTS = {
    "stopping_time": Cost(ITERATIONS, ITERATIONS),
    "oracle_calls": Cost(ORACLE_CALLS, ORACLE_CALLS),
    "milliseconds": Cost("wall-clock time", f"{MILLISECONDS} per problem", "faster", "slower", counted=False),
}
"""Costs by the name of their functional; wall-clock time is measured in milliseconds."""

CLOCKED = {"seconds": Cost("running time", SECONDS, "faster", "slower", counted=False)}
"""The cost of solvers that are not JAX, whose running time is measured on each instance."""

TIMES = ("stopping_time", "seconds")
"""Functionals that say how long an instance takes: the first one that was measured is what runs are about."""
