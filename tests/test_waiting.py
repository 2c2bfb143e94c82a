"""Commands that wait for long say what for."""

import time

import jax
import jax.numpy as jnp
import pytest
from typer.testing import CliRunner

import loa
from loa.cli import app
from loa.messages import waiting
from loa.messages.waiting import spoken, waiting_for


@pytest.fixture
def soon(monkeypatch):
    """Lines after a tenth of a second, and again after two and more tenths."""
    monkeypatch.setattr(waiting, "INTERVALS", (0.1, 0.2, 100.0))


def lines(capsys):
    return [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()]


def test_what_takes_long_is_named_at_growing_intervals(soon, capsys):
    with spoken(), waiting_for("a bus"):
        time.sleep(0.6)
    assert lines(capsys) == ["loa: waiting for a bus"] * 2


def test_signs_of_life_are_enough(soon, capsys):
    with spoken(), waiting_for("a bus"):
        for _ in range(12):
            with waiting_for("a step"):
                time.sleep(0.02)
    assert lines(capsys) == []


def test_many_slow_blocks_of_one_name_do_not_fill_the_screen(soon, capsys):
    with spoken():
        for _ in range(5):
            with waiting_for("a step"):
                time.sleep(0.15)
    assert lines(capsys) == ["loa: waiting for a step"] * 2


def test_nothing_is_said_to_users_of_the_library(soon, capsys):
    with waiting_for("a bus"):
        time.sleep(0.2)
    assert lines(capsys) == []


class Slow(loa.ProblemClass):
    def sample(self, key):
        return jax.random.normal(key)

    def start(self, problem, key):
        return jnp.ones(2)

    def loss(self, x, problem):
        return jnp.sum(x**2) * self._one(problem)

    def _one(self, problem):
        def late(problem):
            time.sleep(0.15)
            return problem

        form = jax.ShapeDtypeStruct((), problem.dtype)
        return 1 + 0 * jax.lax.stop_gradient(jax.pure_callback(late, form, problem, vmap_method="sequential"))


def test_a_slow_step_and_the_compiler_are_named(soon, capsys):
    problems = jnp.arange(3.0)
    with spoken():
        options = dict(criterion=loa.loss_below(1e-3), horizon=1, key=jax.random.key(0))
        loa.evaluate(loa.GradientDescent(0.1), Slow(), problems, **options)
    assert "loa: waiting for steps of GradientDescent on problems of Slow" in lines(capsys)


def test_the_command_line_says_what_it_waits_for(soon, tmp_path):
    file = tmp_path / "late.py"
    file.write_text("import time\ntime.sleep(0.4)\n")
    done = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "out")])
    assert done.stderr.startswith(f"loa: waiting for the checks of {file}, 0 s so far\n")
    assert "there must be one subclass of loa.ProblemClass" in done.stderr
