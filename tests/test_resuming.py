"""Evaluations that are killed and resume."""

import functools
import itertools
import signal
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from classes import Bowls

import loa
from loa.algorithms.algorithm import stack
from loa.storage import resuming
from loa.storage.checkpoint import Checkpoint, UnusableCheckpoint, recognizable
from loa.storage.resuming import EvaluationCheckpoint, Evaluations, Pace, forget_evaluations
from loa.trajectory import engine

KEY = jax.random.key(0)
BOWLS = Bowls()
PROBLEMS = BOWLS.draw(jax.random.key(1), 400)
OPTIONS = dict(
    criterion=loa.loss_below(1e-6), horizon=300, key=KEY, functionals=[loa.StoppingTime(), loa.ContractionFactor()]
)
CANDIDATES = stack([loa.GradientDescent(step_size) for step_size in np.geomspace(0.001, 0.3, 8)])


class KeyKeeper(loa.Algorithm):
    """Random steps whose keys are part of the state."""

    def init(self, oracle, x0):
        return x0, jax.random.key(7)

    def step(self, oracle, state, key):
        x, own = state
        noise = 1e-3 * jax.random.normal(own, x.shape, x.dtype)
        return x - 0.1 * oracle.gradient(x) + noise, jax.random.fold_in(own, jax.random.bits(key))

    def iterate(self, state):
        return state[0]


@pytest.fixture
def often(monkeypatch):
    """A checkpoint after every call of the compiled loop, which is short."""
    monkeypatch.setattr(resuming, "EVERY", 0.0)
    monkeypatch.setattr(resuming, "SHORT", 0.0)
    monkeypatch.setattr(resuming, "SHARE", np.inf)
    monkeypatch.setattr(engine, "SECONDS_PER_CALL", 2e-3)
    monkeypatch.setattr(engine, "PATIENCE", 1e4)


class Killed(BaseException):
    pass


def kill_when(monkeypatch, enough):
    """Let the process die, as far as an evaluation can tell, as soon as the widths written down are enough."""
    widths, save = [], EvaluationCheckpoint.save

    def save_and_die(self, progress, width, seconds, finished):
        save(self, progress, width, seconds, finished)
        widths.append(width)
        if enough(widths):
            raise Killed

    monkeypatch.setattr(EvaluationCheckpoint, "save", save_and_die)
    return widths


def never(widths):
    return False


@pytest.mark.parametrize("algorithm", [CANDIDATES, KeyKeeper()], ids=["stack", "keys"])
def test_an_evaluation_resumes_to_the_same_bits(algorithm, often, monkeypatch, tmp_path):
    options = OPTIONS | dict(width=32)
    whole = loa.evaluate(algorithm, BOWLS, PROBLEMS, **options)
    late = [lambda widths: widths[-1] < 32] if algorithm is CANDIDATES else []
    for enough in (lambda widths: len(widths) == 3, lambda widths: len(widths) == 12, *late):
        with monkeypatch.context() as patch:
            kill_when(patch, enough)
            with pytest.raises(Killed):
                loa.evaluate(algorithm, BOWLS, PROBLEMS, checkpoints=tmp_path, **options)
    assert len(list(tmp_path.iterdir())) == 1
    resumed = loa.evaluate(algorithm, BOWLS, PROBLEMS, checkpoints=tmp_path, **options)
    for name in whole.values:
        np.testing.assert_array_equal(resumed[name], whole[name])
    np.testing.assert_array_equal(resumed.outcome, whole.outcome)


def test_checkpoints_in_a_file_are_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="checkpoints must be a directory, but"):
        loa.evaluate(CANDIDATES, BOWLS, PROBLEMS, checkpoints=tmp_path / "file", **OPTIONS)


