"""How commands speak: one sentence when something goes wrong, and what was typed, to be typed again."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer


def typed_command() -> str:
    """What was typed, to be typed again."""
    words = [word for word in sys.argv[1:] if word not in ("--resume", "--overwrite")]
    return " ".join(["loa", *map(shlex.quote, words)])


@contextmanager
def one_sentence(traceback: bool = False, interrupted: str = "interrupted.") -> Iterator[None]:
    """Say in one sentence what went wrong in a command, unless the whole error is wanted; and what takes long.

    Arguments:
        traceback: whether the error is shown with its traceback instead.
        interrupted: what is said after Ctrl-C.
    """
    from ..messages.waiting import spoken

    try:
        with spoken():
            yield
    except typer.Exit:
        raise
    except KeyboardInterrupt:
        fail_interrupted(interrupted)
    except Exception as error:
        if traceback:
            raise
        from ..experiments.from_file.errors import sentence

        fail(sentence(error))


@contextmanager
def writing_to(place: Path) -> Iterator[None]:
    """Name the place, if the operating system does not let loa write to it."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:
            raise
        raise ValueError(f"could not write to {place}: {error.strerror}.") from error


def fail(sentence: str) -> NoReturn:
    typer.echo(f"loa: {sentence}", err=True)
    raise typer.Exit(1)


def fail_interrupted(sentence: str) -> NoReturn:
    """After a signal, end immediately; after a KeyboardInterrupt that has another cause, as after any failure."""
    from ..storage.interruption import leave_if_told

    leave_if_told(sentence)
    fail(sentence)
