"""Bad arguments of measures and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from loa import certificates as c
from loa import measures

from .rows import (
    INF,
    NAN,
    NOT_COUNTS,
    NOT_FRACTIONS,
    NOT_POSITIVE,
    NOT_VALUES,
    NOT_WEIGHTS,
    OUTSIDE_CAP,
    Row,
    each,
)

VALUE_BOUNDS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "betting_bound": lambda values, delta, cap: c.betting_bound(values, delta, cap),
    "lower_betting_bound": lambda values, delta, cap: c.lower_betting_bound(values, delta, cap),
    "anytime_bounds": lambda values, delta, cap: c.anytime_bounds(values, delta, cap),
    "cvar_bound": lambda values, delta, cap: c.cvar_bound(values, 0.5, 0.0, delta, cap),
}
FREE_BOUNDS: dict[str, Callable[[Any, Any], Any]] = {
    "tail_bound": lambda values, delta: c.tail_bound(values, 1.0, delta),
    "quantile_bound": lambda values, delta: c.quantile_bound(values, 0.5, delta),
    "lower_cvar_bound": lambda values, delta: c.lower_cvar_bound(values, 0.5, delta),
    "simple_band": c.simple_band,
    "tight_band": c.tight_band,
}


def measure_rows() -> Iterator[Row]:
    for function in (measures.mean, measures.summary, measures.probability):
        name = function.__name__
        yield from each(f"measures.{name} values", function, NOT_VALUES)
        yield from each(f"measures.{name} confidence", lambda v, f=function: f([0.0, 1.0], confidence=v), NOT_FRACTIONS)
    for function in (measures.quantile, measures.cvar):
        name = function.__name__
        yield from each(f"measures.{name} values", lambda v, f=function: f(v, 0.5), NOT_VALUES)
        yield from each(f"measures.{name} level", lambda v, f=function: f([0.0, 1.0], v), NOT_FRACTIONS)
    yield from each("measures.tail_probability values", lambda v: measures.tail_probability(v, 1.0), NOT_VALUES)
    yield from each(
        "measures.tail_probability threshold",
        lambda v: measures.tail_probability([1.0], v),
        (NAN, "a", None, 1j, (1.0, 2.0)),
    )
    yield from each(
        "measures.performance values",
        lambda v: measures.performance(v, [1.0]),
        ([], [1.0], "text", None, [[NAN]], [[1j]]),
    )
    yield from each("measures.performance weights", lambda v: measures.performance(np.ones((2, 3)), v), NOT_WEIGHTS)


def bound_rows() -> Iterator[Row]:
    for name, bound in VALUE_BOUNDS.items():
        yield from each(f"{name} values", lambda v, b=bound: b(v, 0.05, 2.0), NOT_VALUES + OUTSIDE_CAP, "value")
        yield from each(f"{name} delta", lambda v, b=bound: b([1.0], v, 2.0), NOT_FRACTIONS)
        yield from each(f"{name} cap", lambda v, b=bound: b([1.0], 0.05, v), NOT_POSITIVE)
    for name, bound in FREE_BOUNDS.items():
        yield from each(f"{name} values", lambda v, b=bound: b(v, 0.05), NOT_VALUES, "value")
        yield from each(f"{name} delta", lambda v, b=bound: b([1.0], v), NOT_FRACTIONS)
    yield from each("tail_bound threshold", lambda v: c.tail_bound([1.0], v, 0.05), (NAN, "a", None, 1j))
    yield from each("quantile_bound level", lambda v: c.quantile_bound([1.0], v, 0.05), NOT_FRACTIONS)
    yield from each("cvar_bound threshold", lambda v: c.cvar_bound([1.0], 0.5, v, 0.05, 2.0), (-1, 2.0, NAN, "a", None))
    yield from each("cvar_threshold prior_values", lambda v: c.cvar_threshold(v, 0.5, 2.0), NOT_VALUES, "value")
    yield from each("cvar_threshold level", lambda v: c.cvar_threshold([1.0], v, 2.0), NOT_FRACTIONS)
    yield from each(
        "betting_bound prior_values", lambda v: c.betting_bound([1.0], 0.05, 2.0, v), ([], [NAN], [3.0], "a"), "value"
    )
    for bound in (c.clopper_pearson_lower, c.clopper_pearson_upper):
        name = bound.__name__
        yield from each(f"{name} successes", lambda v, b=bound: b(v, 10, 0.05), (-1, 11, 2.5, NAN, "all", None, 1j))
        yield from each(f"{name} trials", lambda v, b=bound: b(0, v, 0.05), (0, -1, 2.5, NAN, INF, "ten", None, 1j))
        yield from each(f"{name} delta", lambda v, b=bound: b(0, 10, v), NOT_FRACTIONS)
    for name, bound in {
        "paper_bound": lambda e, k, n, lam, d: c.paper_bound(e, k, n, lam, d, 1.0),
        "sharp_bound": lambda e, k, n, lam, d: c.sharp_bound(e, k, n, lam, d, 1.0),
        "catoni_bound": c.catoni_bound,
        "kl_bound": lambda e, k, n, lam, d: c.kl_bound(e, k, n, d),
    }.items():
        yield from each(
            f"{name} empirical", lambda v, b=bound: b(v, 0.0, 10, 1.0, 0.05), (-1.0, 2.0, NAN, "a", None, 1j)
        )
        yield from each(f"{name} kl", lambda v, b=bound: b(0.5, v, 10, 1.0, 0.05), (-1.0, NAN, INF, "a", None, 1j))
        yield from each(
            f"{name} num_problems", lambda v, b=bound: b(0.5, 0.0, v, 1.0, 0.05), (0, -1, 2.5, NAN, "a", None)
        )
        yield from each(f"{name} delta", lambda v, b=bound: b(0.5, 0.0, 10, 1.0, v), NOT_FRACTIONS)
        if name != "kl_bound":
            yield from each(
                f"{name} lam", lambda v, b=bound: b(0.5, 0.0, 10, v, 0.05), (0.0, -1.0, NAN, INF, "a", None)
            )
    yield from each("kl_inverse p", lambda v: c.kl_inverse(v, 0.1), (-0.1, 1.1, NAN, "a", None), "p must")
    yield from each("kl_inverse divergence", lambda v: c.kl_inverse(0.5, v), (-0.1, NAN, "a", None))
    own = dict(low=0.1, high=0.5, count=3)
    for argument, values in (("low", NOT_POSITIVE), ("high", NOT_POSITIVE), ("count", NOT_COUNTS)):
        yield from each(f"geometric_grid {argument}", lambda v, a=argument: c.geometric_grid(**(own | {a: v})), values)
        if argument != "count":
            yield from each(f"odds_grid {argument}", lambda v, a=argument: c.odds_grid(**(own | {a: v})), NOT_POSITIVE)
    yield from each("held_out_is_better share", lambda v: c.held_out_is_better(v, 0.5), NOT_FRACTIONS)
    yield from each("held_out_is_better prior_mass", lambda v: c.held_out_is_better(0.5, v), (0, -1, 2, NAN, "a", None))


def pair_rows() -> Iterator[Row]:
    for bound in (c.difference_bound, c.ratio_bound, c.anytime_difference_bounds, c.anytime_ratio_bound):
        name = bound.__name__
        yield from each(f"{name} values", lambda v, b=bound: b(v, [1.0], 0.05, 2.0), NOT_VALUES, "value")
        yield from each(
            f"{name} baseline",
            lambda v, b=bound: b([1.0], v, 0.05, 2.0),
            ([], [1.0, 1.0], [NAN], [3.0], "a", None),
            "value|baseline|pair",
        )
        yield from each(f"{name} delta", lambda v, b=bound: b([1.0], [1.0], v, 2.0), NOT_FRACTIONS)
        yield from each(f"{name} cap", lambda v, b=bound: b([1.0], [1.0], 0.05, v), NOT_POSITIVE)
    yield from each(
        "better_bound baseline",
        lambda v: c.better_bound([1.0], v, 0.05),
        ([], [1.0, 1.0], [NAN], "a"),
        "value|baseline|pair",
    )
