"""`loa run my_solver.py` and `loa.tune_solver`: any solver is tuned, compared with its defaults and certified."""

import itertools
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import loa
from loa.certificates import Certificate
from loa.cli import app
from loa.deployment.any_solver.bench import Bench
from loa.experiments.from_file.solver import is_solver_file
from loa.experiments.from_file.solver_instances import Pool, pool_in
from loa.parallel.config import executor_for, read_config
from loa.problems.role import Role
from loa.results.run_results import Results
from loa.storage.ledger import FILE, Ledger

ROLES = (Role.training, Role.validation, Role.held_out, Role.test)


def counted(instance, work=2.0, kind="slow"):
    """A number of iterations that depends on nothing but instance and parameters."""
    return {"iterations": round(100 * instance * (0.5 + abs(work - 0.7)) * (3 if kind == "slow" else 1))}


def sleeping(instance, seconds=0.02):
    time.sleep(seconds)


SPACE = {"work": (0.0, 4.0), "kind": ["slow", "fast"]}
INSTANCES = np.random.default_rng(0).uniform(1.0, 5.0, size=12)
OPTIONS = dict(timeout=20.0, minimize="iterations", cap=1e5, trials=25)


def true_mean(parameters):
    return np.mean([counted(each, **parameters)["iterations"] for each in INSTANCES])


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    return tmp_path_factory.mktemp("tuning") / "runs.jsonl"


@pytest.fixture(scope="module")
def tuned(record):
    return loa.tune_solver(loa.External(counted, SPACE), INSTANCES, **OPTIONS, seed=3, record=record)


def test_the_given_setting_is_tried_first_and_what_is_found_is_better(tuned):
    assert tuned.tried[0] == ({}, true_mean({}), len(INSTANCES))
    assert tuned.value == true_mean(tuned.parameters) == min(each.cost for each in tuned.tried)
    assert tuned.value < 0.5 * tuned.default
    assert tuned.solver.parameters == tuned.parameters


def test_hopeless_settings_are_stopped_early(tuned):
    stopped = [each for each in tuned.tried if each.instances < len(INSTANCES)]
    assert len(stopped) > 5
    assert tuned.runs == sum(each.instances for each in tuned.tried) < 0.8 * len(tuned.tried) * len(INSTANCES)
    best = np.minimum.accumulate([each.cost for each in tuned.tried])
    for place, each in enumerate(tuned.tried):
        if each in stopped:
            assert true_mean(each.parameters) > best[place]  # nothing was stopped that would have won