ON_TWO_DEVICES = """
import os, signal, sys
from pathlib import Path
import jax
jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_enable_x64", True)
import numpy as np
import loa
from loa.trajectory import engine
from loa.storage import resuming
from loa.storage.resuming import EvaluationCheckpoint
from classes import Bowls

resuming.EVERY, resuming.SHARE, engine.SECONDS_PER_CALL = 0.0, float("inf"), 0.02
directory, dies = Path(sys.argv[1]), sys.argv[2] == "dies"
save, load, found = EvaluationCheckpoint.save, EvaluationCheckpoint.load, []

def load_and_count(self, empty):
    progress = load(self, empty)
    found.append(progress is not None)
    return progress

def save_and_die(self, *arguments):
    save(self, *arguments)
    if dies and len(list(directory.glob("[!.]*.checkpoint"))) == 2:
        os.kill(os.getpid(), signal.SIGKILL)

EvaluationCheckpoint.save, EvaluationCheckpoint.load = save_and_die, load_and_count
problems = Bowls().draw(jax.random.key(1), 2000)
times = loa.evaluate(
    loa.GradientDescent(0.05), Bowls(), problems, criterion=loa.loss_below(1e-6), horizon=1000, key=jax.random.key(0),
    width=16, checkpoints=directory,
)["stopping_time"]
print(times.sum(), (times[:, 0] * np.arange(len(times))).sum(), sum(found))
"""


def test_a_process_that_is_killed_resumes_on_all_its_devices(tmp_path):
    def run(directory, how):
        command = [sys.executable, "-c", ON_TWO_DEVICES, str(tmp_path / directory), how]
        return subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)

    assert run("killed", "dies").returncode == -signal.SIGKILL
    resumed = run("killed", "lives")
    assert resumed.returncode == 0, resumed.stderr
    times = loa.evaluate(
        loa.GradientDescent(0.05), BOWLS, BOWLS.draw(jax.random.key(1), 2000), criterion=loa.loss_below(1e-6),
        horizon=1000, key=KEY,
    )["stopping_time"]  # fmt: skip
    assert resumed.stdout.split() == [str(times.sum()), str((times[:, 0] * np.arange(2000)).sum()), "2"]


def test_what_is_finished_is_not_done_again(often, monkeypatch, tmp_path):
    first = loa.evaluate(CANDIDATES, BOWLS, PROBLEMS, checkpoints=tmp_path, **OPTIONS)
    calls = kill_when(monkeypatch, never)
    again = loa.evaluate(CANDIDATES, BOWLS, PROBLEMS, checkpoints=tmp_path, **OPTIONS)
    np.testing.assert_array_equal(again["stopping_time"], first["stopping_time"])
    assert len(calls) == 1
    assert again.seconds >= 0.9 * first.seconds


def test_what_ends_before_a_checkpoint_is_due_is_kept_as_well(monkeypatch, tmp_path):
    monkeypatch.setattr(resuming, "SHORT", 0.0)
    first = loa.evaluate(CANDIDATES, BOWLS, PROBLEMS, checkpoints=tmp_path, **OPTIONS)
    assert len(list(tmp_path.iterdir())) == 1
    calls = kill_when(monkeypatch, never)
    again = loa.evaluate(CANDIDATES, BOWLS, PROBLEMS, checkpoints=tmp_path, **OPTIONS)
    np.testing.assert_array_equal(again["stopping_time"], first["stopping_time"])
    assert len(calls) == 1


def flipped(content, place):
    """The content with one bit changed."""
    return content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]


def test_no_flipped_bit_changes_a_result_silently(often, monkeypatch, tmp_path):
    problems, options = PROBLEMS[:20], OPTIONS | dict(width=8)
    whole = loa.evaluate(loa.GradientDescent(0.05), BOWLS, problems, **options)
    with monkeypatch.context() as patch:
        kill_when(patch, lambda widths: len(widths) == 3)
        with pytest.raises(Killed):
            loa.evaluate(loa.GradientDescent(0.05), BOWLS, problems, checkpoints=tmp_path, **options)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    job = EvaluationCheckpoint(Evaluations(tmp_path), lambda: path.stem)
    for place in np.linspace(0, len(content) - 1, 200).astype(int):
        path.write_bytes(flipped(content, place))
        with pytest.warns(UserWarning, match="is damaged and was ignored: the evaluation starts from the beginning"):
            assert job.load(lambda width: pytest.fail("a damaged checkpoint was read")) is None
    with pytest.warns(UserWarning, match="is damaged and was ignored"):
        again = loa.evaluate(loa.GradientDescent(0.05), BOWLS, problems, checkpoints=tmp_path, **options)
    for name in whole.values:
        np.testing.assert_array_equal(again[name], whole[name])


