"""Timing algorithms in turn."""

import pytest

from loa.statistics.timing import ROUNDS, best_in_turn


def clocks(**readings):
    """Runs that report these times one after the other, and the order in which they were asked."""
    asked = []

    def run(name, times):
        def report():
            asked.append(name)
            return next(times)

        return report

    return {name: run(name, iter(times)) for name, times in readings.items()}, asked


def test_algorithms_take_turns_and_the_shortest_time_counts():
    runs, asked = clocks(slow=[4.0, 3.0, 5.0, 9.0, 9.0], fast=[1.0, 2.0, 0.5, 9.0, 9.0])
    assert best_in_turn(runs, budget=100.0) == {"slow": 3.0, "fast": 0.5}
    assert asked == ["slow", "fast"] * ROUNDS


@pytest.mark.parametrize(("budget", "rounds"), [(0.0, 1), (4.9, 1), (5.0, 2), (14.9, 3)])
def test_there_are_as_many_more_rounds_as_the_budget_affords(budget, rounds):
    runs, asked = clocks(slow=[4.0] * 9, fast=[1.0] * 9)
    best_in_turn(runs, budget)
    assert asked == ["slow", "fast"] * rounds


def test_a_first_round_that_has_been_made_is_not_made_again():
    runs, asked = clocks(slow=[3.0], fast=[2.0])
    assert best_in_turn(runs, budget=5.0, first={"slow": 4.0, "fast": 1.0}) == {"slow": 3.0, "fast": 1.0}
    assert asked == ["slow", "fast"]
