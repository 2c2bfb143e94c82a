"""A bench: runs of a solver on instances, each made once; what was measured is kept in a file as it comes."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from ...parallel.tasks import as_they_come
from ...storage.manifest import ForeignFileError
from ...storage.plain_json import decoded, encoded
from .external import External, Referred
from .killable import SOLVED, Killable, Run

BEGIN = '{"task": '
"""How every line of a record begins."""

CHUNKS = 32
"""Into at most this many parts runs are divided among the workers of an executor."""


class Task(NamedTuple):
    """One run that is wanted.

    Fields:
        place: of the instance.
        parameters: of the solver, besides those that it has already.
        replicate: its number among the runs on this instance.
        timeout: seconds after which it is killed; the time limit of the bench if None.
    """

    place: int
    parameters: Mapping[str, Any] = {}
    replicate: int = 0
    timeout: float | None = None


class Bench:
    """Where a solver runs; a context manager.

    Arguments:
        solver: what runs.
        instances: what it runs on.
        timeout: the largest number of seconds of a run.
        memory: bytes that a run may use.
        executor: whose workers run; runs are made one after the other, in one process, by default.
        record: a file to which each run is appended when it ends. A run that is in it is not made again, so whoever
            asks for the same runs in the same order gets the same answers.
    """

    def __init__(
        self, solver: External, instances: Sequence[Any], *, timeout: float, memory: int | None = None,
        executor: Any = None, record: Path | None = None,
    ):  # fmt: skip
        self.solver, self.instances, self.timeout, self.memory = solver, instances, timeout, memory
        self.executor, self.record = executor, record
        self._known: dict[str, list[tuple[float, Run]]] = {}
        self._open = ExitStack()
        self._process: Killable | None = None

    def __enter__(self) -> Bench:
        if self.record is not None:
            self.record.parent.mkdir(parents=True, exist_ok=True)
            for line in _lines(self.record):
                self._read(line)
            self._file = self._open.enter_context(self.record.open("a"))
            self._file.write("\n")  # after a line that a killed process has not finished
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.close()

    def run(self, tasks: Sequence[Task], report: Callable[[int], None] = lambda done: None) -> list[Run]:
        """Make runs, or read them if they were made before.

        Arguments:
            tasks: the runs that are wanted.
            report: called with the number of runs that are there.
        """
        found = {number: run for number, task in enumerate(tasks) if (run := self._recorded(task)) is not None}
        missing = [number for number in range(len(tasks)) if number not in found]
        report(len(found))
        made = self._here(tasks, missing) if self.executor is None else self._elsewhere(tasks, missing)
        for number, run in made:
            found[number] = run
            self._keep(tasks[number], run)
            report(len(found))
        return [found[number] for number in range(len(tasks))]

    def _here(self, tasks: Sequence[Task], numbers: Sequence[int]) -> Any:
        if numbers and self._process is None:
            self._process = self._open.enter_context(Killable(self.solver))
        for number in numbers:
            assert self._process is not None
            yield number, one_run(self._process, self._work(tasks[number]))

    def _elsewhere(self, tasks: Sequence[Task], numbers: Sequence[int]) -> Any:
        """The same runs on the workers of the executor, in chunks."""
        if not numbers:
            return
        chunks = np.array_split(np.asarray(numbers), min(CHUNKS, len(numbers)))
        sent = Referred(self.solver.name, self.solver.reference())
        work = (
            (number, (sent, self.solver.fingerprint, os.getpid(), [self._work(tasks[each]) for each in chunk]))
            for number, chunk in enumerate(chunks)
        )

        def described(number: int) -> str:
            first, last = (tasks[chunks[number][end]] for end in (0, -1))
            solver = self.solver.at(**first.parameters)
            if first.place == last.place:
                return f"{solver.words} on instance {first.place}"
            return f"{solver.words} on instances {first.place} to {last.place}"

        try:
            for number, runs in as_they_come(self.executor, several_runs, work, described):
                yield from zip(map(int, chunks[number]), runs, strict=True)
        except BaseException:
            Killable.end_all(sent)  # threads of this process need not wait for the time limit
            raise

    def _work(self, task: Task) -> Work:
        seed = {"seed": task.replicate} if self.solver.takes_seed else {}
        parameters = {**seed, **self.solver.parameters, **task.parameters}
        return Work(self.instances[task.place], parameters, self._limit(task), self.memory)

    def _limit(self, task: Task) -> float:
        return self.timeout if task.timeout is None else min(task.timeout, self.timeout)

    def _name(self, task: Task) -> str:
        return json.dumps([task.place, task.replicate, {**self.solver.parameters, **task.parameters}], sort_keys=True,
                          default=str)  # fmt: skip

    def _recorded(self, task: Task) -> Run | None:
        """A run that was made with the same limit, or the first that ended before it."""
        limit, known = self._limit(task), self._known.get(self._name(task), ())
        same = (run for made_with, run in known if made_with == limit)
        return next(same, next((run for _, run in known if run.outcome == SOLVED and run.seconds <= limit), None))

    def _keep(self, task: Task, run: Run) -> None:
        self._known.setdefault(self._name(task), []).append((self._limit(task), run))
        if self.record is not None:
            line = {"task": self._name(task), "limit": self._limit(task), "run": encoded(run._asdict())}
            self._file.write(json.dumps(line | {"checksum": _checksum(line)}) + "\n")
            self._file.flush()

    def _read(self, line: str) -> None:
        try:
            content = json.loads(line)
            if content.pop("checksum") != _checksum(content):
                return  # damaged or edited: the run is made again
            run = Run(**decoded(content["run"]))
            self._known.setdefault(content["task"], []).append((float(content["limit"]), run))
        except (ValueError, KeyError, TypeError, AttributeError):
            return  # a process was killed while it wrote this line


def _lines(record: Path) -> list[str]:
    """The lines of a record; a file of others is refused, because lines would be added to it."""
    if not record.exists():
        return []
    if not record.is_file():
        raise ValueError(f"the record {record} must be a file, and is none.")
    lines = record.read_text(errors="replace").splitlines()
    if any(line and not line.startswith(BEGIN[: len(line)]) for line in lines[:2]):
        raise ForeignFileError(f"{record} holds no record of runs: choose another file, or move it away.")
    return lines


def _checksum(line: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(line, sort_keys=True).encode()).hexdigest()[:16]


class Work(NamedTuple):
    """What a process needs to know of a run."""

    instance: Any
    parameters: Mapping[str, Any]
    timeout: float
    memory: int | None


def one_run(process: Killable, work: Work) -> Run:
    """Run once; a run that ends at a limit counts as timed out."""
    return process.run(work.instance, work.timeout, work.memory, **work.parameters)


def several_runs(solver: Referred, name: str, sender: int, work: Sequence[Work]) -> list[Run]:
    """One run after the other, on a worker. A worker that is a process of its own keeps the solver loaded.

    Arguments:
        solver: what runs.
        name: by which the worker recognizes the solver when it comes again.
        sender: the process that asks for the runs.
        work: the runs.
    """
    if os.getpid() == sender:
        with Killable(solver) as process:
            return [one_run(process, each) for each in work]
    kept = getattr(_OF_THREAD, "kept", None)
    if kept is None or kept[0] != name:
        if kept is not None:
            kept[1].__exit__(None, None, None)
        kept = _OF_THREAD.kept = (name, Killable(solver).__enter__())
    return [one_run(kept[1], each) for each in work]


_OF_THREAD = threading.local()
"""The solver that a worker has loaded; its process ends with that of the worker."""


def cost_of(run: Run, name: str, cap: float) -> float:
    """What a run counts as: a number up to the cap, which is what runs that fail or time out count as.

    >>> cost_of(Run("solved", 2.0, 1.9, {"iterations": 7.0}), "iterations", 100.0)
    7.0
    >>> cost_of(Run("timed out", 2.0, 1.9, {}), "seconds", 10.0)
    10.0
    """
    if run.outcome != SOLVED:
        return cap
    value = {"seconds": run.seconds, "cpu_seconds": run.cpu_seconds, **run.reported}.get(name, float("nan"))
    return min(float(value), cap) if value == value else cap