def test_every_flipped_bit_of_a_checkpoint_is_noticed(tmp_path):
    """As in training, where a damaged checkpoint is an error."""
    checkpoint, form = Checkpoint(tmp_path / "a.checkpoint", "identity"), (jnp.arange(5.0), KEY)
    checkpoint.save(form, {"step": 3})
    content = checkpoint.path.read_bytes()
    assert eqx.tree_equal(checkpoint.load(lambda note: form), (form, {"step": 3}))
    for place in range(len(content)):
        checkpoint.path.write_bytes(flipped(content, place))
        with pytest.raises(ValueError, match=r"a\.checkpoint is not a whole checkpoint: delete it to start"):
            checkpoint.load(lambda note: form)
    checkpoint.path.write_bytes(content + b"more")
    with pytest.raises(UnusableCheckpoint, match="not a whole checkpoint"):
        checkpoint.load(lambda note: form)


def test_a_checkpoint_of_another_form_is_refused(tmp_path):
    checkpoint = Checkpoint(tmp_path / "a.checkpoint", "identity")
    checkpoint.save(np.arange(5.0), {})
    for form in (np.zeros(4), np.zeros(5, int), (np.zeros(5), np.zeros(5))):
        with pytest.raises(UnusableCheckpoint, match="not a whole checkpoint"):
            checkpoint.load(lambda note, form=form: form)
    with pytest.raises(UnusableCheckpoint, match="checkpoint of another run"):
        Checkpoint(checkpoint.path, "another").load(lambda note: np.zeros(5))


class Called(Bowls):
    """Losses that only Python knows, times a factor that no array and no program tells."""

    factor: float = eqx.field(static=True, default=1.0)

    def loss(self, x, problem):
        return jax.pure_callback(
            lambda x, problem: np.asarray(self.factor * 0.5 * np.sum(problem * x**2, axis=-1)),
            jax.ShapeDtypeStruct((), x.dtype), x, problem, vmap_method="expand_dims",
        )  # fmt: skip

    def gradient(self, x, problem):
        return problem * x


def test_functions_of_python_are_not_taken_for_each_other(often, tmp_path):
    times = [
        loa.evaluate(
            loa.GradientDescent(0.5), Called(factor=factor), PROBLEMS[:20], checkpoints=tmp_path,
            criterion=loa.loss_below(1e-3), horizon=100, key=KEY,
        )["stopping_time"].mean()
        for factor in (1.0, 1e-2)
    ]  # fmt: skip
    assert times[1] < times[0]
    assert not list(tmp_path.iterdir())


@jax.jit
def callback(x):
    return x


def test_a_name_makes_no_function_of_python():
    assert recognizable(jax.jit(lambda x: callback(x) + 1).lower(1.0).as_text())


class Cubed(Bowls):
    """Other losses, the same arrays."""

    def loss(self, x, problem):
        return super().loss(x, problem) ** 3


