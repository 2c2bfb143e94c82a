"""Claims: of several processes that want to write to the same place, exactly one may."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from .files import lock


class ClaimedError(ValueError):
    """Another process is writing to this place."""


@contextlib.contextmanager
def claimed(path: Path, place: Path) -> Iterator[None]:
    """Claim a place while the block runs, by a lock on the file `path`; a second claim raises `ClaimedError`.

    The system releases the lock when a process ends, however it ends, so a killed process leaves no claim behind. The
    file is removed at the end of the block. (Windows has no such locks, so nothing is claimed there.)

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with claimed(folder / ".lock", folder):
    ...     (folder / ".lock").exists()
    True
    >>> (folder / ".lock").exists()
    False
    """
    handle = _locked(path, place)
    try:
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        os.close(handle)


def _locked(path: Path, place: Path) -> int:
    """A handle of the file, which this process has locked."""
    while True:
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        if os.name == "posix" and not lock(handle):
            owner = os.read(handle, 20).decode(errors="replace").strip()
            os.close(handle)
            process = f"process {owner}" if owner.isdigit() else "another process"
            raise ClaimedError(f"{process} is writing to {place}: wait until it ends, or choose another --out.")
        if os.name != "posix" or _is_at(handle, path):
            return handle
        os.close(handle)  # its owner has removed it since


def _is_at(handle: int, path: Path) -> bool:
    """Whether the open file is the one that the path leads to."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
