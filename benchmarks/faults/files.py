"""Faults of single files: a kill in the middle of a write, a full disk, a bit that flips."""

from __future__ import annotations

import os
import random
import resource
import signal
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import loa
from loa.certificates import Certificate, Distribution
from loa.storage.cache import Cache
from loa.storage.checkpoint import Checkpoint, UnusableCheckpoint

from .counts import Count


def certificates() -> tuple[Certificate, Certificate]:
    """Two certificates whose files differ, of some kilobytes."""
    values = np.arange(200.0)
    return Distribution("x", cap=500.0).certify(values, 0.95), Distribution("y", cap=500.0).certify(values + 1, 0.95)


def kills_in_writes(times: int, generator: random.Random) -> Count:
    """Kill a process that writes one file again and again, each time after some milliseconds."""
    path, both, lost = Path(tempfile.mkdtemp()) / "certificate.json", certificates(), []
    both[0].save(path)
    for number in range(times):
        child = _forked(lambda: _write_forever(path, both))
        time.sleep(generator.uniform(0.001, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        try:
            if Certificate.load(path) not in both:
                lost.append(f"kill {number}: another content")
        except Exception as error:
            lost.append(f"kill {number}: {error}")
    both[0].save(path)
    lost += [f"left behind: {each.name}" for each in path.parent.iterdir() if each != path]
    return Count(
        "SIGKILL in the middle of a write",
        "the old or the new file is whole, nothing is left behind",
        times,
        tuple(lost),
    )


def full_disks(times: int, generator: random.Random) -> Count:
    """Let a write fail after a random number of bytes, as on a full disk."""
    path, (old, new), lost = Path(tempfile.mkdtemp()) / "certificate.json", certificates(), []
    old.save(path)
    size = path.stat().st_size
    for number in range(times):
        limit = generator.randrange(size)
        child = _forked(lambda limit=limit: _write_with_limit(path, new, limit))
        refused = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        if not refused or Certificate.load(path) != old or len(list(path.parent.iterdir())) > 1:
            lost.append(f"disk {number}, full after {limit} of {size} bytes")
    return Count(
        "disk full after a random byte", "an OSError, the old file is whole, nothing is left behind", times, tuple(lost)
    )


def flipped_bits(times: int, generator: random.Random) -> list[Count]:
    """Flip one random bit of each kind of file, and read it."""
    folder = Path(tempfile.mkdtemp())
    algorithm, certificate = loa.HeavyBall(0.1, 0.9), certificates()[0]
    arrays, form = np.arange(50.0), np.zeros(50)
    checkpoint, cache = Checkpoint(folder / "x.checkpoint", "identity"), Cache(folder / "cache")
    loa.save(folder / "algorithm", algorithm, {"seed": 3})
    certificate.save(folder / "certificate")
    checkpoint.save(arrays, {"step": 1})
    cache.save("identity", arrays)
    reads: dict[str, tuple[Path, Callable[[], Any], Callable[[Any], bool]]] = {
        "saved algorithm": (
            folder / "algorithm",
            lambda: loa.load(folder / "algorithm"),
            lambda found: str(found) == str(algorithm),
        ),
        "certificate": (
            folder / "certificate",
            lambda: Certificate.load(folder / "certificate"),
            lambda found: found == certificate,
        ),
        "checkpoint": (
            checkpoint.path,
            lambda: checkpoint.load(lambda note: form),
            lambda found: _same(found[0], arrays),
        ),
        "cache": (
            folder / "cache" / "identity.cached",
            lambda: cache.load("identity", form),
            lambda found: found is None or _same(found, arrays),
        ),
    }
    return [_flips(name, times, generator, *parts) for name, parts in reads.items()]


def _flips(name: str, times: int, generator: random.Random, path: Path, read: Any, right: Any) -> Count:
    whole, lost = path.read_bytes(), []
    for _ in range(times):
        bit = generator.randrange(8 * len(whole))
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if not right(read()):
                    lost.append(f"{name}, bit {bit}: another content")
        except (ValueError, UnusableCheckpoint):
            pass
        except Exception as error:
            lost.append(f"{name}, bit {bit}: {type(error).__name__}: {error}")
    path.write_bytes(whole)
    return Count(f"a bit of a {name} flips", "refused with an error message, or the same content", times, tuple(lost))


def _same(one: Any, other: Any) -> bool:
    return np.array_equal(np.asarray(one), np.asarray(other))


def _forked(work: Callable[[], int | None]) -> int:
    """The id of a child process that does this work, which must not use JAX, and ends."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX warns of forks
        child = os.fork()
    if child == 0:
        code = 1
        try:
            code = work() or 0
        finally:
            os._exit(code)
    return child


def _write_forever(path: Path, both: tuple[Certificate, Certificate]) -> None:
    while True:
        for each in both:
            each.save(path)


def _write_with_limit(path: Path, certificate: Certificate, limit: int) -> int:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        certificate.save(path)
    except OSError:
        return 3
    return 0
