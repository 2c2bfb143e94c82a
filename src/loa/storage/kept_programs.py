"""Compiled programs, kept from one process to the next.

Compiling takes half of the time of a short run. JAX can keep what it has compiled in a directory; loa chooses one that
is safe to share among processes and machines, and keeps it small.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import stat
import sys
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path

SWITCH = "LOA_KEEP_PROGRAMS"
"""The variable that switches this off in the command line, if it is 0."""

VERBOSITY, JAX_SAYS = "TF_CPP_MIN_LOG_LEVEL", "1"
"""What XLA prints, and what JAX makes of it where nobody else does, for the processes that are started as well."""

LIMIT = 500_000_000
"""Bytes that all kept programs may take together. `loa run lasso` keeps about a hundredth of that."""

ZSTANDARD = b"\x28\xb5\x2f\xfd"
"""How an entry begins that was compressed with Zstandard, which notices itself when part of it is missing."""


def keep_programs(directory: str | os.PathLike[str] | None = None) -> Path | None:
    """Keep compiled programs on disk, so that the next process loads them instead of compiling them again.

    The command line does so unless the environment variable `LOA_KEEP_PROGRAMS` is 0. Call it first in a script of
    yours, before `import jax`: XLA then does not print a warning about every program that it loads. Programs of other
    versions, of other kinds of processors and with other flags of XLA are kept apart, damaged ones are removed, and of
    more than 500 MB the ones that were not used for longest are deleted.

    Arguments:
        directory: where to keep them; `programs` in the cache of loa (`$LOA_CACHE`, else `~/.cache/loa`) by default.

    Returns:
        The directory that is used. None, with a warning, if it cannot be used because others can write to it or loa
        cannot; and None where the environment variable `JAX_COMPILATION_CACHE_DIR` has already chosen another.

    >>> import loa
    >>> loa.keep_programs() is None  # in these examples that variable is set
    True
    """
    if directory is not None and not isinstance(directory, str | os.PathLike):
        raise TypeError(f"directory must be a path, such as 'programs', got {directory!r:.80}.")
    if os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return None
    if "jax" not in sys.modules and os.environ.get(VERBOSITY, JAX_SAYS) == JAX_SAYS:
        os.environ[VERBOSITY] = "3"  # XLA reads it once, when JAX is imported: not before this line
    from ..messages.warning import warn
    from .cache import cache_directory, make_private, others_can_write

    root = Path(directory) if directory is not None else cache_directory() / "programs"
    place = root / _kind()
    try:
        make_private(place)
        if others_can_write(root) or others_can_write(place):
            warn(f"compiled programs are not kept: other users can write to {root}; run chmod -R go-w on it.")
            return None
        _remove_foreign(place)
        _remove_damaged(place)
        _remove_oldest(root, LIMIT)
    except OSError as reason:
        warn(f"compiled programs are not kept: {root}: {reason.strerror}.")
        return None
    _use(place)
    return place


def keep_unless_refused() -> Path | None:
    """Keep compiled programs, as the command line does unless the variable says no."""
    return None if os.environ.get(SWITCH) == "0" else keep_programs()


def _use(place: Path) -> None:
    import jax

    jax.config.update("jax_compilation_cache_dir", str(place))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # Another process may be writing an entry, or the disk may be full: JAX compiles, and there is nothing to do.
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache entry", UserWarning)


def _kind() -> str:
    """Names what a compiled program depends on beyond what JAX compares itself: the processor and Python."""
    parts = [platform.machine(), platform.system(), f"{sys.version_info[0]}.{sys.version_info[1]}", *_processor()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _processor() -> Iterator[str]:
    """What kind of processor this is, with its instructions where the system lists them."""
    try:
        with Path("/proc/cpuinfo").open() as lines:
            for line in lines:
                if line.startswith(("flags", "Features", "model name", "CPU part")):
                    yield " ".join(sorted(line.partition(":")[2].split()))
                if not line.strip():  # of one processor; the others are alike
                    return
    except OSError:  # not Linux
        yield platform.processor()


def _remove_foreign(place: Path) -> None:
    """Remove what others can have written to, because programs are run without further checks; then keep them out."""
    from .cache import others_can_write

    if stat.S_IMODE(place.stat().st_mode) & (stat.S_IXGRP | stat.S_IXOTH):
        for entry in place.glob("*-cache"):
            if others_can_write(entry):
                entry.unlink(missing_ok=True)
        place.chmod(0o700)


def _remove_damaged(place: Path) -> None:
    """Remove what a killed process left unfinished; otherwise it would never be replaced. Each entry is read once."""
    seen = place / "checked"
    since = seen.stat().st_mtime_ns if seen.exists() else 0
    new = [entry for entry in place.glob("*-cache") if entry.stat().st_mtime_ns >= since]
    seen.touch()
    for entry in new:
        content = entry.read_bytes()
        if not content.startswith(ZSTANDARD):
            try:
                zlib.decompress(content)
            except zlib.error:
                entry.unlink(missing_ok=True)


def _remove_oldest(root: Path, limit: int) -> None:
    """Delete the programs that were not used for longest, if all together are larger than the limit in bytes."""
    entries = []
    for path in root.glob("*/*-cache"):
        with contextlib.suppress(FileNotFoundError):  # another process deletes as well
            status = path.stat()
            entries.append((max(status.st_atime_ns, status.st_mtime_ns), status.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= limit:
            return
        path.unlink(missing_ok=True)
        total -= size
