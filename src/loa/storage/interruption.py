"""Signals end a command within two seconds, with a sentence, even while compiled code runs.

Python handles a signal in the main thread, between two instructions: not before a compiled step returns, which can take
minutes. But Python writes a signal to a socket as soon as it arrives, and a thread that reads from there ends the
process if the main thread does not do so in time. The files of a run are complete at any time, so the run can be
resumed.

A process that was told to end leaves without the usual tidying up: XLA waits there for programs that still run, or
crashes.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, NoReturn

PATIENCE = 1.0
"""Seconds that the main thread has to end after the first signal."""

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

_arrived: list[int] = []
"""The signals that have arrived."""


def end_on_signals(sentence: str) -> None:
    """From now on, end the process on SIGINT, SIGTERM or SIGHUP: by a KeyboardInterrupt, or else with a sentence.

    A signal that is ignored when the process starts, as SIGHUP is under `nohup`, stays ignored. Only the main thread
    can ask for this; in any other thread nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    for number in heard:
        signal.signal(number, partial(_interrupt, sentence))
    threading.Thread(target=_watch, args=(reader, writer, frozenset(heard), sentence), daemon=True).start()
    atexit.register(leave_if_told, sentence)  # where somebody else has caught the interrupt and said nothing
    sys.unraisablehook = partial(_lost, sentence, sys.unraisablehook)


def leave_if_told(sentence: str) -> None:
    """Say a sentence and end the process immediately, with the code of the signal; do nothing if there was none."""
    if _arrived:
        _leave(_arrived[0], sentence)


def _lost(sentence: str, hook: Callable[[Any], Any], lost: Any) -> None:
    """Where nobody can catch the interrupt, as in a garbage collection, it would be printed and forgotten."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        leave_if_told(sentence)
    hook(lost)


def _interrupt(sentence: str, number: int, frame: FrameType | None) -> NoReturn:
    _arrived.append(number)
    if _imports(frame):  # half of a module would be left behind, on which others then fail or crash
        _leave(number, sentence)
    raise KeyboardInterrupt


def _imports(frame: FrameType | None) -> bool:
    """Whether a module is being imported, which code of Python's own does."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _watch(reader: socket.socket, writer: socket.socket, heard: frozenset[int], sentence: str) -> None:
    """Wait for a signal, then for the main thread; `writer` is only held open."""
    while True:
        number = reader.recv(1)[0]
        if number in heard:
            time.sleep(PATIENCE)
            # A main thread that has ended has said so itself, and only waits for other threads.
            _leave(number, sentence if threading.main_thread().is_alive() else "")


def _leave(number: int, sentence: str) -> NoReturn:
    try:
        sys.stdout.flush()
        if sentence:
            print(f"loa: {sentence}", file=sys.stderr, flush=True)
    except (OSError, ValueError):  # the terminal or the reader of a pipe is gone
        pass
    os._exit(128 + number)
