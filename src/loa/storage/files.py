"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # on Windows, where temporary files that a kill leaves behind are not removed
    fcntl = None

PARTIAL = ".partial-"
"""Part of the name of every temporary file."""


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file so that its path holds either the old content or all of the new one, even after a power failure.

    `write` fills a temporary file beside `path`, which then replaces `path`. The file has the permissions that the
    user's umask gives. An exception leaves nothing behind; a temporary file left by a killed process is removed by the
    next call for the same path.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "greeting.txt"
    >>> write_whole(path, lambda temporary: temporary.write_text("hello"))
    >>> path.read_text(), len(list(path.parent.iterdir()))
    ('hello', 1)
    """
    _remove_leftovers(path)
    with _temporary_beside(path) as temporary:
        write(temporary)
        _sync(temporary)
        os.replace(temporary, path)
    if os.name == "posix":
        with contextlib.suppress(OSError):  # some file systems cannot sync a directory
            _sync(path.parent)


def write_json(path: Path, content: Any) -> None:
    """Write JSON that any reader accepts; a number that is not finite is refused."""
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    write_whole(path, lambda temporary: temporary.write_text(text))


@contextlib.contextmanager
def _temporary_beside(path: Path) -> Iterator[Path]:
    """A new file beside `path` with the same suffix, locked while it is in use and removed afterwards.

    The lock distinguishes it from what a killed process left: the system releases locks when a process ends.
    """
    temporary = path.parent / f"{_stem(path)}{secrets.token_hex(4)}{path.suffix}"
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
    try:
        lock(handle)
        yield temporary
    finally:
        os.close(handle)
        temporary.unlink(missing_ok=True)


def _remove_leftovers(path: Path) -> None:
    """Remove the temporary files for this path that no process has locked."""
    start = _stem(path)
    with os.scandir(path.parent) as entries:
        candidates = [Path(entry.path) for entry in entries if entry.name.startswith(start)]
    for candidate in candidates:
        with contextlib.suppress(OSError):
            handle = os.open(candidate, os.O_RDWR)
            try:
                if lock(handle):
                    candidate.unlink()
            finally:
                os.close(handle)


def _stem(path: Path) -> str:
    """How the names of temporary files for this path begin; shortened, because file systems limit names."""
    return f".{path.name[:40]}{PARTIAL}"


def lock(handle: int) -> bool:
    """Lock an open file unless another process has; whether that succeeded."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sync(path: Path) -> None:
    """Return when the content of a file or directory has reached the disk."""
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
