"""The sum of the gaps over the first steps, against whole trajectories."""

import jax
import numpy as np
import pytest

import loa
from loa.problems import RunningExample

EXAMPLE = RunningExample()
PROBLEMS = EXAMPLE.draw(jax.random.key(0), 5)
SETTING = dict(criterion=loa.distance_below(1e-3), horizon=30, key=jax.random.key(1))


def test_it_is_the_sum_over_the_first_steps_also_beyond_the_solution():
    algorithm = loa.GradientDescent(0.15)
    functionals = [loa.StoppingTime(), loa.CumulativeGap(20, gap=loa.gaps.loss)]
    found = loa.evaluate(algorithm, EXAMPLE, PROBLEMS, functionals=functionals, **SETTING)
    losses = loa.trajectories(algorithm, EXAMPLE, PROBLEMS, horizon=20, key=SETTING["key"]).losses[:, 0]
    np.testing.assert_allclose(found["cumulative_gap_20"][:, 0], np.asarray(losses)[:, 1:].sum(axis=1), rtol=1e-12)
    assert (found["stopping_time"] < 20).any()


def test_a_diverged_trajectory_counts_as_the_cap():
    diverging = loa.GradientDescent(1e200)
    functionals = [
        loa.CumulativeGap(20, gap=loa.gaps.loss, cap=7.0),
        loa.CumulativeGap(20, gap=loa.gaps.loss, name="s"),
    ]
    found = loa.evaluate(diverging, EXAMPLE, PROBLEMS, functionals=functionals, **SETTING)
    assert (found["cumulative_gap_20"] == 7.0).all()
    assert np.isinf(found["s"]).all()


@pytest.mark.wrong_types
@pytest.mark.parametrize("step", [0, 2.5])
def test_a_step_that_is_no_positive_whole_number_is_refused(step):
    with pytest.raises(ValueError, match="whole number"):
        loa.CumulativeGap(step)
