"""Bad arguments of problem classes, criteria, functionals and algorithms."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import numpy as np

import loa

from .rows import (
    INF,
    NAN,
    NOT_COUNTS,
    NOT_FRACTIONS,
    NOT_POSITIVE,
    NOT_WEIGHTS,
    Row,
    each,
    not_keys,
    not_problems,
    things,
)


def problem_rows() -> Iterator[Row]:
    problems = loa.problems
    key = things()["key"]
    yield from each("draw num_problems", lambda v: things()["example"].draw(key, v), NOT_COUNTS)
    yield from each("draw key", lambda v: things()["example"].draw(v, 1), not_keys())
    for name, argument in (
        ("Quadratics", "dimension"),
        ("Lasso", "rows"),
        ("Lasso", "columns"),
        ("NetworkTraining", "num_points"),
        ("StochasticNetworkTraining", "num_points"),
        ("StochasticNetworkTraining", "batch_size"),
        ("Rosenbrock", "dimension"),
    ):
        yield from each(f"{name} {argument}", lambda v, n=name, a=argument: getattr(problems, n)(**{a: v}), NOT_COUNTS)
    ranges = ((2.0, 1.0), (-1.0, 1.0), (NAN, 1.0), 3, None, "ab", (1.0,), (1.0, INF))
    for name, argument in (
        ("Quadratics", "strong_convexity"),
        ("Quadratics", "smoothness_range"),
        ("Lasso", "regularization"),
        ("Rosenbrock", "steepness"),
    ):
        yield from each(f"{name} {argument}", lambda v, n=name, a=argument: getattr(problems, n)(**{a: v}), ranges)
    yield from each(
        "Rosenbrock bottom", lambda v: problems.Rosenbrock(bottom=v), ((2.0, 1.0), (NAN, 1.0), 3, None, "ab")
    )
    yield from each("Lasso seed", lambda v: problems.Lasso(rows=2, columns=2, seed=v), (2.5, "a", None, NAN, -1))
    yield from each("LogisticRegression penalty", problems.LogisticRegression, NOT_POSITIVE)
    for argument in ("smallest", "largest"):
        yield from each(
            f"RunningExample {argument}", lambda v, a=argument: problems.RunningExample(**{a: v}), NOT_POSITIVE, "m|L"
        )
    yield from each("OutlierMixture curvature", lambda v: problems.OutlierMixture(curvature=v), NOT_POSITIVE)
    yield from each(
        "OutlierMixture outlier_probability",
        lambda v: problems.OutlierMixture(outlier_probability=v),
        (-0.1, 1.1, NAN, "a", None),
    )
    yield from each(
        "ImageRestoration size", lambda v: problems.ImageRestoration(size=v), ((2, 2), (0, 9), 3, None, "ab", (2.5, 9))
    )
    yield from each(
        "ImageRestoration images",
        problems.ImageRestoration,
        ("/no/such/folder", __file__, 3),
        "photographs|folder|images",
    )
    loss = lambda x, problem: x**2  # noqa: E731
    yield from each(
        "FromInstances instances", lambda v: loa.FromInstances(v, loss, 0.0), not_problems()[:8], "instances|problems"
    )
    yield from each("FromInstances loss", lambda v: loa.FromInstances(np.ones(2), v, 0.0), (3, None, "loss"))
    yield from each(
        "FromInstances start", lambda v: loa.FromInstances(np.ones(2), loss, v), ("a", None, [1j], object(), {"x": "a"})
    )
    yield from each("FromFunctions sample", lambda v: loa.FromFunctions(v, loss, 0.0), (3, None, "sample"))
    yield from each("FromFunctions loss", lambda v: loa.FromFunctions(jax.random.uniform, v, 0.0), (3, None))
    yield from each("FromFunctions start", lambda v: loa.FromFunctions(jax.random.uniform, loss, v), ("a", None, [1j]))
    yield from each("has method", things()["example"].has, ("curvature", None, 3), "optional method")
    yield from each(
        "optimal_losses problem_class",
        lambda v: loa.optimal_losses(v, things()["problems"]),
        (things()["example"], 3, None),
    )
    yield from each("experiments.get name", loa.experiments.get, ("lassso", "", None, 3, []), "experiment")


def part_rows() -> Iterator[Row]:
    for criterion in (
        loa.loss_below,
        loa.gradient_norm_below,
        loa.distance_below,
        loa.prox_residual_below,
        loa.gap_below,
    ):
        yield from each(f"{criterion.__name__} tolerance", criterion, (-1.0, NAN, "small", None, 1j, (1.0, 2.0)))
    yield from each(
        "prox_residual_below step_size", lambda v: loa.prox_residual_below(1.0, v), (0.0, -1.0, NAN, INF, "a", 1j)
    )
    yield from each("gap_below gap", lambda v: loa.gap_below(1.0, v), (3, None, "loss"))
    yield Row("criteria joined by or", lambda: loa.loss_below(1.0) or loa.loss_below(2.0), "combine criteria")
    for functional in (loa.Gap, loa.CumulativeGap):
        yield from each(f"{functional.__name__} step", functional, (-1, 2.5, NAN, INF, "a", None, 1j, 2**31))
    for functional in (loa.Gap, loa.CumulativeGap):
        yield from each(
            f"{functional.__name__} cap", lambda v, f=functional: f(1, cap=v), (0.0, -1.0, NAN, "a", None, 1j)
        )
    for functional in (loa.LargestGap, loa.SmallestGap, loa.ContractionFactor, loa.ConvergenceRate, loa.OracleCalls):
        yield from each(f"{functional.__name__} cap", lambda v, f=functional: f(cap=v), (0.0, -1.0, NAN, "a", None, 1j))
    yield from each(
        "OracleCalls kinds", lambda v: loa.OracleCalls(kinds=v), ("gradient", ["gradient"], 3, None, ("a",))
    )
    yield from each("Indicator predicate", lambda v: loa.Indicator("x", v), (3, None, "a"))
    yield from each("Indicator of", lambda v: loa.Indicator("x", bool, v), (3, None, loa.StoppingTime), "of must")
    yield from each("StoppingTime name", lambda v: loa.StoppingTime(name=v), (3, None, ""))
    numbers = ("a", 1j, [1j], [None], object(), {"a": 1.0})
    for name, argument in (
        ("GradientDescent", "step_size"),
        ("SGD", "step_size"),
        ("HeavyBall", "step_size"),
        ("HeavyBall", "momentum"),
        ("Adam", "learning_rate"),
        ("Adam", "beta1"),
        ("FISTA", "step_size"),
        ("ProximalGradient", "step_size"),
        ("BarzilaiBorwein", "step_size"),
        ("NesterovAcceleratedGradient", "momentum"),
    ):
        own = {"GradientDescent": {}, "HeavyBall": dict(step_size=0.1, momentum=0.1), "Adam": dict(learning_rate=0.1)}
        yield from each(
            f"{name} {argument}",
            lambda v, n=name, a=argument, o=own: getattr(loa, n)(**(o.get(n, {}) | {a: v})),
            numbers,
        )
    yield from each("LBFGS memory", loa.LBFGS, NOT_COUNTS)
    yield from each("LBFGS flatness", lambda v: loa.LBFGS(flatness=v), NOT_FRACTIONS)
    one = loa.GradientDescent(0.1)
    yield from each(
        "stack algorithms",
        loa.stack,
        ([], 3, None, [3], one, [loa.SGD], [one, loa.SGD(0.1)], [one, None], things()["stack"]),
        "algorithm",
    )
    yield from each("stack weights", lambda v: loa.stack([one, one], v), tuple(v for v in NOT_WEIGHTS if v is not None))
    yield from each("stack index", lambda v: things()["stack"][v], ("a", None, 2.5), "candidate|index")
    yield from each("weighted weights", things()["stack"].weighted, ([0.5], [0.5, 0.5], "a", None))