def test_an_interrupted_tuning_resumes_to_the_same_result(tuned, record, tmp_path, monkeypatch):
    lines = record.read_text().splitlines(keepends=True)
    half = tmp_path / "half.jsonl"
    half.write_text("".join(lines[: len(lines) // 2]) + '{"task": "cut o')
    made = []
    keep = Bench._keep
    monkeypatch.setattr(Bench, "_keep", lambda self, task, run: made.append(task) or keep(self, task, run))
    again = loa.tune_solver(loa.External(counted, SPACE), INSTANCES, **OPTIONS, seed=3, record=half)
    assert again.tried == tuned.tried
    assert 0 < len(made) < 0.6 * tuned.runs


def test_runs_are_killed_as_soon_as_they_cannot_be_better():
    solver = loa.External(sleeping, {"seconds": [30.0, 40.0, 50.0]})
    tuned = loa.tune_solver(solver, [1, 2, 3], timeout=60.0, trials=4)
    assert tuned.parameters == {}
    assert tuned.seconds < 5.0


@pytest.mark.parametrize(
    ("space", "options", "words"),
    [
        (None, {}, "there is nothing to tune"),
        ({"work": (2.0, 1.0)}, {}, "the space of 'work' must be a pair"),
        ({"weight": (0.0, 1.0)}, {}, "'weight' is a parameter in the space that the function does not take"),
        (SPACE, {"cap": None}, "give a cap"),
        (SPACE, {"trials": 0}, "trials must be a whole number"),
    ],
)
def test_bad_arguments_of_tuning_get_a_sentence(space, options, words):
    with pytest.raises(ValueError, match=words):
        loa.tune_solver(loa.External(counted, space), INSTANCES, **OPTIONS | options)


def test_without_optuna_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"needs Optuna: pip install optuna, or 'loa\[tuner\]'"):
        loa.tune_solver(loa.External(counted, SPACE), INSTANCES, **OPTIONS)


# Instances and their roles.


@pytest.mark.parametrize("seed", [0, 1])
def test_every_instance_has_one_role(seed):
    pool = Pool.of(range(100))
    places = [place for role in ROLES for place in pool.places(role, seed)]
    assert sorted(places) == list(range(100))


def test_instances_of_all_kinds(tmp_path):
    (tmp_path / "folder").mkdir()
    for k in range(15):
        (tmp_path / "folder" / f"{k}.mps").write_text(str(k))
    (tmp_path / "rows.csv").write_text("n,name\n" + "".join(f"{k},p{k}\n" for k in range(15)))

    def found(instances):
        return pool_in(instances, tmp_path, 5, None).instances

    assert found("folder")[3] == str(tmp_path / "folder" / "11.mps")
    assert found("rows.csv")[3] == {"n": 3.0, "name": "p3"}
    assert found(list(range(15))) == found(lambda: range(15)) == found(iter(range(15))) == tuple(range(15))
    assert found(lambda seed: (seed + k for k in range(15))) == tuple(range(5, 20))
    assert [each.tolist() for each in found(np.eye(15))] == np.eye(15).tolist()
    endless = found(lambda seed: itertools.count(seed))
    assert endless == tuple(range(5, 605))  # as many as the roles need


@pytest.mark.parametrize(
    ("instances", "sizes", "words"),
    [
        ([1, 2, 3], None, "at least 12 are needed"),
        ([1] * 20, None, "19 of 20 `instances` are equal to others"),
        (list(range(20)), {"prior": 3}, "but not for 'prior'"),
        (list(range(20)), {"test": 15}, "leaves too few for"),
        (7, None, "`instances` must be a generator"),
        ("nowhere", None, "there is nothing in"),
    ],
)
def test_bad_instances_get_a_sentence(instances, sizes, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        pool_in(instances, tmp_path, 0, sizes)


# A whole run.

FILE_OF_A_USER = """
    import random, time

    def instances(seed):
        generator = random.Random(seed)
        while True:
            yield {"difficulty": generator.uniform(1.0, 2.0)}

    def solve(instance, delay=0.01, pivots="many"):
        time.sleep(instance["difficulty"] * delay)
        if instance["difficulty"] > 1.99:
            raise ArithmeticError("no pivot")
        return {"pivots": 100 * delay}

    space = {"delay": (0.001, 0.02), "pivots": ["many", "few"]}
    baselines = {"slow": {"delay": 0.02}}
    sizes = {"training": 4, "validation": 4, "held-out": 45, "test": 12}
    trials = 6
    timeout = 1.0
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("solver") / "sleepy.py"
    path.write_text(textwrap.dedent(FILE_OF_A_USER))
    return path


@pytest.fixture(scope="module")
def finished(file):
    out = file.parent / "run"
    done = CliRunner().invoke(app, ["run", str(file), "--out", str(out)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output, out


def test_a_run_writes_what_other_runs_write(finished):
    output, out = finished
    assert {"summary.json", "certificates.json", "plan.json", "report.html", "figure.png"} <= set(os.listdir(out))
    assert "With 95% confidence all of these hold together" in output
    assert "seconds on average on new problems drawn like these 45" in output
    results = Results.load(out)
    assert list(results.summary.algorithms) == ["tuned", "defaults", "slow"]
    assert results.summary.learned.functionals["seconds"].mean < results.summary.baselines["slow"].average("seconds")
    assert json.loads((out / "parameters.json").read_text())["delay"] < 0.01
    page = (out / "report.html").read_text()
    assert "iterations" not in page.split("<main", 1)[1].split("<script", 1)[0]
    assert CliRunner().invoke(app, ["report", str(out)]).exit_code == 0


def test_the_certificates_share_the_confidence_and_hold_for_a_time_limit(finished):
    content = json.loads((finished[1] / "certificates.json").read_text())
    found = {name: Certificate.from_dict(each) for name, each in content["together"].items()}
    assert sum(1 - each.confidence for each in found.values()) <= 0.05 + 1e-12
    assert found["seconds"].cap == 1.0
    assert found["seconds"].n == 45
    assert found["seconds"].empirical < found["seconds"].bound < 1.0
    assert found["quantile"].level == 0.9  # the highest that 45 instances allow


def test_the_plan_is_fixed_before_held_out_instances_are_measured(finished):
    events = [(each.event, each.content.get("role")) for each in Ledger(finished[1] / FILE).entries()]
    assert events.index(("plan", None)) < events.index(("draw", "held-out")) < events.index(("draw", "test"))


@pytest.mark.slow
def test_a_run_that_is_interrupted_ends_soon_with_its_children_and_resumes(file, tmp_path):
    slow = tmp_path / "slow_one.py"
    slow.write_text(file.read_text().replace("time.sleep(instance", "time.sleep(0.2) or time.sleep(instance"))
    command = [sys.executable, "-m", "loa", "run", str(slow), "--out", str(tmp_path / "run")]
    process = subprocess.Popen([*command, "--jobs", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    stages, recorded = tmp_path / "run" / "stages", 0
    for _ in range(3000):
        recorded = sum(path.read_text().count('"run"') for path in stages.rglob("*.jsonl")) if stages.exists() else 0
        if recorded >= 3 or process.poll() is not None:
            break
        time.sleep(0.05)
    children = descendants(process.pid)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    ended = time.monotonic() - begun
    assert recorded >= 3, told
    assert len(children) >= 2
    assert "--resume` continues from here" in told
    assert ended < 2.0 * SLOWNESS
    assert wait_until_gone(children, 2.0 * SLOWNESS)
    slow_is_fast = CliRunner().invoke(app, [*command[3:], "--resume"])
    assert slow_is_fast.exit_code == 0, slow_is_fast.output
    assert "resuming the run" in slow_is_fast.output


SLOWNESS = 4.0
"""A machine that also does other things may take this many times longer."""


def descendants(pid):
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
    return [each for child in map(int, found) for each in (child, *descendants(child))]


def wait_until_gone(pids, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not any(Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def solve(x): pass", "`instances` is missing"),
        ("solve = 3\ninstances = range(50)", "solve must be a function"),
        ("def solve(x): pass\ninstances = range(50)\nspace = {'a': (0, 1)}", "the function does not take"),
        ("solve = 'sort {instance}'\ninstances = range(50)\nspace = {'a': (0, 1)}", "the command does not mention"),
        ("def solve(x): pass\ninstances = range(50)\ntimeout = -1", "`timeout` must be positive"),
        ("def solve(x): pass\ninstances = range(50)\nquantile = 2", "`quantile` must lie strictly between"),
        pytest.param(
            "def solve(x): pass\ninstances = range(50)\nbaselines = {'a': 3}",
            "'a' must be a dict of parameters",
            marks=pytest.mark.wrong_types,
        ),
        ("def solve(x): raise OSError\ninstances = range(50)", "has solved none of the"),
    ],
)
def test_a_file_with_something_wrong_gets_a_sentence(text, words, tmp_path):
    path = tmp_path / "wrong_solver.py"
    path.write_text(text)
    done = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "run")])
    assert done.exit_code == 1
    assert words in done.output


def test_a_file_with_a_problem_class_is_none_with_a_solver(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("import loa\nclass Mine(loa.ProblemClass):\n    pass\ndef solve(x): pass\n")
    assert not is_solver_file(path)


# Which executor a command uses.


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("backend: mpi", "backend must be loky, dask, submitit, got 'mpi'"),
        ("backend: dask\nslurm_time: 3", "'slurm_time' is unknown for dask"),
        ("- a", "must hold keys such as"),
        ("a: [", "is not YAML"),
    ],
)
def test_a_configuration_with_something_wrong_gets_a_sentence(text, words, tmp_path):
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    path = tmp_path / "parallel.yml"
    path.write_text(text)
    with pytest.raises(ValueError, match=words):
        read_config(path)


def test_executors_by_number_and_by_file(tmp_path):
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    path = tmp_path / "parallel.yml"
    path.write_text("backend: loky\nn_jobs: 1\n")
    with executor_for(None, path) as executor:
        assert executor.submit(pow, 2, 3).result() == 8
    with executor_for(None, None) as executor:
        assert executor is None
    with pytest.raises(ValueError, match="exclude each other"), executor_for(2, path):
        pass
