"""The directory of a run: one process at a time, and loa touches only what it wrote."""

import json
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console
from typer.testing import CliRunner

from loa import cli
from loa.run.directory import OccupiedError, RunDirectory
from loa.run.durations import Durations
from loa.storage.claim import ClaimedError, claimed
from loa.storage.manifest import MANIFEST, ForeignFileError, Manifest
from loa.storage.saved_algorithms import SUFFIX

FILES = ("summary.json", "report.html")


def begin(path, *, finish=False, resume=False, overwrite=False, identity=None):
    """A run of no time, which writes all its files if it comes to its end."""
    place = RunDirectory(path, Console(quiet=True))
    with place.opened(identity or {"seed": 0}, FILES, resume=resume, overwrite=overwrite):
        place.file("learn", ".checkpoint").write_text("ours")
        if finish:
            for name in FILES:
                (path / name).write_text("ours")
            place.finish()
    return place


def content(path):
    return {str(each.relative_to(path)): each.read_text() for each in path.rglob("*") if each.is_file()}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["report.html", "stages/mine.txt", "order.json", "plan.json", "summary.json"])
def test_files_of_others_are_refused_by_name_and_not_touched(tmp_path, name, overwrite):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("theirs")
    (tmp_path / "notes.txt").write_text("theirs")
    before = content(tmp_path)
    with pytest.raises(ForeignFileError, match=rf"{tmp_path / name.split('/')[0]} was not written by loa"):
        begin(tmp_path, overwrite=overwrite)
    assert content(tmp_path) == before


def test_other_files_are_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("theirs")
    begin(tmp_path, finish=True)
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "mine.txt").write_text("theirs, made when the run was over")
    with pytest.raises(ForeignFileError, match="stages was not written by loa"):
        begin(tmp_path, overwrite=True)
    (tmp_path / "stages").rename(tmp_path / "scenes")
    begin(tmp_path, finish=True, overwrite=True)
    assert content(tmp_path).keys() == {*FILES, MANIFEST, "ledger.jsonl", "notes.txt", "scenes/mine.txt"}


def test_overwriting_removes_what_an_earlier_run_has_written(tmp_path):
    begin(tmp_path)
    Manifest(tmp_path).announce(["pictures.nc"])
    (tmp_path / "pictures.nc").write_text("ours")
    (tmp_path / "pictures.txt").write_text("theirs")
    with pytest.raises(OccupiedError, match="holds an interrupted run; add --resume"):
        begin(tmp_path)
    begin(tmp_path, finish=True, overwrite=True)
    assert content(tmp_path).keys() == {*FILES, MANIFEST, "ledger.jsonl", "pictures.txt"}
    with pytest.raises(OccupiedError, match="already holds a run"):
        begin(tmp_path, resume=True)


def test_a_damaged_manifest_gives_loa_nothing(tmp_path):
    begin(tmp_path, finish=True)
    for damaged in ("no JSON", '{"files": 3}', "[]", '{"files": ["../elsewhere", "/etc", "..", ".", 3]}'):
        (tmp_path / MANIFEST).write_text(damaged)
        assert Manifest(tmp_path).names == set()
        with pytest.raises(ForeignFileError, match="were not written by loa"):
            begin(tmp_path, overwrite=True)


CLAIM = """
import sys, time
from pathlib import Path
from loa.storage.claim import ClaimedError, claimed

place = Path(sys.argv[1])
(place / f"ready {sys.argv[2]}").touch()
while not (place / "go").exists():
    pass
try:
    with claimed(place / ".lock", place):
        print("won", flush=True)
        time.sleep(600)
except ClaimedError as error:
    print(error, flush=True)
"""


def test_of_processes_that_start_together_one_wins_and_a_killed_one_leaves_no_claim(tmp_path):
    processes = [
        subprocess.Popen([sys.executable, "-c", CLAIM, tmp_path, str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    try:
        while len(list(tmp_path.glob("ready *"))) < 4:
            assert all(process.poll() is None for process in processes)
            time.sleep(0.05)
        (tmp_path / "go").touch()
        said = [process.stdout.readline().strip() for process in processes if process.stdout]
        (winner,) = [process for process, line in zip(processes, said, strict=True) if line == "won"]
        losers = [line for line in said if line != "won"]
        assert all(
            line.endswith(f"is writing to {tmp_path}: wait until it ends, or choose another --out.") for line in losers
        )
        with (
            pytest.raises(ClaimedError, match=f"process {winner.pid} is writing"),
            claimed(tmp_path / ".lock", tmp_path),
        ):
            pass
        winner.send_signal(signal.SIGKILL)
        winner.wait()
        assert (tmp_path / ".lock").exists()
        with claimed(tmp_path / ".lock", tmp_path):
            pass
        assert not (tmp_path / ".lock").exists()
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_a_run_claims_its_directory_and_releases_it(tmp_path):
    place = RunDirectory(tmp_path, Console(quiet=True))
    with place.opened({"seed": 0}, FILES, resume=False, overwrite=False):
        for options in ({}, {"resume": True}, {"overwrite": True}):
            with pytest.raises(ClaimedError, match=f"is writing to {tmp_path}"):
                begin(tmp_path, **options)
        assert (tmp_path / "order.json").exists()
    begin(tmp_path, resume=True)
    assert not list(tmp_path.glob("*.lock"))


def test_training_does_not_replace_a_file_unasked(tmp_path):
    path = tmp_path / f"lasso{SUFFIX}"
    path.write_text("theirs")
    refused = CliRunner().invoke(cli.app, ["train", "lasso", "--out", str(path)])
    assert refused.exit_code == 1
    assert f"{path} already exists; choose another --out, or add --overwrite to replace it." in refused.output
    assert path.read_text() == "theirs"


def test_seconds_add_up_over_restarts(tmp_path):
    path, kept = tmp_path / "seconds.json", tmp_path / "a.checkpoint"

    def durations():
        found = Durations(path, lambda: [kept])
        found.read()
        return found

    def interrupted():
        time.sleep(0.1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), durations().measured("learn"):
        interrupted()
    with durations().measured("learn"):
        time.sleep(0.1)
    assert 0.2 <= durations().finished["learn"] < 10

    running = durations().measured("prior")
    running.__enter__()  # and then the process is killed
    noted = json.loads(path.read_text())
    noted["running"][1] -= 100
    path.write_text(json.dumps(noted))
    kept.touch()
    with durations().measured("prior"):
        pass
    assert 99 < durations().finished["prior"] < 110
    assert durations().finished["learn"] < 10
