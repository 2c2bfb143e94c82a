"""The command line, as a user meets it."""

import html
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from loa import cli, experiments
from loa.presentation.figures import figure_files
from loa.storage.saved_algorithms import SUFFIX

PROCESSES = multiprocessing.get_context("forkserver")
"""Each command runs in a process of its own, forked from one that has imported everything, which takes seconds."""

PROCESSES.set_forkserver_preload(["loa.cli", "loa.experiments", "loa.run", "optax", "typer.testing"])


def run_command(arguments, place, out, err):
    os.chdir(place)
    for path, stream in ((out, sys.stdout), (err, sys.stderr)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream.fileno())
    sys.argv = ["loa", *arguments]
    from loa.cli import app

    app()


def loa(*arguments, cwd=None):
    with tempfile.TemporaryDirectory() as scratch:
        out, err = Path(scratch, "out"), Path(scratch, "err")
        process = PROCESSES.Process(target=run_command, args=([*map(str, arguments)], cwd or Path.cwd(), out, err))
        process.start()
        process.join()
        return subprocess.CompletedProcess(arguments, process.exitcode or 0, out.read_text(), err.read_text())


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("run") / "results"
    done = loa("run", "running-example", "--seed", 3, "--out", directory)
    assert done.returncode == 0, done.stderr
    return directory, done.stdout


def test_help_and_list():
    assert "Learnable optimization algorithms" in loa("--help").stdout
    assert "running-example" in loa("list").stdout


@pytest.mark.slow
def test_a_run_writes_its_files_and_nothing_else(finished):
    directory, output = finished
    names, figures = {path.name for path in directory.iterdir()}, set(figure_files(pictures=False))
    assert names - figures == {
        ".loa-run.json", f"algorithm{SUFFIX}", "certificates.json", "ledger.jsonl", "performance.nc", "plan.json",
        f"posterior{SUFFIX}", f"prior{SUFFIX}", "report.html", "summary.json", "trajectories.pdf", "trajectories.png",
    }  # fmt: skip
    assert {"figure.png", "figure.pdf", "pairs.png", "functionals.png"} <= names & figures
    assert "FAILS" not in output


@pytest.mark.slow
def test_the_summary_holds_what_others_rely_on(finished):
    summary = json.loads((finished[0] / "summary.json").read_text())
    assert summary["experiment"] == "running-example"
    assert summary["seed"] == 3
    for described in (summary["learned"], *summary["baselines"].values()):
        assert {"mean", "median", "q95", "cvar95"} < set(described["stopping_time"])
        assert described["solved"] == 1.0
    assert all(claim["holds"] for claim in summary["claims"])


@pytest.mark.slow
def test_the_data_set_can_be_read_again(finished):
    import xarray

    with xarray.open_dataset(finished[0] / "performance.nc", engine="scipy") as data:
        assert (data.sizes["algorithm"], data.sizes["problem"], data.sizes["replicate"]) == (4, 10_000, 1)
        summary = json.loads((finished[0] / "summary.json").read_text())
        assert float(data["stopping_time"][0].mean()) == summary["learned"]["stopping_time"]["mean"]


@pytest.mark.slow
def test_an_earlier_run_is_not_overwritten(finished):
    refused = loa("run", "running-example", "--out", finished[0])
    assert refused.returncode == 1
    assert "already holds a run" in refused.stderr
    assert "--overwrite" in refused.stderr


def test_an_unknown_experiment_is_one_sentence():
    refused = loa("run", "running")
    assert refused.returncode == 1
    assert refused.stderr.startswith("loa: there is no experiment 'running'; there are quadratics, images, ")
    assert refused.stderr.count("\n") == 1


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    refused = loa("run", "running-example", "--out", tmp_path / "file" / "below")
    assert refused.returncode == 1
    assert refused.stderr.startswith("loa: could not write to")
    assert refused.stderr.count("\n") == 1
    assert "Traceback" not in refused.stderr


def test_compare_prints_a_table():
    done = loa("compare", "running-example", "--problems", 50, "--algorithms", "worst-case, expected-squared")
    assert done.returncode == 0, done.stderr
    assert "worst-case" in done.stdout
    assert "expected-absolute" not in done.stdout
    said = " ".join(done.stdout.split())
    assert "Not decided whether worst-case needs fewer steps than expected-squared: about" in said


@pytest.mark.slow
def test_shipped_algorithms_are_compared_by_name():
    """Those of stochastic training have the smallest networks, so that they are compiled soonest."""
    names = "learned, stochastic-network-paper"
    done = loa("compare", "stochastic-network", "--problems", 5, "--horizon", 5, "--algorithms", names)
    assert done.returncode == 0, done.stderr
    assert "learned needs" in done.stdout
    assert "less than stochastic-network-paper" in done.stdout.replace("\n", " ")


