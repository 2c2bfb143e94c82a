"""Few programs are compiled, and long sessions forget them before mappings run out."""

import itertools
from pathlib import Path

import jax
import pytest
from classes import Bowls

import loa
from loa.machine import compiled_programs as mappings

BOWLS = Bowls()
on_linux = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="not Linux")


def in_use():
    with open("/proc/self/maps") as lines:
        return sum(1 for _ in lines)


@pytest.fixture
def counted_each_time(monkeypatch):
    monkeypatch.setattr(mappings, "EVERY", 1)
    monkeypatch.setattr(mappings, "_asked", itertools.count())


def evaluate(count=4, horizon=3000, tolerance=1e-6, step_size=0.1):
    problems = BOWLS.draw(jax.random.key(0), count)
    options = dict(criterion=loa.loss_below(tolerance), horizon=horizon, key=jax.random.key(1))
    return loa.evaluate(loa.GradientDescent(step_size), BOWLS, problems, **options)


def test_numbers_are_arguments_of_programs():
    """Tolerance, horizon and parameters of the algorithm change without compiling; the number of problems does not."""
    compiled = []
    first = evaluate()["stopping_time"]
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiled.append(event) if event.endswith("backend_compile_duration") else None
    )
    looser, shorter, longer = evaluate(tolerance=1e-2), evaluate(horizon=7), evaluate(step_size=0.2)
    assert not compiled
    assert looser["stopping_time"].mean() < first.mean()
    assert shorter["stopping_time"].max() == 7
    assert longer["stopping_time"].mean() < first.mean()
    evaluate(count=5)
    assert compiled


@on_linux
@pytest.mark.slow
def test_programs_are_forgotten_when_mappings_run_out(counted_each_time, monkeypatch):
    """With room for no more than there are now, the number stays where it is however many programs are compiled."""
    first = evaluate()["stopping_time"]
    assert not mappings.make_room()
    before = in_use()
    monkeypatch.setattr(mappings, "SHARE", before / int(Path("/proc/sys/vm/max_map_count").read_text()))
    for count in range(5, 11):
        evaluate(count)
    assert in_use() < before + 600
    assert (evaluate()["stopping_time"] == first).all()


@on_linux
def test_where_mappings_cannot_be_counted_nothing_happens(counted_each_time, monkeypatch):
    monkeypatch.setattr(mappings, "Path", lambda name: Path("/nowhere") / name[1:])
    assert not mappings.make_room()
