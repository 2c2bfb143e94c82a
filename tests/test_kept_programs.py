"""Compiled programs are kept between processes, in a place that is safe and does not grow."""

import os
import subprocess
import sys
import zlib

import pytest

from loa.storage import kept_programs
from loa.storage.cache import make_private, others_can_write

SCRIPT = """
import sys, loa
place = loa.keep_programs(sys.argv[1])
import jax, jax.monitoring
found = []
jax.monitoring.register_event_listener(lambda event, **_: found.append(event.rsplit("/")[-1]))
jax.jit(lambda x: x * 3 + 1)(2.0).block_until_ready()
print(place.parent, found.count("cache_hits"), found.count("cache_misses"))
"""


def in_a_process(directory):
    ours = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    ours["TF_CPP_MIN_LOG_LEVEL"] = "1"  # as JAX sets it, for itself and for the processes that it starts
    done = subprocess.run([sys.executable, "-c", SCRIPT, directory], env=ours, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    place, hits, misses = done.stdout.split()
    assert place == str(directory)
    return int(hits), int(misses)


def test_second_process_loads_in_silence_and_damage_is_repaired(tmp_path):
    first = in_a_process(tmp_path)
    assert first[0] == 0
    assert first[1] > 0
    assert in_a_process(tmp_path) == (first[1], 0)
    for entry in tmp_path.glob("*/*-cache"):
        entry.write_bytes(entry.read_bytes()[:100])
    assert in_a_process(tmp_path) == first


def test_least_recently_used_programs_are_deleted(tmp_path):
    place = tmp_path / "kind"
    place.mkdir()
    for age in range(4):
        entry = place / f"{age}-cache"
        entry.write_bytes(zlib.compress(b"program"))
        os.utime(entry, (1000 - age, 1000 - age))
    size = entry.stat().st_size
    kept_programs._remove_oldest(tmp_path, 2 * size)
    assert sorted(path.name for path in place.iterdir()) == ["0-cache", "1-cache"]


def test_directory_of_others_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    tmp_path.chmod(0o777)
    with pytest.warns(UserWarning, match="other users can write"):
        assert kept_programs.keep_programs(tmp_path) is None


def test_one_variable_switches_it_off(monkeypatch):
    monkeypatch.setenv("LOA_KEEP_PROGRAMS", "0")
    monkeypatch.setattr(kept_programs, "keep_programs", lambda: pytest.fail("was asked to keep programs"))
    assert kept_programs.keep_unless_refused() is None


def test_a_program_that_others_can_have_written_to_is_not_run(tmp_path):
    place, own = tmp_path / "kind", zlib.compress(b"program")
    place.mkdir(mode=0o755)
    for name, mode in (("others-cache", 0o666), ("group-cache", 0o664), ("own-cache", 0o644)):
        (place / name).write_bytes(own)
        (place / name).chmod(mode)
    kept_programs._remove_foreign(place)
    assert [path.name for path in place.iterdir()] == ["own-cache"]
    assert place.stat().st_mode & 0o777 == 0o700
    (place / "later-cache").write_bytes(own)
    (place / "later-cache").chmod(0o664)  # as with the umask 002; nobody else gets there
    kept_programs._remove_foreign(place)
    assert (place / "later-cache").exists()


def test_the_cache_is_private_whatever_the_umask_is(tmp_path):
    before = os.umask(0o002)
    try:
        make_private(tmp_path / "cache" / "loa" / "programs" / "kind")
    finally:
        os.umask(before)
    assert not any(others_can_write(tmp_path / part) for part in ("cache", "cache/loa", "cache/loa/programs"))
