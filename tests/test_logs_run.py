"""A whole run on a folder of 300 logged instances, in the order of time."""

import json

import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

import loa
from loa.experiments.from_file.problem_class import experiment_for
from loa.problems import Log, from_files
from loa.problems.role import Role
from loa.results.quantities import over_time
from loa.run import Order, carry_out

pytestmark = pytest.mark.slow


class Fits(loa.ProblemClass):
    def loss(self, x, problem):
        return 0.5 * jnp.sum((problem["a"] @ x - problem["b"]) ** 2) + 0.5 * jnp.sum(x**2)

    def start(self, problem, key):
        return jnp.zeros(3)


def learned(setup):
    """The best of three step sizes on the training instances."""
    problems, experiment = setup.problems(1000), setup.experiment
    setup.facts["problems"] = len(problems["b"])
    stack = loa.stack([loa.GradientDescent(step) for step in (0.01, 0.02, 0.03)])
    found = loa.evaluate(
        stack, experiment.problem_class, problems, criterion=experiment.criterion, horizon=experiment.horizon,
        key=setup.key,
    )  # fmt: skip
    return loa.GradientDescent((0.01, 0.02, 0.03)[int(found["stopping_time"].mean(axis=(1, 2)).argmin())])


def run(folder, count, out, rows=(10,)):
    folder.mkdir()
    generator = np.random.default_rng(0)
    usual = generator.normal(size=(10, 3)) * [2.0, 1.0, 0.7]
    for k in range(count):
        a = (usual + 0.1 * generator.normal(size=(10, 3)))[: rows[k % len(rows)]]
        np.savez(folder / f"fit-{k}.npz", a=a, b=a @ generator.normal(size=3))
    instances = from_files(folder, order="time", pad=len(rows) > 1)
    experiment = experiment_for(
        Fits(), name="fits", criterion=loa.gradient_norm_below(1e-3), horizon=400, learn=learned,
        baselines={"careful": loa.GradientDescent(0.01)}, instances=instances,
    )  # fmt: skip
    return carry_out(Order(experiment.at("quick")), out, Console(quiet=True)), instances


@pytest.fixture(scope="module")
def of_300(tmp_path_factory):
    folder = tmp_path_factory.mktemp("log")
    results, instances = run(folder / "instances", 300, folder / "run")
    return results, instances, folder / "run"


def test_a_run_on_300_instances_is_useful(of_300):
    results, _, directory = of_300
    certificate = results.certificates["truncated stopping time"]
    assert certificate.empirical < certificate.bound < 1.25 * certificate.empirical
    assert "of the stream that these 120 come from" in str(certificate)
    assert "(counted up to" in str(certificate)
    assert results.certificates["stopping time beyond reach"].bound < 0.06
    assert results.summary.learned.functionals["stopping_time"].mean < certificate.bound
    assert not any(each.vacuous for each in results.summary.certificates if each.together)
    assert (directory / "over-time.png").exists()
    report = (directory / "report.html").read_text()
    assert "From learning to testing" in report
    assert "Performance over time" in report


def test_learning_does_not_overfit(of_300):
    by_role = of_300[0].summary.log["by_role"]
    training, test = by_role["training"]["learned"], by_role["test"]["learned"]
    assert training["instances"] == test["instances"] == 60
    assert abs(training["mean"] - test["mean"]) < (training["high"] - training["low"]) + (test["high"] - test["low"])


def test_what_is_shown_over_time_is_what_was_measured(of_300):
    results, instances, directory = of_300
    times = results.performance["log_stopping_time"].values
    places = Log(instances).indices(Role.test, 0)
    assert places.tolist() == list(range(240, 300))
    assert np.array_equal(times[0, places], results.performance["stopping_time"].values[0, :, 0])
    shown = over_time(results.performance)
    assert shown.window == 15
    assert np.isclose(shown.means["learned"][-1], times[0, -15:].mean())
    assert list(shown.parts) == ["training", "validation", "prior", "posterior", "held-out", "test"]
    saved = json.loads((directory / "summary.json").read_text())
    assert saved["log"]["order"] == "time"
    assert type(results).load(directory).summary.log == results.summary.log


def test_a_run_on_30_instances_of_two_sizes_says_what_cannot_be_said_and_reports_by_size(tmp_path):
    results, _ = run(tmp_path / "instances", 30, tmp_path / "run", rows=(10, 5))
    small, large = results.summary.log["by_size"]
    assert (small["size"], large["size"]) == ("5 × 3 × 5", "10 × 3 × 10")
    assert small["instances"] + large["instances"] == 30 - 6 - 3, "all but those for training and validation"
    places = [place for place in range(9, 30) if place % 2]
    times = results.performance["log_stopping_time"].values
    assert small["means"]["learned"]["mean"] == pytest.approx(times[0, places].mean())
    assert "Mean iterations by size" in (tmp_path / "run" / "report.html").read_text()
    assert results.summary.log == type(results).load(tmp_path / "run").summary.log
    assert results.certificates["95% quantile"].vacuous
    assert "Nothing can be said about the 95% quantile" in results.certificates["95% quantile"].claim()
    assert any("rest on 12 instances, too few for a 95% quantile" in note for note in results.summary.notes)
