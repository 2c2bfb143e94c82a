"""What a long computation is waiting for: the command line says so if nothing has been heard for a minute.

Whatever may take long is put into a block that names it:

    with waiting_for("the compilation of LBFGS"):
        ...

This alone prints nothing. While `spoken` is active, a thread prints a line if no such block has begun or ended for a
minute. Each name is repeated at growing intervals, even if many blocks that have it are slow.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

INTERVALS = (60.0, 120.0, 300.0, 600.0)
"""Seconds before the first line about something, between the first and the second, and so on; the last one repeats."""

_names: list[str] = []
_last_sign = time.monotonic()


@contextmanager
def waiting_for(what: str) -> Iterator[None]:
    """Name what happens in the block; beginning and ending it are signs of life."""
    _names.append(what)
    _sign_of_life()
    try:
        yield
    finally:
        _names.remove(what)
        _sign_of_life()


@contextmanager
def spoken() -> Iterator[None]:
    """Until the block ends, say on stderr what the process waits for whenever that takes long."""
    ended = threading.Event()
    threading.Thread(target=_speak, args=(ended,), daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def duration(seconds: float) -> str:
    """Seconds in words: in seconds, or in minutes if there are many."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _speak(ended: threading.Event) -> None:
    times: dict[str, list[float]] = {}
    while not ended.wait(INTERVALS[0] / 60):
        silence, now = time.monotonic() - _last_sign, time.monotonic()
        for what in _names[-1:]:  # the innermost one
            said = times.setdefault(what, [])
            pause = INTERVALS[min(len(said), len(INTERVALS) - 1)]
            if silence >= INTERVALS[0] and (not said or now - said[-1] >= pause):
                said.append(now)
                print(f"loa: waiting for {what}, {duration(silence)} so far", file=sys.stderr, flush=True)


def _sign_of_life() -> None:
    global _last_sign
    _last_sign = time.monotonic()
