"""Work in a folder that several processes can see, on one machine or on many: tasks and results are files there."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import pickle
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any

from ..storage.files import lock, write_json, write_whole
from .versions import difference, software

POLL = 0.05
"""Seconds between two looks into the folder."""

ATTEMPTS = 3
"""A task that has been begun this many times, and never ended, is given up."""

SOFTWARE, TASK, RESULT, BEGUN = "software.json", ".task", ".result", ".begun"


class DifferentSoftwareError(ValueError):
    """This process cannot help, because it has other versions than the one that asks for help."""


class SharedFolder(Executor):
    """An executor whose tasks are files in a folder, for all processes that `help_in` the same folder.

    It has the interface of `concurrent.futures`. The process that owns it computes tasks as well, one at a time, so
    nothing waits for help. Whoever computes a task holds a lock on its file, which the system releases when a process
    ends, however it ends: a task of a killed process is taken by another one.

    Arguments:
        folder: the folder, which is made for the first task, and removed in the end. One process at a time may own it.
        computes: whether this process computes tasks itself.

    >>> import tempfile
    >>> with SharedFolder(Path(tempfile.mkdtemp()) / "tasks") as executor:
    ...     executor.submit(pow, 2, 10).result()
    1024
    """

    def __init__(self, folder: Path, computes: bool = True):
        if os.name != "posix":
            raise ValueError("sharing work in a folder needs locks on files, which Windows does not have.")
        self.folder, self.computes = folder, computes
        self._own, self._numbers = secrets.token_hex(4), itertools.count()
        self._futures: dict[str, Future[Any]] = {}
        self._begun, self._closed = False, threading.Event()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Compute `fn(*args, **kwargs)` in one of the processes."""
        if self._closed.is_set():
            raise RuntimeError("the executor has been shut down.")
        if not self._begun:
            self._begin()
        content, future = pickle.dumps((fn, args, kwargs)), Future()
        path = self.folder / f"{next(self._numbers):08}-{self._own}{TASK}"
        self._futures[path.stem] = future
        write_whole(path, lambda temporary: temporary.write_bytes(content))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Remove the folder; tasks that are waiting are computed first, unless `cancel_futures` is set."""
        while wait and not cancel_futures and self._futures and not self._closed.is_set():
            time.sleep(POLL)
        self._closed.set()
        if self._begun:
            shutil.rmtree(self.folder, ignore_errors=True)
        for future in list(self._futures.values()):
            future.cancel()

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.shutdown(cancel_futures=exc_type is not None)

    def _begin(self) -> None:
        """Make the folder, without what another owner may have left there."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        write_json(self.folder / SOFTWARE, software())
        self._begun = True
        for work in (self._receive, *([self._compute] if self.computes else [])):
            threading.Thread(target=work, daemon=True).start()

    def _compute(self) -> None:
        help_in(self.folder, self._closed.is_set, same_software=True)

    def _receive(self) -> None:
        """Hand over results as they come; if that fails, the tasks have failed, so that nobody waits for ever."""
        try:
            while not self._closed.is_set():
                for path in _sorted(self.folder, RESULT):
                    self._take(path)
                time.sleep(POLL)
        except OSError as error:
            if not self._closed.is_set():
                self._closed.set()
                for future in list(self._futures.values()):
                    future.set_exception(BrokenExecutor(f"the folder {self.folder} cannot be read: {error}"))

    def _take(self, path: Path) -> None:
        content, future = path.read_bytes(), self._futures.pop(path.stem, None)
        for each in (path.with_suffix(TASK), path, path.with_suffix(BEGUN)):
            each.unlink(missing_ok=True)
        _settle(future, content)


def help_in(folder: Path, ended: Callable[[], bool], same_software: bool = False) -> int:
    """Compute tasks in a folder until there is no more to do.

    Arguments:
        folder: of a `SharedFolder` that another process owns; it may come and go.
        ended: says that no more tasks will come.
        same_software: whether it is known that the owner of the folder has the versions of this process.

    Returns:
        The number of tasks that this process has computed.
    """
    computed = 0
    while not ended():
        with _taken(folder) as path:
            if path is not None:
                if not same_software:
                    _check_software(folder)
                _answer(path)
                computed += 1
        if path is None:
            time.sleep(POLL)
    return computed


def _check_software(folder: Path) -> None:
    with contextlib.suppress(OSError, json.JSONDecodeError):
        different = difference(json.loads((folder / SOFTWARE).read_text()))
        if different is not None:
            raise DifferentSoftwareError(
                f"this call has {different}: install the same versions everywhere, so that all numbers agree."
            )


@contextlib.contextmanager
def _taken(folder: Path) -> Iterator[Path | None]:
    """A task that nobody else computes, locked in the meantime; None if there is none."""
    for path in _sorted(folder, TASK):
        try:
            handle = os.open(path, os.O_RDWR)
        except OSError:
            continue  # somebody else has just ended it
        try:
            if lock(handle) and path.exists() and not path.with_suffix(RESULT).exists():
                yield path
                return
        finally:
            os.close(handle)
    yield None


def _answer(path: Path) -> None:
    """Compute a task and write its result, or why there is none."""
    try:
        with path.with_suffix(BEGUN).open("ab") as file:
            file.write(b".")
            begun = file.tell()
        content = path.read_bytes()
    except OSError:
        return  # the owner of the folder has gone
    if begun > ATTEMPTS:
        answer: Any = None, BrokenExecutor(f"{ATTEMPTS} processes that computed it died, killed or out of memory.")
    else:
        answer = _computed(content)
    try:
        found = pickle.dumps(answer)
    except Exception as error:
        found = pickle.dumps((None, RuntimeError(f"what was computed cannot be sent back: {error}")))
    with contextlib.suppress(OSError):
        write_whole(path.with_suffix(RESULT), lambda temporary: temporary.write_bytes(found))


def _computed(content: bytes) -> Any:
    try:
        fn, args, kwargs = pickle.loads(content)
        return fn(*args, **kwargs), None
    except Exception as error:
        return None, error


def _settle(future: Future[Any] | None, content: bytes) -> None:
    if future is None or not future.set_running_or_notify_cancel():
        return
    try:
        value, error = pickle.loads(content)
    except Exception as problem:
        value, error = None, RuntimeError(f"what was computed cannot be read: {problem}")
    future.set_exception(error) if error is not None else future.set_result(value)


def _sorted(folder: Path, suffix: str) -> list[Path]:
    """The files with this suffix, first come first; none if the folder is not there."""
    with contextlib.suppress(OSError):
        return sorted(path for path in folder.iterdir() if path.suffix == suffix and not path.name.startswith("."))
    return []
