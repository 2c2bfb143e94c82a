"""Saved algorithms: the same after a round trip, whole or not at all, and those that ship."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
import pytest
from classes import Bowls
from rich.console import Console

import loa
from loa.architectures import DenseCurvature, LearnedLasso, LearnedQuadratics, LearnedQuasiNewton
from loa.experiments.experiment import Experiment, Lesson, Recipe, Task
from loa.experiments.recipes import trained, tuned, unrolled
from loa.run.training import train_experiment

KEY = jax.random.key(0)
SPACE = {"step_size": (0.1, 1.8), "momentum": (0.0, 0.9)}


@pytest.mark.parametrize(
    "algorithm",
    [
        loa.FISTA(restart=False),
        loa.HeavyBall(0.1, 0.9),
        LearnedLasso(key=KEY),
        LearnedQuasiNewton(DenseCurvature.of(np.diag([1.0, 2.0])), 0.0, 1.0, 0.5, memory=7),
    ],
    ids=lambda algorithm: type(algorithm).__name__,
)
def test_a_round_trip_changes_nothing(algorithm, tmp_path):
    path = tmp_path / "algorithm.eqx"
    loa.save(path, algorithm, {"seed": 3})
    assert eqx.tree_equal(loa.load(path), algorithm)
    assert loa.provenance(path) == {"seed": 3}
    assert [file.name for file in tmp_path.iterdir()] == ["algorithm.eqx"]


class Unsaveable(loa.GradientDescent):
    function: object = eqx.field(static=True, default=print)


def test_what_cannot_be_saved_leaves_no_file(tmp_path):
    with pytest.raises(TypeError, match="cannot be saved"):
        loa.save(tmp_path / "algorithm.eqx", Unsaveable(0.1))
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "algorithm.eqx"
    loa.save(path, loa.GradientDescent(0.1))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"algorithm\.eqx is not an algorithm saved by loa"):
        loa.load(path)


def test_an_option_that_came_later_has_its_default(tmp_path, monkeypatch):
    path, algorithm = tmp_path / "algorithm.eqx", LearnedLasso(key=jax.random.key(0))
    fields = dataclasses.fields
    with monkeypatch.context() as patch:
        patch.setattr(
            "loa.storage.saved_algorithms.dataclasses.fields",
            lambda node: [f for f in fields(node) if f.name != "as_printed"],
        )
        loa.save(path, algorithm)
    assert eqx.tree_equal(loa.load(path), algorithm)


def test_a_file_of_another_version_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "algorithm.eqx"
    loa.save(path, loa.HeavyBall(0.1, 0.9))
    kept = [field for field in dataclasses.fields(loa.HeavyBall) if field.name != "momentum"]
    with monkeypatch.context() as patch:
        patch.setattr("loa.storage.saved_algorithms.dataclasses.fields", lambda node: kept)
        loa.save(path, loa.HeavyBall(0.1, 0.9))
    with pytest.raises(ValueError, match="another version of loa: its HeavyBall has no momentum"):
        loa.load(path)


def test_an_unknown_name_lists_those_that_ship():
    with pytest.raises(FileNotFoundError, match="no-such"):
        loa.load("no-such")


def test_a_class_that_is_not_an_algorithm_is_refused(tmp_path):
    path = tmp_path / "algorithm.eqx"
    content = '{"algorithm": {"class": "pathlib:Path", "fields": {}}, "provenance": {}}'
    with path.open("wb") as file:
        np.savez(file, content=np.array(content))
    with pytest.raises(TypeError, match="not the class of an algorithm"):
        loa.load(path)


@pytest.mark.parametrize("name", loa.shipped())
def test_a_shipped_algorithm_does_what_its_provenance_says(name):
    """On some of the test problems: the very stopping times, up to rounding, where some are noted.

    Else their mean; the tolerance is five standard errors of a mean over these, and a step.
    """
    provenance = loa.provenance(name)
    experiment = loa.experiments.get(provenance["experiment"])
    assert {"seed", "sizes", "commit", "versions", "seconds", "test"} <= set(provenance)
    size = {"images": 2, "stochastic-network": 25}.get(experiment.name, 50)
    times = loa.evaluate(
        loa.load(name),
        experiment.problem_class,
        experiment.draw("test", provenance["seed"], size),
        criterion=experiment.criterion,
        horizon=experiment.horizon,
        key=KEY,
    )["stopping_time"]
    claimed = provenance["test"]["learned"]
    if "first" in claimed:
        noted = np.array(claimed["first"])[:size]
        assert np.median(np.abs(times[: len(noted), 0] - noted)) <= 1 + 0.05 * np.median(noted)
        return
    assert abs(times.mean() - claimed["mean"]) < 5 * times.std() / np.sqrt(size) + 1
    assert (times < experiment.horizon).mean() > claimed["solved"] - 0.15


def test_training_an_experiment_learns_measures_and_saves(tmp_path):
    experiment = Experiment(
        Task(
            name="bowls",
            problem_class=Bowls(),
            criterion=loa.loss_below(1e-6),
            horizon=300,
            functionals=(),
            baselines={"slow": loa.GradientDescent(0.1)},
        ),
        Recipe(
            learned={"loa": lambda lesson: tuned(lesson, loa.HeavyBall, SPACE, problems=20, candidates=8, rounds=2)},
            sizes={"test": 30, "validation": 20},
        ),
    )
    path = tmp_path / "bowls.eqx"
    train_experiment(Lesson(experiment, seed=3), "loa", path, Console())
    provenance = loa.provenance(path)
    assert provenance["seed"] == 3
    numbers = provenance["test"]
    assert numbers["learned"]["mean"] < 0.5 * numbers["slow"]["mean"]
    assert numbers["learned"]["solved"] == 1.0
    assert isinstance(loa.load(path), loa.HeavyBall)
    with pytest.raises(ValueError, match="no role 'exam'"):
        experiment.draw("exam", 0)


def test_training_of_a_network_says_how_and_leaves_no_checkpoints(tmp_path):
    """Imitation, training over single steps and then over segments; killed in between, it goes on to the same bits."""

    def learn(lesson):
        network, teacher = LearnedQuadratics(key=lesson.key), loa.GradientDescent(0.3)
        first = trained(lesson, network, teacher, steps=20, checks=2, learning_rate=1e-3, batch=4, imitation_steps=10)
        if lesson.checkpoint.stem == "killed" and not lesson.second_checkpoint.exists():
            lesson.second_checkpoint.touch()
            raise KeyboardInterrupt
        lesson.second_checkpoint.unlink(missing_ok=True)
        return unrolled(lesson, first, loa.gaps.loss, length=3, steps=10, checks=2, learning_rate=1e-4, batch=4)

    task = Task("bowls", Bowls(), loa.loss_below(1e-6), horizon=30, functionals=(), baselines={})
    experiment = Experiment(task, Recipe(learned={"paper": learn}, sizes={"test": 5, "validation": 6}))

    def go(name):
        lesson = Lesson(experiment, 0, 1.0, tmp_path / f"{name}.checkpoint")
        train_experiment(lesson, "paper", tmp_path / f"{name}.eqx", Console(quiet=True))

    go("whole")
    with pytest.raises(KeyboardInterrupt):
        go("killed")
    go("killed")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed.eqx", "whole.eqx"]
    assert eqx.tree_equal(loa.load(tmp_path / "killed.eqx"), loa.load(tmp_path / "whole.eqx"))
    learning = loa.provenance(tmp_path / "whole.eqx")["learning"]
    assert (learning["teacher"], learning["imitation_steps"]) == ("GradientDescent", 10)
    assert learning["training"]["validation"] == learning["unrolled"]["validation"] == 6
    assert (learning["training"]["steps"], learning["unrolled"]["steps"]) == (20, 10)
