"""Solvers that are not JAX: measured in processes that can be killed, and certified."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from typer.testing import CliRunner

import loa
from loa.certificates import Quantile
from loa.certificates.from_table import certify_table
from loa.cli import app
from loa.deployment.any_solver.bench import Bench, Task
from loa.deployment.any_solver.external import External
from loa.deployment.any_solver.killable import Run


def doubled(instance, factor=2.0):
    return {"iterations": factor * instance, "name": "text is no number"}


def by_kind(instance):
    if instance == "slow":
        subprocess.run(["sleep", "60"], check=False)
    if instance == "raises":
        print("before the error")
        raise ArithmeticError("no pivot")
    if instance == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if instance == "hungry":
        bytearray(10**10)
    return {"solved": instance != "gives up", "objective": 1.0}


def busy(instance, seed):
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
    return {"seed": seed}


def parent(instance):
    return os.getpid()


@pytest.fixture(scope="module")
def of_all_kinds():
    kinds = ["fine", "slow", "raises", "crashes", "hungry", "gives up"]
    with pytest.warns(UserWarning, match=r"4 of 6 runs failed, first on instance 2: ArithmeticError: no pivot, after"):
        return loa.measure(by_kind, kinds, timeout=1.5, memory=4 * 10**9)


def test_every_run_ends_in_its_own_way_and_counts(of_all_kinds):
    outcome = of_all_kinds.outcome.ravel().tolist()
    assert outcome == ["solved", "timed out", "failed", "failed", "failed", "failed"]
    seconds = of_all_kinds["seconds"].ravel()
    assert seconds[0] < 1.0
    assert (seconds[1:] == 1.5).all()  # censored runs count as the cap
    assert np.isnan(of_all_kinds["objective"].ravel()).tolist() == [False] + [True] * 5
    assert "16.7% timed out" in repr(of_all_kinds)


def test_a_run_that_is_killed_leaves_nothing_behind(of_all_kinds):
    found = subprocess.run(["pgrep", "-x", "-f", "sleep 60", "-u", str(os.getuid())], capture_output=True, check=False)
    assert found.returncode == 1


def test_what_a_solver_reports_and_its_parameters():
    performance = loa.measure(loa.External(doubled).at(factor=3.0), [1.0, 2.0], timeout=9.0, replicates=2)
    assert performance["iterations"].tolist() == [[3.0, 3.0], [6.0, 6.0]]
    assert set(performance.values) == {"seconds", "cpu_seconds", "iterations"}
    assert loa.certify(performance, "seconds").about["algorithm"] == "doubled, factor=3.0"
    assert performance.to_xarray()["seconds"].dims == ("problem", "replicate")


def test_replicates_have_seeds_and_cpu_seconds_are_measured():
    performance = loa.measure(busy, [0, 1], timeout=9.0, replicates=2)
    assert performance["seed"].tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert (performance["cpu_seconds"] > 0.09).all()
    assert (performance["seconds"] >= 0.9 * performance["cpu_seconds"]).all()


def test_each_run_has_a_process_of_its_own():
    identifiers = loa.measure(parent, list(range(5)), timeout=9.0)["value"].ravel()
    assert len({*identifiers.tolist(), os.getpid()}) == 6


def test_an_executor_changes_nothing_but_the_order():
    with ThreadPoolExecutor(2) as executor:
        performance = loa.measure(doubled, np.arange(6.0), timeout=9.0, executor=executor)
    assert performance["iterations"].ravel().tolist() == (2 * np.arange(6.0)).tolist()


def test_an_executable(tmp_path):
    script = tmp_path / "solver"
    script.write_text(
        f"#!{sys.executable}\n"
        + textwrap.dedent("""
        import json, sys
        numbers = json.load(open(sys.argv[2]))["b"]
        print("solving"); print(json.dumps({"total": float(sys.argv[1]) * sum(numbers)}))
        sys.exit(numbers[0] > 9)
        """)
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    solver = loa.External([str(script), "{scale}", "{instance}"], parameters={"scale": 2.0})
    stack = {"b": np.array([[1.0, 2.0], [3.0, 4.0], [10.0, 0.0]])}
    with pytest.warns(UserWarning, match="first on instance 2: RuntimeError: exit code 1"):
        performance = loa.measure(solver, stack, timeout=20.0)
    assert performance["total"].ravel()[:2].tolist() == [6.0, 14.0]
    assert performance.outcome.ravel().tolist() == ["solved", "solved", "failed"]


def test_certificates_of_seconds():
    values = {"seconds": np.tile([[0.5], [1.0]], (200, 1)), "iterations": np.full((400, 1), 7.0)}
    outcome = np.full((400, 1), "solved", dtype="<U9")
    outcome[0], values["seconds"][0], values["iterations"][0] = "timed out", 10.0, np.nan
    performance = loa.Performance(values, outcome, 1, caps={"seconds": 10.0}, units={"seconds": "seconds"})
    certificate = loa.certify(performance, "seconds")
    assert "needs at most" in str(certificate)
    assert "seconds on average" in str(certificate)
    assert certificate.empirical < certificate.bound < 1.3
    assert loa.certify(performance, Quantile("seconds", 0.9, cap=10.0)).bound == 1.0
    assert loa.certify(performance, "iterations", cap=50.0).empirical == pytest.approx((399 * 7 + 50) / 400)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"solver": 3, "instances": [1], "timeout": 1.0}, "solve must be a function"),
        ({"solver": doubled, "instances": [], "timeout": 1.0}, "instances are empty"),
        ({"solver": doubled, "instances": [1], "timeout": 0.0}, "timeout must be positive"),
        ({"solver": doubled, "instances": [1], "timeout": 1.0, "replicates": 0}, "replicates must be a whole number"),
        ({"solver": doubled, "instances": [1], "timeout": 1.0, "executor": 2}, "executor must be one of"),
        ({"solver": doubled, "instances": 1, "timeout": 1.0}, "instances must be a list"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments, words):
    with pytest.raises((TypeError, ValueError), match=words):
        loa.measure(arguments.pop("solver"), arguments.pop("instances"), **arguments)


# Numbers measured anywhere.


def table(tmp_path, rows):
    path = tmp_path / "times.csv"
    path.write_text("\n".join(["name,seconds", *(f"p{k},{row}" for k, row in enumerate(rows))]) + "\n")
    return path


def test_certify_on_the_command_line_says_what_python_says(tmp_path):
    times = np.random.default_rng(0).exponential(size=400).clip(max=10.0).round(4)
    path = table(tmp_path, times)
    words = ["certify", str(path), "--column", "seconds", "--cap", "10"]
    done = CliRunner().invoke(app, words)
    certificate = loa.certify(times, "seconds", cap=10.0, unit="seconds")
    assert done.output.splitlines() == [
        str(certificate), "This assumes:", *(f"- {line}" for line in certificate.assumptions)
    ]  # fmt: skip
    assert "- the machine, its load" in done.output
    done = CliRunner().invoke(app, [*words, "--quantile", "0.9", "--out", str(tmp_path / "out")])
    mean, quantile, both, *_ = done.output.splitlines()
    assert both == "Both hold together with 95% confidence."
    assert "97.5% confidence" in mean
    assert "on at least 90% of new problems" in quantile
    assert {each.name for each in (tmp_path / "out").iterdir()} == {"seconds-mean.json", "seconds-quantile.json"}


def test_a_warning_on_the_command_line_is_a_sentence(tmp_path):
    path = table(tmp_path, np.minimum(np.random.default_rng(0).exponential(size=100), 1.0))
    command = [sys.executable, "-m", "loa", "certify", path, "--column", "seconds", "--cap", "10"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("loa: ")
    assert done.stderr.count("\n") == 1
    assert "share the maximum 1, which is below the cap 10" in done.stderr


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([1.0, 2.0], [], "a mean needs the largest possible value"),
        ([1.0, 20.0], ["--cap", "10"], "values must not exceed the cap 10, but the largest is 20"),
        ([1.0, "timeout"], ["--cap", "10"], "row 2 of 'seconds' is 'timeout', not a number"),
        ([1.0, ""], ["--cap", "10"], "row 2 of 'seconds' is '', not a number"),
        ([1.0, -1.0], ["--cap", "10"], "values must not be negative"),
        ([], ["--cap", "10"], "values are empty"),
        ([1.0], ["--cap", "10", "--confidence", "1.5"], "confidence must lie strictly between 0 and 1"),
        ([1.0], ["--column", "minutes", "--cap", "10"], "has no column 'minutes'; there are name, seconds"),
    ],
)
def test_certify_refuses_on_the_command_line_as_in_python(tmp_path, rows, options, words):
    done = CliRunner().invoke(app, ["certify", str(table(tmp_path, rows)), "--column", "seconds", *options])
    assert done.exit_code == 1
    assert words in done.output


def test_a_file_that_is_no_table(tmp_path):
    with pytest.raises(ValueError, match=r"its name must end in .csv or .parquet"):
        certify_table(tmp_path / "times.txt", "seconds", cap=1.0)
    with pytest.raises(ValueError, match="there is no file"):
        certify_table(tmp_path / "times.csv", "seconds", cap=1.0)


def test_an_empty_line_in_a_table_of_one_column_is_an_empty_cell(tmp_path):
    (tmp_path / "times.csv").write_text("seconds\n1.0\n\n2.0\n\n\n")
    with pytest.raises(ValueError, match="row 2 of 'seconds' is '', not a number"):
        certify_table(tmp_path / "times.csv", "seconds", cap=10.0)
    (tmp_path / "times.csv").write_text("seconds\n1.0\n2.0\n\n")
    assert certify_table(tmp_path / "times.csv", "seconds", cap=10.0)[0].n == 2


def test_a_run_whose_parent_has_died_before_it_began_ends_at_once():
    """The kernel tells a child of the death of its parent only if that happens after the child has asked for it."""
    script = "import os; from loa.deployment.any_solver import solver_process as p; p._die_with(%s); print('alive')"
    outcomes = [
        subprocess.run([sys.executable, "-c", script % parent], capture_output=True, text=True, check=False)
        for parent in ("os.getppid()", "-1")
    ]
    assert [(each.returncode, each.stdout) for each in outcomes] == [(0, "alive\n"), (1, "")]


def test_a_record_that_was_damaged_is_not_believed_and_that_of_others_not_touched(tmp_path):
    made, record = Run("solved", 2.0, 1.5, {"value": 7.0, "nothing": float("nan")}), tmp_path / "record.jsonl"
    with Bench(External("sort {instance}"), ["a"], timeout=9.0, record=record) as bench:
        bench._keep(Task(0), made)

    def read():
        with Bench(External("sort {instance}"), ["a"], timeout=9.0, record=record) as bench:
            return bench._recorded(Task(0))

    assert str(read()) == str(made)
    whole = record.read_text()
    for before, after in (("2.0", "1.0"), ("7.0", "6.0"), ('"limit": 9.0', '"limit": 8.0'), ("solved", "solvee")):
        record.write_text(whole.replace(before, after))
        assert read() is None
    for theirs in ("dear diary\n", '{"task list": []}\n'):
        record.write_text(theirs)
        with pytest.raises(ValueError, match="holds no record of runs"):
            read()
        assert record.read_text() == theirs
