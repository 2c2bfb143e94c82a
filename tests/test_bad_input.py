"""Bad input ends in one sentence of loa's own: the table of `benchmarks/faults`, and what must not be refused."""

import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.faults.bad_input import GROUPS, rows
from benchmarks.faults.bad_input.calls import evaluate
from benchmarks.faults.bad_input.rows import Row, verdict
from typer.testing import CliRunner

import loa
from loa import cli

pytestmark = pytest.mark.wrong_types


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__.removesuffix("_rows"))
def test_bad_arguments_end_in_a_sentence(group):
    wrong = {row.name: found for row in group() if (found := verdict(row))}
    assert not wrong


def test_the_table_is_long_and_names_no_row_twice():
    names = [row.name for row in rows()]
    assert len(names) == len(set(names)) >= 1500


def test_a_verdict_finds_what_is_wrong():
    def found(call, says="x"):
        return verdict(Row("x", call, says))

    assert found(lambda: None) == "accepted"
    assert found(lambda: 1 / 0).startswith("ZeroDivisionError")
    assert "raised in" in found(lambda: float("x"))
    assert "does not say 'horizon'" in found(lambda: loa.stack([]), "horizon")
    assert found(lambda: loa.stack([]), "algorithm") == ""


@pytest.mark.parametrize(
    "words",
    [
        "run lassso", "run missing.py", "run lasso --preset tiny", "run lasso --how best", "run lasso --seed x",
        "run lasso --nonsense", "run", "run lasso --images nowhere", "report",
        "report nowhere", "report nowhere --nonsense", "train lassso", "train lasso --how best",
        "train lasso --effort x",
        "compare lassso", "compare lasso --algorithms Newton", "compare lasso --problems many", "compare", "nonsense",
    ],
)  # fmt: skip
def test_the_command_line_answers_in_a_sentence(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli.app, words.split())
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code in (1, 2)
    if done.exit_code == 1:
        assert done.stderr.startswith("loa: ")
        assert len(done.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("problems", [[np.nan, 1.0], [np.inf, 1.0], [-np.inf, 0.0], [1e308, -1e308]])
def test_problems_that_are_not_finite_have_outcomes(problems):
    performance = evaluate(problems=jnp.asarray(problems), functionals=[loa.StoppingTime(), loa.Gap(2)])
    assert set(performance.outcome.ravel()) <= {"solved", "exhausted", "diverged"}


def test_numbers_of_every_kind_are_accepted():
    for number in (5, 5.0, np.int32(5), np.float32(5), jnp.asarray(5), np.asarray(5.0)):
        assert evaluate(horizon=number).horizon == 5
        assert loa.certify([1.0], cap=number).cap == 5.0
    assert loa.loss_below(jnp.asarray(0.5)).tolerance == 0.5
