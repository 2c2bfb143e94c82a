"""Calls that are right but for the arguments that a row changes, on problems that are tiny."""

from __future__ import annotations

from typing import Any

import loa
from loa import learning

from .rows import (
    things,
)


def setting(**changes: Any) -> dict[str, Any]:
    """Arguments that most functions share."""
    return dict(criterion=loa.gap_below(1e-6), horizon=5, key=things()["key"]) | changes


def evaluate(algorithm: Any = None, problem_class: Any = None, problems: Any = None, **changes: Any) -> Any:
    known = things()
    return loa.evaluate(
        loa.GradientDescent(0.1) if algorithm is None else algorithm,
        known["example"] if problem_class is None else problem_class,
        known["problems"] if problems is None else problems,
        **setting(**changes),
    )


def trajectories(algorithm: Any = None, problem_class: Any = None, problems: Any = None, **changes: Any) -> Any:
    known, own = things(), dict(horizon=3, key=things()["key"])
    return loa.trajectories(
        loa.GradientDescent(0.1) if algorithm is None else algorithm,
        known["example"] if problem_class is None else problem_class,
        known["problems"] if problems is None else problems,
        **(own | changes),
    )


def compare(algorithms: Any = None, **changes: Any) -> Any:
    known = things()
    algorithms = {"a": loa.GradientDescent(0.1)} if algorithms is None else algorithms
    return loa.compare(algorithms, known["example"], known["problems"], **setting(**changes))


def train(algorithm: Any = None, problem_class: Any = None, **changes: Any) -> Any:
    own = dict(steps=2, checks=1, batch=2, pool=2, validation=2)
    given = things()["example"] if problem_class is None else problem_class
    return loa.train(loa.GradientDescent(0.1) if algorithm is None else algorithm, given, **setting(**(own | changes)))


def imitate(algorithm: Any = None, teacher: Any = None, problem_class: Any = None, **changes: Any) -> Any:
    one, known = loa.GradientDescent(0.1), things()
    chosen = [one if each is None else each for each in (algorithm, teacher)]
    own = dict(steps=1, batch=2, pool=2)
    given = known["example"] if problem_class is None else problem_class
    return loa.imitate(*chosen, given, **setting(**(own | changes)))


def langevin(algorithm: Any = None, **changes: Any) -> Any:
    known, own = things(), dict(size=1, chains=1, thinning=1, batch=2)
    algorithm = loa.GradientDescent(0.1) if algorithm is None else algorithm
    return learning.langevin_support(algorithm, known["example"], known["problems"], **setting(**(own | changes)))


def tune(factory: Any = loa.GradientDescent, space: Any = None, **changes: Any) -> Any:
    known, own = things(), dict(candidates=2, rounds=1)
    space = {"step_size": (0.1, 0.2)} if space is None else space
    return loa.tune(factory, space, known["example"], known["problems"], **setting(**(own | changes)))


def tune_by_gradient(factory: Any = loa.GradientDescent, space: Any = None, **changes: Any) -> Any:
    known, own = things(), dict(functional=loa.Gap(2), horizon=3, key=things()["key"], iterations=1)
    space = {"step_size": (0.1, 0.2)} if space is None else space
    return loa.tune_by_gradient(factory, space, known["example"], known["problems"], **(own | changes))
