"""Bad arguments of training, imitation, tuning and what else learns."""

from __future__ import annotations

from collections.abc import Iterator

import optax

import loa
from loa import learning

from .calls import imitate, langevin, train, tune, tune_by_gradient
from .rows import (
    INF,
    NAN,
    NOT_COUNTS,
    NOT_POSITIVE,
    Row,
    each,
    not_keys,
    not_problems,
    things,
)


def learning_rows() -> Iterator[Row]:
    for function, counts in (
        (train, ("horizon", "steps", "checks", "batch", "pool")),
        (imitate, ("horizon", "steps", "batch", "pool", "length")),
        (langevin, ("horizon", "size", "chains", "thinning", "batch")),
    ):
        name = function.__name__
        for argument in counts:
            yield from each(f"{name} {argument}", lambda v, f=function, a=argument: f(**{a: v}), NOT_COUNTS)
        yield from each(f"{name} key", lambda v, f=function: f(key=v), not_keys())
        yield from each(f"{name} criterion", lambda v, f=function: f(criterion=v), (1e-6, None, "loss"))
        yield from each(f"{name} algorithm", lambda v, f=function: f(v), (3.0, loa.GradientDescent, things()["stack"]))
    yield from each("train problem_class", lambda v: train(problem_class=v), (loa.problems.Lasso, 3.0))
    yield from each("imitate problem_class", lambda v: imitate(problem_class=v), (loa.problems.Lasso, 3.0))
    yield from each("imitate teacher", lambda v: imitate(teacher=v), (3.0, loa.GradientDescent, things()["stack"]))
    for function in (train, imitate):
        name = function.__name__
        yield from each(f"{name} learning_rate", lambda v, f=function: f(learning_rate=v), NOT_POSITIVE)
        yield from each(f"{name} problems", lambda v, f=function: f(problems=v), not_problems()[1:6], "problems")
    yield from each("langevin_support step_size", lambda v: langevin(step_size=v), NOT_POSITIVE)
    for argument in ("averaging", "at_least", "restart"):
        yield from each(f"train {argument}", lambda v, a=argument: train(**{a: v}), (-0.1, 1.1, NAN, "often", 1j))
    yield from each("langevin_support at_least", lambda v: langevin(at_least=v), (-0.1, 1.1, NAN, "often", None))
    yield from each("train objective", lambda v: train(objective=v), (3, "contraction", loa.StoppingTime))
    yield from each("train constraint", lambda v: train(constraint=v), (3, "solved", loa.StoppingTime))
    yield from each(
        "train validation", lambda v: train(validation=v), (0, -1, 2.5, "many", None, [], True, 2**31), "validation"
    )
    yield from each("train optimizer", lambda v: train(optimizer=v), (3, "adam", optax.adam), "optimizer")
    yield Row("train more checks than steps", lambda: train(steps=1, checks=2), "checks")
    known = things()
    curvature = dict(teacher=loa.GradientDescent(0.1), times=(0, 1), key=known["key"])
    for argument, values in (
        ("times", ((), (-1,), (0.5,), "soon", None, 3, (NAN,), (2**31,))),
        ("teacher", (3.0, loa.GradientDescent, None)),
        ("key", not_keys()),
    ):
        yield from each(
            f"average_curvature {argument}",
            lambda v, a=argument: learning.average_curvature(
                known["example"], known["problems"], **(curvature | {a: v})
            ),
            values,
            "algorithm|teacher" if argument == "teacher" else argument,
        )
    step = dict(teacher=loa.GradientDescent(0.1), steps=2, key=known["key"])
    for argument, values in (("steps", NOT_COUNTS), ("teacher", (3.0, loa.GradientDescent)), ("key", not_keys())):
        yield from each(
            f"first_step {argument}",
            lambda v, a=argument: learning.first_step(known["example"], known["problems"], **(step | {a: v})),
            values,
        )
    yield from each("as_objective objective", learning.as_objective, (3, "contraction", loa.Gap))


def tuning_rows() -> Iterator[Row]:
    spaces = (
        {},
        3,
        None,
        [],
        {"step_size": 0.1},
        {"step_size": (0.2, 0.1)},
        {"step_size": (NAN, 1.0)},
        {"step_size": ("a", "b")},
        {"step_size": (0.1, 0.2, 0.3, 0.4)},
        {"step_size": (0.0, INF)},
        {"step_size": learning.Interval(-1.0, 1.0, logarithmic=True)},
        {"step_size": (0.1j, 1.0)},
    )
    for function in (tune, tune_by_gradient):
        name = function.__name__
        yield from each(
            f"{name} space", lambda v, f=function: f(space={3: 4} if v is None else v), spaces, "space|range"
        )
        yield from each(
            f"{name} unknown parameter",
            lambda v, f=function: f(space=v),
            ({"momentum": (0.1, 0.2)},),
            "algorithm_factory",
        )
        yield from each(
            f"{name} start",
            lambda v, f=function: f(start=v),
            ({"step": 0.1}, {"step_size": 9.0}, {"step_size": "a"}, 3, {"step_size": NAN}),
        )
        yield from each(
            f"{name} algorithm_factory",
            lambda v, f=function: f(v),
            (3, loa.GradientDescent(0.1), lambda step_size: step_size),
        )
        yield from each(f"{name} horizon", lambda v, f=function: f(horizon=v), NOT_COUNTS)
        yield from each(f"{name} key", lambda v, f=function: f(key=v), not_keys())
    for argument in ("candidates", "rounds", "replicates"):
        yield from each(f"tune {argument}", lambda v, a=argument: tune(**{a: v}), NOT_COUNTS)
    yield from each("tune measure", lambda v: tune(measure=v), (3, "mean", None))
    yield from each("tune functional", lambda v: tune(functional=v), (3, "stopping_time", loa.StoppingTime))
    yield from each(
        "tune_by_gradient functional", lambda v: tune_by_gradient(functional=v), (3, None, loa.StoppingTime)
    )
    yield from each("tune_by_gradient iterations", lambda v: tune_by_gradient(iterations=v), NOT_COUNTS)
    yield Row(
        "tune_by_gradient without a derivative", lambda: tune_by_gradient(functional=loa.StoppingTime()), "derivative"
    )