@pytest.mark.parametrize("command", ["run", "train"])
def test_an_unknown_way_of_learning_is_one_sentence(command):
    refused = loa(command, "lasso", "--how", "magic")
    assert refused.returncode == 1
    assert refused.stderr == "loa: lasso has no recipe 'magic'; available: loa, paper.\n"


@pytest.mark.slow
def test_a_file_that_is_no_checkpoint_is_one_sentence(tmp_path):
    (tmp_path / "lasso.checkpoint").write_bytes(b"\x00\x01")
    options = ("--how", "paper", "--effort", 0.001, "--out", tmp_path / f"lasso{SUFFIX}", "--resume")
    refused = loa("train", "stochastic-network", *options)  # its network is the smallest
    assert refused.returncode == 1
    assert "lasso.checkpoint is not a whole checkpoint: delete it to start from the beginning.\n" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_compare_names_what_is_missing():
    refused = loa("compare", "running-example", "--algorithms", "newton")
    assert refused.returncode == 1
    assert "has no algorithm 'newton'; there are worst-case, expected-squared" in refused.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Five photographs and a file that is none."""
    folder = tmp_path_factory.mktemp("photographs")
    random = np.random.default_rng(0)
    for index in range(5):
        Image.fromarray(random.integers(0, 256, (210, 160), np.uint8)).save(folder / f"{index}.png")
    (folder / "notes.txt").write_text("not a photograph")
    return folder


@pytest.mark.slow
def test_compare_takes_a_folder_of_photographs(folder):
    options = ("--problems", 2, "--horizon", 3, "--algorithms", "NAG")
    done = loa("compare", "images", "--images", folder, *options)
    assert done.returncode == 0, done.stderr
    assert "NAG" in done.stdout
    assert f"loa: skipped files in {folder} that are not images: notes.txt (UnidentifiedImageError)." in done.stderr
    assert "Warning" not in done.stderr


def test_too_few_photographs_are_one_sentence(folder, tmp_path):
    (tmp_path / "only.png").write_bytes((folder / "0.png").read_bytes())
    refused = loa("compare", "images", "--images", tmp_path)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"loa: {tmp_path} has 1 images that can be read, but at least 5 are needed")
    assert refused.stderr.count("\n") == 1


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    refused = loa("compare", "images", "--images", tmp_path / "missing")
    assert refused.returncode == 1
    assert refused.stderr.startswith("loa: images must be a folder of photographs")
    assert refused.stderr.count("\n") == 1


def test_photographs_are_for_images_only(folder):
    refused = loa("compare", "lasso", "--images", folder)
    assert refused.returncode == 1
    assert refused.stderr == (
        "loa: --images is for the experiment images; the problems of lasso are not made from photographs.\n"
    )


def test_training_names_what_it_cannot_do(tmp_path):
    (tmp_path / "lasso.checkpoint").touch()
    for arguments, sentence in (
        (("quadratics", "--how", "magic"), "quadratics has no recipe 'magic'; available: loa, paper, "),
        (("lasso",), "lasso.checkpoint holds an interrupted training; add --resume"),
    ):
        done = loa("train", *arguments, cwd=tmp_path)
        assert done.returncode == 1
        assert sentence in done.stderr


BOWLS = """
import equinox as eqx, jax, jax.numpy as jnp, loa

class Bowls(loa.ProblemClass):
    def sample(self, key):
        return jax.random.uniform(key, (4,), minval=1.0, maxval=10.0)
    def loss(self, x, problem):
        return 0.5 * jnp.sum(problem * x**2)
    def start(self, problem, key):
        return jnp.ones(4)
    def optimal_loss(self, problem):
        return 0.0

def learn(setup):
    return loa.HeavyBall(0.15, 0.2)

criterion, horizon = loa.loss_below(1e-6), 100
baselines = {"gradient descent": loa.GradientDescent(0.1)}
sizes = {"prior": 20, "posterior": 40, "held-out": 60, "test": 30}

class Energy(loa.Functional):
    name: str = eqx.field(static=True, default="energy")
    cap: float = eqx.field(static=True, default=50.0)
    unit = "J"
    def init(self, record):
        return jnp.zeros(()), record.iterate
    def update(self, carry, record):
        return carry[0] + jnp.linalg.norm(record.iterate - carry[1]), record.iterate
    def result(self, carry, end):
        return jnp.minimum(jnp.where(end.diverged, jnp.inf, carry[0]), self.cap)

