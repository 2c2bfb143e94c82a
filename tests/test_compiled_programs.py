"""Long sessions forget compiled programs before mappings run out."""

import itertools
from pathlib import Path

import jax
import pytest
from classes import Bowls

import loa
from loa.machine import compiled_programs as mappings

BOWLS = Bowls()
pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="not Linux")


def in_use():
    with open("/proc/self/maps") as lines:
        return sum(1 for _ in lines)


@pytest.fixture
def counted_each_time(monkeypatch):
    monkeypatch.setattr(mappings, "EVERY", 1)
    monkeypatch.setattr(mappings, "_asked", itertools.count())


def evaluate(horizon):
    problems = BOWLS.draw(jax.random.key(0), 4)
    options = dict(criterion=loa.loss_below(1e-6), horizon=horizon, key=jax.random.key(1))
    return loa.evaluate(loa.GradientDescent(0.1), BOWLS, problems, **options)


@pytest.mark.slow
def test_programs_are_forgotten_when_mappings_run_out(counted_each_time, monkeypatch):
    """With room for no more than there are now, the number stays where it is however many programs are compiled."""
    first = evaluate(50)["stopping_time"]
    assert not mappings.make_room()
    before = in_use()
    monkeypatch.setattr(mappings, "SHARE", before / int(Path("/proc/sys/vm/max_map_count").read_text()))
    for horizon in range(51, 57):
        evaluate(horizon)
    assert in_use() < before + 600
    assert (evaluate(50)["stopping_time"] == first).all()


def test_where_mappings_cannot_be_counted_nothing_happens(counted_each_time, monkeypatch):
    monkeypatch.setattr(mappings, "Path", lambda name: Path("/nowhere") / name[1:])
    assert not mappings.make_room()
