"""The units of what is measured, under the names by which results know it."""

from __future__ import annotations

ITERATIONS = "iterations"
ORACLE_CALLS = "oracle calls"
SECONDS = "seconds"
CPU_SECONDS = "CPU seconds"
MILLISECONDS = "ms"

UNITS = {
    "stopping_time": ITERATIONS,
    "iterations": ITERATIONS,
    "oracle_calls": ORACLE_CALLS,
    "seconds": SECONDS,
    "cpu_seconds": CPU_SECONDS,
    "milliseconds": MILLISECONDS,
}
"""For values that come with a name only, as in a table; a `Functional` states its unit itself."""

TIMED = {"seconds", "cpu_seconds", "milliseconds", "wall_clock", SECONDS, CPU_SECONDS, MILLISECONDS, "s"}
"""Names and units of what depends on the machine and its load."""


def unit_of(name: str) -> str:
    """The unit of values with this name; empty if it is not known.

    >>> unit_of("stopping_time"), unit_of("energy")
    ('iterations', '')
    """
    return UNITS.get(name, "")
