"""Comparisons are paired and point the right way."""

import jax
import numpy as np
import pytest
from classes import Bowls

import loa

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
    assert advantage.low > 0
    assert float(comparison.advantage("slow", over="fast")) == -float(advantage)
    assert float(comparison.faster("fast", over="slow")) == (fast < slow).mean() == 1.0
    assert comparison.faster("fast", over="slow").low < 1.0


def test_summary_and_data_set_agree(comparison):
    data = comparison.to_xarray()
    for name in ("slow", "fast"):
        mean = comparison.summary()[name]["stopping_time"]["mean"]
        assert float(data["stopping_time"].sel(algorithm=name).mean()) == pytest.approx(mean)
        assert comparison.summary()[name]["solved"] == 1.0


def test_the_table_has_a_row_for_each(comparison):
    assert comparison.table("title").row_count == 2


def test_a_comparison_needs_the_stopping_time():
    with pytest.raises(ValueError, match=r"needs loa.StoppingTime"):
        loa.compare({}, Bowls(), np.ones((2, 4)), criterion=loa.loss_below(1), horizon=1, key=KEY, functionals=())
