"""Bad arguments of evaluations and comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np

import loa

from .calls import compare, evaluate, setting, trajectories
from .rows import (
    INF,
    NAN,
    NOT_COUNTS,
    Row,
    each,
    not_keys,
    not_problems,
    things,
)


def evaluation_rows() -> Iterator[Row]:
    for function in (evaluate, trajectories, compare):
        name = function.__name__
        yield from each(f"{name} horizon", lambda v, f=function: f(horizon=v), NOT_COUNTS)
        yield from each(f"{name} replicates", lambda v, f=function: f(replicates=v), NOT_COUNTS)
        yield from each(f"{name} key", lambda v, f=function: f(key=v), not_keys())
    for function in (evaluate, trajectories):
        name = function.__name__
        yield from each(
            f"{name} problems", lambda v, f=function: f(problems=_given(v)), not_problems(), "problems|loss"
        )
        algorithms = (3.0, "sgd", loa.GradientDescent, jnp.sin, things()["example"])
        yield from each(f"{name} algorithm", lambda v, f=function: f(algorithm=v), algorithms)
        classes = (loa.problems.Lasso, "lasso", 3.0, loa.GradientDescent(0.1))
        yield from each(f"{name} problem_class", lambda v, f=function: f(problem_class=v), classes)
    yield Row("trajectories of a stack", lambda: trajectories(things()["stack"]), "stack")
    yield from each(
        "evaluate criterion",
        lambda v: evaluate(criterion=v),
        (1e-6, None, loa.loss_below, "loss", [loa.loss_below(1.0)]),
    )
    yield from each("evaluate width", lambda v: evaluate(width=v), (0, -1, 2.5, NAN, INF, "wide", 2**31, True))
    yield from each("evaluate devices", lambda v: evaluate(devices=v), ([], "cpu", 2, ["cpu"], [0]))
    functionals = (loa.StoppingTime(), None, 3, "stopping_time", ["stopping_time"], [loa.StoppingTime], [None])
    yield from each("evaluate functionals", lambda v: evaluate(functionals=v), functionals, "functional")
    yield from each(
        "compare functionals",
        lambda v: compare(functionals=v),
        (None, 3, [], [None], "stopping_time"),
        "functional|StoppingTime",
    )
    yield from each("evaluate checkpoints", lambda v: evaluate(checkpoints=v), (3, 1.5, ["a"]), "checkpoints")
    algorithms = (
        None,
        {},
        [],
        loa.GradientDescent(0.1),
        [loa.GradientDescent(0.1)],
        {"a": None},
        {"a": loa.SGD},
        {3: 4},
    )
    yield from each(
        "compare algorithms",
        lambda v: loa.compare(v, things()["example"], things()["problems"], **setting()),
        algorithms,
        "algorithm",
    )
    yield from each(
        "evaluate problems of another class",
        lambda v: evaluate(problems=v),
        (np.ones((3, 4)), loa.problems.OutlierMixture().draw(things()["key"], 2)),
        "RunningExample",
    )
    valleys = loa.problems.Rosenbrock(dimension=2)
    yield Row("evaluate problems of another class=Rosenbrock", lambda: evaluate(problem_class=valleys), "Rosenbrock")
    performance = evaluate()
    yield from each("performance functional", lambda v: performance[v], ("rate", "", None, 3), "functional")
    yield from each(
        "loa.certify functional", lambda v: loa.certify(performance, v), ("rate", 3, loa.StoppingTime()), "functional"
    )
    comparison = compare()
    yield from each("advantage algorithm", lambda v: comparison.advantage(v, over="a"), ("b", None), "algorithm")
    yield from each("faster algorithm", lambda v: comparison.faster("a", over=v), ("b", 3), "algorithm")


def _given(value: Any) -> Any:
    """None stands for a default in `evaluate` above, so that None itself is given in a list."""
    return [None] if value is None else value
