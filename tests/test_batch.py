"""Runs by several calls that share a directory: work in a folder, another call where one is killed, bad arguments."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, wait
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from loa.parallel import shared_folder
from loa.parallel.shared_folder import DifferentSoftwareError, SharedFolder, help_in
from loa.run.batch import Execution, in_batch

CODE = """
import sys
from pathlib import Path
from loa.parallel.shared_folder import help_in
sys.path.append(sys.argv[2])
help_in(Path(sys.argv[1]), lambda: False)
"""


def helper(folder):
    """Another process that computes what is in the folder."""
    return subprocess.Popen([sys.executable, "-c", CODE, str(folder), str(Path(__file__).parent)])


def marked(folder, number):
    """A task that says who computes it, and takes some time."""
    Path(folder, f"{os.getpid()}-{number}").touch()
    time.sleep(0.2)
    return number**2


def dying():
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_of_a_killed_process_is_computed_by_another(tmp_path):
    folder, marks = tmp_path / "tasks", tmp_path / "marks"
    marks.mkdir()
    first = helper(folder)
    with SharedFolder(folder, computes=False) as executor:
        futures = [executor.submit(marked, str(marks), number) for number in range(6)]
        while not any(marks.iterdir()):
            assert first.poll() is None, "the other process has ended by itself"
            assert not futures[0].done(), futures[0].result()
            time.sleep(0.01)
        first.kill()
        assert not all(each.done() for each in futures)
        help_in(folder, lambda: all(each.done() for each in futures))
        assert [each.result() for each in futures] == [0, 1, 4, 9, 16, 25]
    first.wait()
    owners = {path.name.split("-")[0] for path in marks.iterdir()}
    assert owners == {str(first.pid), str(os.getpid())}
    assert not folder.exists()


def test_a_task_that_kills_everybody_is_given_up_and_errors_are_handed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_folder, "ATTEMPTS", 1)
    with SharedFolder(tmp_path / "tasks", computes=False) as executor:
        bad, wrong, good = executor.submit(dying), executor.submit(divmod, 1, 0), executor.submit(pow, 2, 5)
        other = helper(tmp_path / "tasks")
        assert other.wait() == -signal.SIGKILL
        help_in(tmp_path / "tasks", lambda: not wait([bad, wrong, good], timeout=0).not_done)
        with pytest.raises(BrokenExecutor, match="processes that computed it died"):
            bad.result()
        with pytest.raises(ZeroDivisionError):
            wrong.result()
        assert good.result() == 32


def test_who_has_other_versions_does_not_help(tmp_path, monkeypatch):
    with SharedFolder(tmp_path / "tasks", computes=False) as executor:
        executor.submit(pow, 2, 5)
        monkeypatch.setattr(shared_folder, "difference", lambda expected: "jax 0.1 instead of 0.2")
        with pytest.raises(DifferentSoftwareError, match=r"this call has jax 0\.1 instead of 0\.2: install the same"):
            help_in(tmp_path / "tasks", lambda: False)
        executor.shutdown(cancel_futures=True)


def test_a_call_that_comes_later_takes_part_and_ends_with_the_run(tmp_path):
    console = Console(quiet=True)
    (tmp_path / "summary.json").write_text("{}")
    assert in_batch((2, 2), tmp_path, dict, lambda executor: pytest.fail("it leads"), console) is None
    (tmp_path / "summary.json").unlink()
    lead = lambda executor: [executor.submit(pow, 3, k).result() for k in range(3)]  # noqa: E731
    assert in_batch((1, 2), tmp_path, dict, lead, console) == [1, 3, 9]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(batch="3/2", collect=False, overwrite=False, executor=None), "1 ≤ i ≤ n"),
        (dict(batch="all", collect=False, overwrite=False, executor=None), "such as 2/8"),
        (dict(batch="1/2", collect=True, overwrite=False, executor=None), "--batch and --collect exclude"),
        (dict(batch="1/2", collect=False, overwrite=True, executor=None), "--batch and --overwrite exclude"),
        (dict(batch="1/2", collect=False, overwrite=False, executor=1), "--jobs or --parallel-config exclude"),
        (dict(batch=None, collect=True, overwrite=True, executor=None), "give one of them"),
    ],
)
def test_options_that_make_no_sense_together(arguments, words):
    with pytest.raises(ValueError, match=words):
        Execution.of(**arguments, resume=False)


def test_there_must_be_something_to_collect(tmp_path):
    carry = partial(pytest.fail, "it runs")
    with pytest.raises(ValueError, match="holds no run that --collect could finish"):
        Execution(collect=True).carried_out(carry, None, tmp_path, Console(quiet=True))


FILE = """
import time
def solve(instance, pause=0.01):
    time.sleep(0.01 * instance["work"] + pause)
instances = [{"work": (7 * k % 13) / 13, "k": k} for k in range(60)]
timeout = 1.0
"""


@pytest.mark.slow
def test_three_calls_finish_a_run_although_the_one_that_leads_is_killed(tmp_path):
    (tmp_path / "tiny.py").write_text(FILE)
    command = [sys.executable, "-m", "loa", "run", "tiny.py", "--out", "out", "--batch"]
    calls = [subprocess.Popen([*command, f"{k}/3"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) for k in (1, 2, 3)]
    lock = tmp_path / "out" / ".loa-run.lock"
    while not (tmp_path / "out" / ".loa-tasks").exists():
        time.sleep(0.02)
    leader = int(lock.read_text())
    os.kill(leader, signal.SIGKILL)
    told = [call.communicate()[0] for call in calls]
    assert sorted(call.returncode for call in calls) == [-signal.SIGKILL, 0, 0]
    assert sum("Wrote report.html" in text for text in told) == 1
    assert sum("parts; the run in out is complete" in text for text in told) == 1
    assert (tmp_path / "out" / "certificates.json").exists()
    assert not (tmp_path / "out" / ".loa-tasks").exists()
