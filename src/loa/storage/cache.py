"""The user's cache: results that take long to compute, kept from one process to the next."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from ..messages.warning import warn
from .checkpoint import Checkpoint, UnusableCheckpoint


class Cache(NamedTuple):
    """Results in a directory that only the user can write to, each in a file with a checksum.

    >>> import numpy as np
    >>> cache = Cache(Path(tempfile.mkdtemp()) / "cache")
    >>> cache.save("0a1b", np.arange(3))
    >>> cache.load("0a1b", np.zeros(3, int))
    array([0, 1, 2])
    >>> cache.load("2c3d", np.zeros(3, int)) is None
    True
    """

    directory: Path

    def load(self, identity: str, form: Any) -> Any | None:
        """The result with this identity, in the shapes and types of `form`; None if it is absent or damaged."""
        checkpoint = self._file(identity)
        try:
            if others_can_write(checkpoint.path):
                warn(f"{checkpoint.path} can be written to by other users and was ignored.")
                return None
            return checkpoint.load(lambda note: form)[0]
        except (OSError, UnusableCheckpoint):
            return None

    def save(self, identity: str, result: Any) -> None:
        """Keep a result; if that is impossible, warn."""
        checkpoint = self._file(identity)
        try:
            make_private(self.directory)
            checkpoint.save(result, {})
            checkpoint.path.chmod(0o600)
        except OSError as reason:
            warn(f"a result could not be kept in the cache: {reason}.")

    def _file(self, identity: str) -> Checkpoint:
        return Checkpoint(self.directory / f"{identity}.cached", identity)


def user_cache() -> Cache | None:
    """The cache in `cache_directory()`; None, with a warning, if other users could write to it."""
    directory = cache_directory()
    try:
        if others_can_write(directory):
            warn(f"the cache {directory} can be written to by other users and is not used: run chmod go-w on it.")
            return None
    except OSError:
        pass  # it does not exist yet
    return Cache(directory)


def cache_directory() -> Path:
    """The directory of the cache: $LOA_CACHE, else `loa` in $XDG_CACHE_HOME or in the user's `.cache`.

    Where the user has no home directory, it is `loa-` and the user's number in the directory for temporary files.
    """
    chosen = os.environ.get("LOA_CACHE")
    if chosen:
        return Path(chosen)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "loa"
    except RuntimeError:
        user = os.getuid() if hasattr(os, "getuid") else "user"
        directory = Path(tempfile.gettempdir()) / f"loa-{user}"
        warn(f"there is no home directory, so that the cache is in {directory}; set LOA_CACHE to choose another.")
        return directory


def make_private(directory: Path) -> None:
    """Make a directory, and those above it that do not exist, for this user alone, whatever the umask is."""
    for each in [*reversed(directory.parents), directory]:
        if not each.exists():
            each.mkdir(exist_ok=True, mode=0o700)


def others_can_write(path: Path) -> bool:
    """Whether a file or directory belongs to another user or can be written to by its group or by everybody."""
    if not hasattr(os, "geteuid"):
        return False
    status = path.stat()
    return status.st_uid != os.geteuid() or bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
