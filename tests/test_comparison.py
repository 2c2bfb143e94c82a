"""Comparisons are paired and point the right way."""

import io

import jax
import numpy as np
import pytest
import runs
from classes import Bowls
from rich.console import Console

import loa
from loa.results.algorithm_summary import AlgorithmSummary
from loa.results.table import show

KEY = jax.random.key(2)


@pytest.fixture(scope="module")
def comparison():
    problems = Bowls().draw(jax.random.key(1), 30)
    algorithms = {"slow": loa.GradientDescent(0.5), "fast": loa.GradientDescent(1.0)}
    return loa.compare(algorithms, Bowls(), problems, criterion=loa.loss_below(1e-4), horizon=1000, key=KEY)


def test_advantage_is_what_is_saved(comparison):
    slow, fast = (comparison.performances[name]["stopping_time"] for name in ("slow", "fast"))
    advantage = comparison.advantage("fast", over="slow")
    assert float(advantage) == pytest.approx((slow - fast).mean())
    decided = comparison.verdict("fast", over="slow")
    assert decided.outcome == ("better" if decided.low > 0 else "not decided")
    assert (advantage.low, advantage.high) == (decided.low, decided.high)
    assert advantage.low < advantage < advantage.high
    assert float(comparison.advantage("slow", over="fast")) == -float(advantage)
    assert float(comparison.faster("fast", over="slow")) == (fast < slow).mean() == 1.0
    assert comparison.faster("fast", over="slow").low < 1.0


def test_summary_and_data_set_agree(comparison):
    data = comparison.to_xarray()
    for name in ("slow", "fast"):
        mean = comparison.summary()[name]["stopping_time"]["mean"]
        assert float(data["stopping_time"].sel(algorithm=name).mean()) == pytest.approx(mean)
        assert comparison.summary()[name]["solved"] == 1.0


def shown(comparison, width):
    console = Console(width=width, file=io.StringIO())
    show(console, comparison.table("title"))
    return console.file.getvalue()


def test_the_table_has_a_row_for_each_and_a_column_for_a_functional_of_the_user():
    algorithms = {"slow [1/2]": loa.GradientDescent(0.5), "fast and with a long name": loa.GradientDescent(1.0)}
    functionals = loa.StoppingTime(), runs.Energy(), runs.Energy(name="once more", cap=1e-3)
    problems = Bowls().draw(jax.random.key(1), 5)
    comparison = loa.compare(
        algorithms, Bowls(), problems, criterion=loa.loss_below(1e-4), horizon=1000, key=KEY, functionals=functionals
    )
    assert comparison.table("title").row_count == 2
    wide, narrow = shown(comparison, 200), shown(comparison, 30)
    assert "slow [1/2]" in wide
    assert "…" not in narrow
    numbers = comparison.algorithms["slow [1/2]"]
    for text in (wide, narrow):
        for functional in ("energy", "once more"):
            assert f"{numbers.functionals[functional].mean:.4g}" in text
        assert text.count("(J)") == 2


def test_the_summary_is_that_of_a_run(comparison):
    described = comparison.summary()["fast"]
    assert described["family"] == "GradientDescent"
    assert AlgorithmSummary.from_json(described) == comparison.algorithms["fast"]
    assert {"mean", "median", "q95", "cvar95", "intervals"} == set(described["stopping_time"])
    seconds = comparison.performances["fast"].seconds
    assert described["milliseconds"] == pytest.approx(1e3 * seconds / 30)


def test_a_comparison_needs_the_stopping_time():
    with pytest.raises(ValueError, match=r"needs loa.StoppingTime"):
        loa.compare(
            {"slow": loa.GradientDescent(0.1)},
            Bowls(),
            np.ones((2, 4)),
            criterion=loa.loss_below(1),
            horizon=1,
            key=KEY,
            functionals=(),
        )
