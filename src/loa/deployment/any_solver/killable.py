"""Runs of a solver in processes that can be killed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, NamedTuple

from . import solver_process
from .external import External, Referred

SCRIPT = Path(solver_process.__file__)

SOLVED, FAILED, TIMED_OUT = "solved", "failed", "timed out"


class Run(NamedTuple):
    """One run of a solver.

    Fields:
        outcome: "solved", "failed" or "timed out".
        seconds: of wall-clock time.
        cpu_seconds: of processors; if the run was killed, without those of programs that it had started.
        reported: the numbers that the solver has reported, by name.
        error: why it failed.
        output: the end of what it has printed.
    """

    outcome: str
    seconds: float
    cpu_seconds: float
    reported: Mapping[str, float]
    error: str = ""
    output: str = ""


class Killable:
    """A process that runs a solver, each run in a child of its own; a context manager."""

    running: ClassVar[set[Killable]] = set()
    """Those that other threads of this process may be waiting for."""

    given_up: ClassVar[weakref.WeakSet[Referred]] = weakref.WeakSet()
    """Solvers sent to threads that nobody waits for any more."""

    def __init__(self, solver: External | Referred):
        if not hasattr(os, "fork"):
            raise OSError("solvers are measured in processes that are forked, which this system does not have.")
        self.solver = solver

    def __enter__(self) -> Killable:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([sys.executable, str(SCRIPT)], **pipes)  # pyright: ignore
        self.running.add(self)
        if isinstance(self.solver, Referred) and self.solver in self.given_up:
            self.process.terminate()
        first = {"path": [os.getcwd(), *filter(None, sys.path)], "function": self.solver.reference()}
        try:
            error = self._asked(first)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        if error is not None:
            self.__exit__(None, None, None)
            raise ValueError(f"{self.solver.name} cannot be loaded in a process of its own ({error}).")
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.running.discard(self)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()  # then the process kills the child that is running, and ends
        self.process.wait()

    @classmethod
    def end_all(cls, solver: Referred) -> None:
        """End the processes of a solver that other threads wait for; what these are doing then fails."""
        cls.given_up.add(solver)
        for each in [each for each in cls.running if each.solver is solver]:
            each.process.terminate()  # the child that is running dies with it

    def run(self, instance: Any, timeout: float, memory: int | None = None, **parameters: Any) -> Run:
        """Solve an instance.

        Arguments:
            timeout: seconds after which the run is killed.
            memory: bytes that the run may use.
            parameters: for the solver.
        """
        found = self._asked({"instance": instance, "parameters": parameters, "timeout": timeout, "memory": memory})
        late = found["late"] or found["seconds"] > timeout
        failed = found["error"] is not None or found["reported"].pop("solved", True) is False
        outcome = TIMED_OUT if late else FAILED if failed else SOLVED
        return Run(
            outcome, found["seconds"], found["cpu_seconds"], found["reported"], found["error"] or "", found["output"]
        )

    def _asked(self, message: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        solver_process.write(self.process.stdin, message)  # pyright: ignore[reportArgumentType]
        try:
            return solver_process.read(self.process.stdout)  # pyright: ignore[reportArgumentType]
        except EOFError:
            raise RuntimeError(
                f"the process that runs {self.solver.name} has ended (code {self.process.wait()})."
            ) from None