@pytest.mark.parametrize(
    "other",
    [
        dict(key=jax.random.key(1)),
        dict(horizon=299),
        dict(criterion=loa.loss_below(1e-5)),
        dict(functionals=[loa.StoppingTime(), loa.ContractionFactor(cap=0.5)]),
        dict(problem_class=Cubed()),
        dict(algorithm=loa.GradientDescent(0.2)),
        dict(problems=jax.tree.map(lambda leaf: leaf * jnp.asarray(1.5, leaf.dtype), PROBLEMS)),
    ],
    ids=lambda other: next(iter(other)),
)
def test_other_evaluations_in_the_directory_are_not_taken_for_this_one(other, often, tmp_path):
    usual = OPTIONS | dict(algorithm=loa.GradientDescent(0.1), problem_class=BOWLS, problems=PROBLEMS)
    loa.evaluate(**usual, checkpoints=tmp_path)
    kept = loa.evaluate(**usual | other, checkpoints=tmp_path)
    alone = loa.evaluate(**usual | other)
    for name in alone.values:
        np.testing.assert_array_equal(kept[name], alone[name])


def test_short_evaluations_leave_nothing(tmp_path):
    loa.evaluate(loa.GradientDescent(0.1), BOWLS, PROBLEMS, checkpoints=tmp_path / "none", **OPTIONS)
    assert not (tmp_path / "none").exists()


def test_a_checkpoint_is_due_after_less_than_ten_seconds_and_later_if_it_is_expensive(monkeypatch):
    now = 100.0
    monkeypatch.setattr(resuming.time, "monotonic", lambda: now)

    def save_for(seconds):
        nonlocal now
        now += seconds

    pace = Pace()
    now += 7.9
    assert not pace.due()
    assert pace.due(more=1.0)
    now += 1.0
    assert pace.due()
    pace.save(lambda: save_for(1.2))
    now += 39.0
    assert not pace.due()
    now += 2.0
    assert pace.due()


def test_short_evaluations_of_one_search_are_saved_together(monkeypatch, tmp_path):
    """No round takes long enough to be saved, but all of them together do."""
    space, options = {"step_size": (0.01, 0.2)}, {name: OPTIONS[name] for name in ("criterion", "horizon", "key")}
    tune = functools.partial(loa.tune, loa.GradientDescent, space, BOWLS, PROBLEMS, candidates=8, rounds=4, **options)
    seconds = itertools.count(step=1.0)
    with monkeypatch.context() as patch:
        patch.setattr(resuming.time, "monotonic", lambda: next(seconds))
        patch.setattr(resuming, "SHORT", np.inf)
        patch.setattr(resuming, "SHARE", np.inf)
        tune(checkpoints=tmp_path)
    saved = len(list(tmp_path.glob("*.checkpoint")))
    assert saved >= 3
    found, load = [], EvaluationCheckpoint.load
    monkeypatch.setattr(EvaluationCheckpoint, "load", lambda self, empty: found.append(load(self, empty)) or found[-1])
    assert tune(checkpoints=tmp_path).tried == tune().tried
    assert sum(progress is not None for progress in found[:4]) == saved


def test_only_checkpoints_are_removed_from_a_directory_of_evaluations(tmp_path):
    for name in ("a.checkpoint", "notes.txt"):
        (tmp_path / name).touch()
    forget_evaluations(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    (tmp_path / "notes.txt").unlink()
    forget_evaluations(tmp_path)
    assert not tmp_path.exists()


def test_a_search_that_is_killed_resumes(often, monkeypatch, tmp_path):
    def search(**options):
        space = {"step_size": (0.01, 0.2)}
        options |= {name: value for name, value in OPTIONS.items() if name != "functionals"}
        return loa.tune(loa.GradientDescent, space, BOWLS, PROBLEMS, candidates=8, rounds=3, **options)

    whole = search()
    with monkeypatch.context() as patch:
        kill_when(patch, lambda widths: len(list(tmp_path.iterdir())) == 3)
        with pytest.raises(Killed):
            search(checkpoints=tmp_path)
    found, load = [], EvaluationCheckpoint.load
    monkeypatch.setattr(EvaluationCheckpoint, "load", lambda self, empty: found.append(load(self, empty)) or found[-1])
    assert search(checkpoints=tmp_path).tried == whole.tried
    assert [progress is not None for progress in found] == [True, True, True]
