"""Processes on this machine that compute tasks; one that dies is replaced, and its task is given to the new one."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any

from ..problems.problem_class import whole_number

ATTEMPTS = 3
"""A task whose process has died this many times is given up."""


class Processes(Executor):
    """An executor with spawned processes on this machine, as `executor=` of `loa.evaluate` and others.

    It has the interface of `concurrent.futures`. Unlike its `ProcessPoolExecutor`, it never forks, survives the death
    of its workers, and ends them when it is interrupted. As with every executor that spawns processes, a script must
    start its work under `if __name__ == "__main__":`.

    Arguments:
        workers: the number of processes, at least 1.

    >>> with Processes(1) as executor:
    ...     executor.submit(pow, 2, 10).result()
    1024
    """

    def __init__(self, workers: int):
        self.workers = whole_number("workers", workers)
        self._threads = ThreadPoolExecutor(self.workers)
        self._own = threading.local()
        self._started: list[_Worker] = []
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Compute `fn(*args, **kwargs)` in one of the processes."""
        return self._threads.submit(self._computed, fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all processes; tasks that are waiting are computed first, unless `cancel_futures` is set."""
        if not wait or cancel_futures:
            self._closed = True
            self._end()
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        if wait:
            self._end()

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.shutdown(wait=True, cancel_futures=exc_type is not None)

    def _end(self) -> None:
        for worker in self._started:
            worker.kill()

    def _computed(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Give a task to the process of this thread, and to its successors should it die."""
        for _ in range(ATTEMPTS):
            if self._closed:
                break
            worker = getattr(self._own, "worker", None)
            if worker is None:
                worker = self._own.worker = _Worker()
                self._started.append(worker)
            try:
                found, error = worker.asked((fn, args, kwargs))
            except (EOFError, OSError):
                worker.kill()
                self._own.worker = None
                continue
            if error is not None:
                raise error
            return found
        raise BrokenExecutor(f"the process that computed it died {ATTEMPTS} times, killed or out of memory.")


class _Worker:
    """One process."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def asked(self, task: Any) -> Any:
        self.connection.send(task)
        return self.connection.recv()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        with contextlib.suppress(OSError):
            self.connection.close()


def _end_with_parent() -> None:
    """End this process as soon as the one that has started it is gone, even in the middle of a task."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _serve(connection: Any) -> None:
    """Compute tasks until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who has started the process ends it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            fn, args, kwargs = connection.recv()
        except EOFError:
            return
        try:
            answer = fn(*args, **kwargs), None
        except BaseException as error:
            answer = None, error
        try:
            connection.send(answer)
        except BrokenPipeError:
            return
        except Exception as error:
            connection.send((None, RuntimeError(f"what was computed cannot be sent back: {error}")))
