"""The figure that shows the learned algorithm against the best baseline, problem by problem."""

import numpy as np
import pytest
import runs

from loa.presentation.figures import pairs
from loa.results.quantities import values


@pytest.fixture(scope="module")
def results():
    return runs.example()


def test_there_is_a_dot_for_every_problem(results):
    figure = pairs.draw(results)
    (axes,) = figure.axes
    dots = axes.lines[1]
    times = values(results.performance, "stopping_time")
    np.testing.assert_array_equal(dots.get_ydata(), 1 + times["learned"].ravel())
    best = min(results.summary.baselines, key=lambda name: results.summary.baselines[name].average("stopping_time"))
    np.testing.assert_array_equal(dots.get_xdata(), 1 + times[best].ravel())
    assert best in axes.get_xlabel()


def test_without_a_baseline_there_is_no_figure(results):
    assert pairs.draw(runs.made_up().renamed(["learned"], [0]).results()) is None
