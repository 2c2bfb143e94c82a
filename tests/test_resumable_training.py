"""Training and imitation that are killed between two checks, and resume to the same bits."""

import signal
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest
from classes import Bowls

import loa
from loa.learning import resumable_training
from loa.learning.resumable_training import Saving
from loa.storage import resuming

KEY, BOWLS = jax.random.key(0), Bowls()
SETTING = dict(criterion=loa.loss_below(1e-6), horizon=30, batch=4)


def imitated(**options):
    return loa.imitate(
        loa.HeavyBall(0.01, 0.1), loa.GradientDescent(0.3), BOWLS, key=KEY, steps=40, pool=16, **SETTING, **options
    )


def trained(**options):
    start, settings = loa.HeavyBall(0.01, 0.1), dict(steps=40, checks=2, validation=5, pool=16)
    return loa.train(start, BOWLS, key=KEY, **settings, **SETTING, **options)


class Killed(BaseException):
    pass


@pytest.fixture
def often(monkeypatch):
    """A checkpoint after every piece, and pieces of a few steps."""
    monkeypatch.setattr(resuming, "EVERY", 0.0)
    monkeypatch.setattr(resuming, "SHARE", np.inf)
    monkeypatch.setattr(resumable_training, "SECONDS_PER_PIECE", 1e-3)


def killed_after(monkeypatch, saves):
    """Let the process die, as far as learning can tell, after this many checkpoints; returns the steps they are at."""
    steps, now = [], Saving.now

    def save_and_die(self, progress):
        now(self, progress)
        steps.append(progress.step)
        if len(steps) == saves:
            raise Killed

    monkeypatch.setattr(Saving, "now", save_and_die)
    return steps


@pytest.mark.parametrize("learn", [imitated, trained])
def test_learning_that_is_killed_between_checks_resumes_to_the_same_bits(learn, often, monkeypatch, tmp_path):
    whole, path = learn(), tmp_path / "a.checkpoint"
    for saves in (1, 3, 2):
        with monkeypatch.context() as patch:
            steps = killed_after(patch, saves)
            with pytest.raises(Killed):
                learn(checkpoint=path)
    assert 5 < steps[-1] < 40
    with monkeypatch.context() as patch:
        steps = killed_after(patch, np.inf)
        resumed = learn(checkpoint=path)
    assert steps[0] > 6
    if learn is trained:
        resumed, whole = (
            eqx.tree_at(lambda found: found[1], found, [each._replace(seconds=0.0) for each in found[1]])
            for found in (resumed, whole)
        )
    assert eqx.tree_equal(resumed, whole)
    assert [each.name for each in tmp_path.iterdir()] == ["a.checkpoint"]


def test_finished_imitation_is_not_done_again(often, monkeypatch, tmp_path):
    monkeypatch.setattr(resuming, "SHORT", 0.0)
    first = imitated(checkpoint=tmp_path / "a.imitation")
    glances = []
    again = imitated(checkpoint=tmp_path / "a.imitation", progress=glances.append)
    assert eqx.tree_equal(first, again)
    assert glances == []


def test_training_continues_after_imitation_that_is_read_from_its_file(often, monkeypatch, tmp_path):
    monkeypatch.setattr(resuming, "SHORT", 0.0)
    found = [
        loa.train(
            imitated(checkpoint=tmp_path / "a.imitation"), BOWLS, key=KEY, steps=2, checks=1, validation=5, pool=16,
            checkpoint=tmp_path / "a.checkpoint", **SETTING,
        )
        for _ in range(2)
    ]  # fmt: skip
    assert eqx.tree_equal(found[0].algorithm, found[1].algorithm)


def test_short_imitation_leaves_no_file(tmp_path):
    imitated(checkpoint=tmp_path / "a.imitation")
    assert not list(tmp_path.iterdir())


def test_the_checkpoint_of_another_imitation_is_refused(often, tmp_path):
    path = tmp_path / "a.imitation"
    imitated(checkpoint=path)
    with pytest.raises(ValueError, match="is the checkpoint of another run"):
        imitated(checkpoint=path, learning_rate=2e-3)


TRAIN = """
import os, signal, sys
from pathlib import Path
import jax
jax.config.update("jax_enable_x64", True)
import numpy as np
from rich.console import Console
import loa
from classes import Bowls
from loa.experiments.experiment import Experiment, LearningSetup, Recipe, Task
from loa.experiments.recipes import trained
from loa.learning import resumable_training
from loa.run import training
from loa.storage import resuming

resuming.EVERY, resuming.SHARE, resuming.SHORT, training.TIMING = 0.0, np.inf, 0.0, 0.0
resumable_training.SECONDS_PER_PIECE = 1e-3

if sys.argv[2] == "dies":
    saves, now = [], resumable_training.Saving.now

    def save_and_die(self, progress):
        now(self, progress)
        saves.append(progress.step)
        if len(saves) == 9:
            os.kill(os.getpid(), signal.SIGKILL)

    resumable_training.Saving.now = save_and_die

def learn(setup):
    start, teacher = loa.HeavyBall(0.01, 0.1), loa.GradientDescent(0.3)
    return trained(setup, start, teacher, steps=10, checks=2, learning_rate=1e-3, batch=4, imitation_steps=40)

task = Task("bowls", Bowls(), loa.loss_below(1e-6), horizon=30, functionals=(), baselines={})
experiment = Experiment(task, Recipe(learned={"loa": learn}, sizes={"test": 5, "validation": 6}))
path = Path(sys.argv[1])
setup = LearningSetup(experiment, 0, 1.0, path.with_suffix(".checkpoint"), progress=True)
training.train_experiment(setup, "loa", path, Console())
"""


def test_training_that_is_killed_while_it_imitates_resumes(tmp_path):
    """A real process and a real signal."""

    def go(name, how):
        command = [sys.executable, "-c", TRAIN, str(tmp_path / name), how]
        return subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)

    assert go("killed", "dies").returncode == -signal.SIGKILL
    assert {each.name for each in tmp_path.iterdir()} == {"killed.imitation", "killed.seconds", ".killed.lock"}
    killed, whole = go("killed", "lives"), go("whole", "lives")
    assert (killed.returncode, whole.returncode) == (0, 0), killed.stderr + whole.stderr
    assert "step       8 " in whole.stdout
    assert "step       8 " not in killed.stdout
    assert sorted(each.name for each in tmp_path.iterdir()) == ["killed", "whole"]
    assert eqx.tree_equal(loa.load(tmp_path / "killed"), loa.load(tmp_path / "whole"))
