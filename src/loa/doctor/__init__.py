"""Whether loa works on this machine: one page about the installation, with a self-test."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

from . import self_test
from .surroundings import describe

PATIENCE = 300.0
"""Seconds after which the self-test is stopped: ten times what it takes."""


def examine(say: Callable[[str], object], patience: float = PATIENCE) -> bool:
    """Say what is installed and where, and run the self-test.

    Arguments:
        say: takes one line after the other.
        patience: seconds after which the self-test is stopped.

    Returns:
        Whether everything is in order.
    """
    for line in describe():
        say(line)
    say("")
    say("self-test (about half a minute)")
    outcome = _tested(say, patience)
    say("")
    say(outcome or "Everything is in order.")
    return not outcome


def _tested(say: Callable[[str], object], patience: float) -> str:
    """What is wrong, in a sentence. The tests run in a process of their own, which can be killed if they hang."""
    command = [sys.executable, "-W", "ignore", "-m", self_test.__name__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        stopped = threading.Event()
        alarm = threading.Timer(patience, lambda: (stopped.set(), process.kill()))
        alarm.start()
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            failed = 0
            for line in process.stdout:
                failed += "FAILED" in line
                say(f"  {line.rstrip()}")
            errors = process.stderr.read()
        except BaseException:
            process.kill()
            raise
        finally:
            alarm.cancel()
    if stopped.is_set():
        return f"The self-test did not end within {patience:g} seconds and was stopped."
    if process.returncode != 0 and not failed:
        return f"The self-test ended with code {process.returncode}: {' '.join(errors.split())[-300:]}"
    return f"{failed} of the tests failed: please report it, with this page." if failed else ""