functionals = [loa.LargestGap(cap=100.0), Energy(), Energy(name="loss_of_heat", cap=float("inf"))]
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A run of a user's own problem that was interrupted, and then resumed."""
    place = tmp_path_factory.mktemp("own")
    (place / "bowls.py").write_text(BOWLS)
    listening = (  # also in a background job, which would ignore the signal
        "import runpy, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "sys.argv = ['loa', 'run', 'bowls.py']; runpy.run_module('loa', run_name='__main__')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", listening], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("posterior …"):
                process.send_signal(signal.SIGINT)
                break
        _, error = process.communicate()
    again = loa("run", "bowls.py", cwd=place)
    return place, error, again, loa("run", "bowls.py", "--resume", cwd=place)


@pytest.mark.slow
def test_an_interrupted_run_says_how_to_resume_and_does(own):
    place, error, again, resumed = own
    assert "loa: interrupted; `loa run bowls.py --resume` continues from here." in error
    assert again.returncode == 1
    assert again.stderr.startswith("loa: runs/bowls holds an interrupted run; add --resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "done so far: learn, choice, guard, prior" in resumed.stdout
    assert "all of these hold together" in resumed.stdout
    assert (place / "runs" / "bowls" / "report.html").exists()


@pytest.mark.slow
def test_a_functional_that_the_user_defines_appears_everywhere(own):
    """In the table, the summary, the figures, the report and, since one of the two has a cap, the certificates."""
    place, _, _, resumed = own
    directory = place / "runs" / "bowls"
    summary = json.loads((directory / "summary.json").read_text())
    for name in ("energy", "loss_of_heat"):
        for numbers in (summary["learned"], *summary["baselines"].values()):
            assert f"{numbers[name]['mean']:.4g}" in resumed.stdout
    assert resumed.stdout.count("(J)") == 2
    certified = [each for each in summary["certificates"] if each["functional"] in ("energy", "loss_of_heat")]
    assert [each["name"] for each in certified] == ["energy"]
    assert certified[0]["test"] < certified[0]["bound"] < 50
    report = html.unescape((directory / "report.html").read_text())
    for text in (certified[0]["sentence"], "Energy (J) on the test problems", "Loss of heat (J) on the test problems"):
        assert text in report
    with Image.open(directory / "functionals.png") as image:
        assert image.height > 0.8 * image.width  # oracle calls and three of the user: two rows of panels


@pytest.mark.slow
def test_a_functional_defined_in_the_file_is_measured_and_certified(own):
    directory = own[0] / "runs" / "bowls"
    certificates = json.loads((directory / "certificates.json").read_text())["together"]
    certificate, measured = certificates["largest gap"], json.loads((directory / "summary.json").read_text())["learned"]
    assert (certificate["functional"], certificate["cap"]) == ("largest_gap", 100.0)
    assert 2.0 < measured["largest_gap"]["mean"] < certificate["bound"] < 100.0


@pytest.mark.slow
def test_figures_and_report_are_made_again(own):
    directory = own[0] / "runs" / "bowls"
    for name in ("report.html", "figure.png"):
        (directory / name).unlink()
    done = loa("report", directory)
    assert done.returncode == 0, done.stderr
    assert (directory / "report.html").exists()
    assert (directory / "figure.png").exists()


def test_a_report_needs_a_run(tmp_path):
    refused = loa("report", tmp_path)
    assert refused.returncode == 1
    assert "does not hold a finished run" in refused.stderr


@pytest.mark.parametrize(("options", "preset"), [((), "quick"), (("--pretrained",), "pretrained")])
def test_shipped_weights_have_a_preset_of_their_own(monkeypatch, options, preset):
    orders = []
    monkeypatch.setattr(sys.modules["loa.cli.run"], "_run", lambda order, *_: orders.append(order))
    done = CliRunner().invoke(cli.app, ["run", "lasso", *options])
    assert done.exit_code == 0, done.output
    (order,) = orders
    assert (order.preset, order.pretrained) == (preset, bool(options))
    assert order.experiment.sizes == experiments.get("lasso").at(preset).sizes
    assert order.identity()["preset"] == preset


def test_what_cannot_be_run_is_one_sentence(tmp_path):
    for arguments, sentence in (
        (("missing.py",), "loa: there is no file missing.py."),
        (("lasso", "--preset", "fast"), "loa: there is no preset 'fast'; there are quick, paper, pretrained."),
        (("lasso", "--images", tmp_path), "loa: --images is for the experiment images"),
    ):
        refused = loa("run", *arguments, cwd=tmp_path)
        assert refused.returncode == 1
        assert refused.stderr.startswith(sentence)
        assert refused.stderr.count("\n") == 1
