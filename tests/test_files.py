"""Files are written completely or not at all."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from loa.storage.cache import cache_directory
from loa.storage.files import PARTIAL, write_json, write_whole


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path):
    path = tmp_path / "numbers.json"
    write_json(path, {"a": 1})

    def fail(temporary):
        temporary.write_text("half")
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        write_whole(path, fail)
    assert path.read_text() == '{\n  "a": 1\n}\n'
    assert list(tmp_path.iterdir()) == [path]


def test_json_is_strict(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "numbers.json", {"a": float("nan")})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664), (0o000, 0o666)])
def test_files_have_the_permissions_that_the_umask_gives(umask, mode, tmp_path):
    path = tmp_path / "numbers.json"
    path.touch(mode=0o400)
    before = os.umask(umask)
    try:
        write_json(path, {"a": 1})
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == mode


def test_an_interrupt_leaves_nothing(tmp_path):
    def interrupt(temporary):
        temporary.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "numbers.json", interrupt)
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from loa.storage.files import write_whole

def write(temporary):
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)

write_whole(Path(sys.argv[1]), write)
"""


def test_what_a_kill_leaves_is_removed_by_the_next_write(tmp_path):
    path, other = tmp_path / "numbers [1].json", tmp_path / "other.json"
    for target in (path, path, other):  # the second kill comes after the rest of the first was removed
        assert subprocess.run([sys.executable, "-c", KILLED, str(target)]).returncode == -signal.SIGKILL
    assert sum(PARTIAL in file.name for file in tmp_path.iterdir()) == 2
    assert not path.exists()
    write_json(path, {"a": 1})
    assert sorted(file.name.partition(PARTIAL)[0] for file in tmp_path.iterdir()) == [".other.json", path.name]


def test_what_another_process_is_writing_is_left_alone(tmp_path):
    path = tmp_path / "numbers.json"

    def write(temporary):
        write_json(path, {"a": 1})
        temporary.write_text("second")

    write_whole(path, write)
    assert path.read_text() == "second"
    assert list(tmp_path.iterdir()) == [path]


def test_files_and_their_directory_are_synced(tmp_path, monkeypatch):
    """In this order: the content, the replacement, the directory."""
    path, done = tmp_path / "numbers.json", []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: done.append(os.fstat(handle).st_ino) or sync(handle))
    monkeypatch.setattr(os, "replace", lambda *names: done.append("replace") or replace(*names))
    write_json(path, {"a": 1})
    assert done == [path.stat().st_ino, "replace", tmp_path.stat().st_ino]


def test_names_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("a" * 250 + ".json")
    write_json(path, {"a": 1})
    assert list(tmp_path.iterdir()) == [path]


def test_without_a_home_the_cache_is_a_temporary_directory(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("LOA_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.warns(UserWarning, match="there is no home directory"):
        assert cache_directory() == Path(tempfile.gettempdir()) / f"loa-{os.getuid()}"
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_directory() == Path("/somewhere/loa")
