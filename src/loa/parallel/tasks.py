"""Tasks for an executor: sent a few at a time, received as they are done, and named if they fail."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import Any, NamedTuple

from ..messages.arguments import shown
from .versions import difference, software

OUTSTANDING = 256
"""At most this many tasks wait at an executor, so that not all of them have to be in memory."""

POLL = 0.05
"""Seconds between two looks at tasks that cannot say that they are done."""


class TaskError(RuntimeError):
    """A task has failed for good, or was refused by a worker."""


class Answer(NamedTuple):
    """What a worker sends back: a value, or why there is none."""

    value: Any = None
    refused: str | None = None
    failed: str | None = None


def check_executor(executor: Any) -> None:
    """Refuse what is no executor."""
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor must be one of concurrent.futures, or have its interface, got {shown(executor)}.")


def as_they_come(
    executor: Any, function: Callable[..., Any], tasks: Iterable[tuple[int, tuple[Any, ...]]],
    described: Callable[[int], str],
) -> Iterator[tuple[int, Any]]:  # fmt: skip
    """Compute `function(*arguments)` for all tasks on the workers of an executor.

    Arguments:
        executor: anything with a method `submit` that returns futures.
        function: of a module of loa, so that workers can import it.
        tasks: pairs of a number and arguments; they are read while the first ones are computed.
        described: what a task is, in words, for the sentence that says that it failed.

    Yields:
        Numbers and results, in the order in which they are done.
    """
    waiting, tasks, more = {}, iter(tasks), True
    try:
        while more or waiting:
            while more and len(waiting) < OUTSTANDING:
                task = next(tasks, None)
                more = task is not None
                if task is not None:
                    waiting[executor.submit(answered, software(), function, task[1])] = task[0]
            for future in _done(list(waiting)):
                number = waiting.pop(future)
                yield number, _value(future, lambda number=number: described(number))
    finally:
        for future in waiting:
            future.cancel()


def answered(expected: dict[str, str], function: Callable[..., Any], arguments: tuple[Any, ...]) -> Answer:
    """Compute a task on a worker, unless its software is not the expected one."""
    different = difference(expected)
    if different is not None:
        return Answer(refused=f"the worker {socket.gethostname()}, process {os.getpid()}, has {different}")
    try:
        return Answer(function(*arguments))
    except Exception as error:
        return Answer(failed=f"{type(error).__name__}: {' '.join(str(error).split())}")


def _done(futures: list[Any]) -> list[Any]:
    """Some futures that are done, waiting for the first of them."""
    if all(isinstance(future, Future) for future in futures):
        done = wait(futures, return_when=FIRST_COMPLETED).done
        return [future for future in futures if future in done]
    while True:  # such as jobs of submitit
        done = [future for future in futures if future.done()]
        if done:
            return done
        time.sleep(POLL)


def _value(future: Any, described: Callable[[], str]) -> Any:
    try:
        answer = future.result()
    except BrokenExecutor as error:
        raise TaskError(f"{described()} was given up: {error}") from error
    except ModuleNotFoundError as error:
        raise TaskError(f"a worker lacks {error.name}: install the same version of loa there.") from error
    except Exception as error:
        raise TaskError(f"{described()} failed ({type(error).__name__}: {error}).") from error
    if answer.refused is not None:
        raise TaskError(f"{answer.refused}: install the same versions everywhere, so that all numbers agree.")
    if answer.failed is not None:
        raise TaskError(f"{described()} failed on a worker: {answer.failed}")
    return answer.value
