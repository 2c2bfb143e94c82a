"""Bad input ends in one sentence of loa's own: the table of `benchmarks/faults`, and what must not be refused."""

import jax.numpy as jnp
import numpy as np
import pytest

import loa
from benchmarks.faults import bad_arguments


@pytest.mark.parametrize("group", bad_arguments.GROUPS, ids=lambda group: group.__name__.removesuffix("_rows"))
def test_bad_arguments_end_in_a_sentence(group):
    wrong = {row.name: verdict for row in group() if (verdict := bad_arguments.verdict(row))}
    assert not wrong


def test_the_table_is_long_and_names_no_row_twice():
    names = [row.name for row in bad_arguments.rows()]
    assert len(names) == len(set(names)) >= 1500


def test_a_verdict_finds_what_is_wrong():
    def verdict(call, says="x"):
        return bad_arguments.verdict(bad_arguments.Row("x", call, says))

    assert verdict(lambda: None) == "accepted"
    assert verdict(lambda: 1 / 0).startswith("ZeroDivisionError")
    assert "raised in" in verdict(lambda: float("x"))
    assert "does not say 'horizon'" in verdict(lambda: loa.stack([]), "horizon")
    assert verdict(lambda: loa.stack([]), "algorithm") == ""


@pytest.mark.parametrize("problems", [[np.nan, 1.0], [np.inf, 1.0], [-np.inf, 0.0], [1e308, -1e308]])
def test_problems_that_are_not_finite_have_outcomes(problems):
    performance = bad_arguments.evaluate(problems=jnp.asarray(problems), functionals=[loa.StoppingTime(), loa.Gap(2)])
    assert set(performance.outcome.ravel()) <= {"solved", "exhausted", "diverged"}


def test_numbers_of_every_kind_are_accepted():
    for number in (5, 5.0, np.int32(5), np.float32(5), jnp.asarray(5), np.asarray(5.0)):
        assert bad_arguments.evaluate(horizon=number).horizon == 5
        assert loa.certify([1.0], cap=number).cap == 5.0
    assert loa.loss_below(jnp.asarray(0.5)).tolerance == 0.5
    assert loa.Gap(np.int64(3)).steps == 3
