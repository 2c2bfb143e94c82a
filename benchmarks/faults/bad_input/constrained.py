"""Bad arguments of sets, penalties and programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import loa
from loa import sets

from .rows import NAN, Row, each

NOT_NUMBERS = ("a", None, 1j, [object()], {"a": 1.0})
NOT_LARGE_ENOUGH = (-1.0, NAN, "a", None, 1j)


def set_rows() -> Iterator[Row]:
    yield from each("Box lower", lambda v: sets.Box(v, 1.0), NOT_NUMBERS)
    yield from each("Box upper", lambda v: sets.Box(0.0, v), NOT_NUMBERS)
    yield Row("Box upside down", lambda: sets.Box(1.0, 0.0), "lower|upper")
    yield Row("Box of other shapes", lambda: sets.Box(np.zeros(2), np.ones(3)), "lower|upper|shape")
    for name, of in (("Simplex total", sets.Simplex), ("Ball radius", sets.Ball), ("L1Ball radius", sets.L1Ball)):
        yield from each(name, of, (0.0, *NOT_LARGE_ENOUGH))
    yield from each("Ball center", lambda v: sets.Ball(1.0, v), NOT_NUMBERS)
    terms: Any = (sets.L1Norm, sets.NuclearNorm, sets.TotalVariation)
    for of in terms:
        yield from each(f"{of.__name__} weight", of, NOT_LARGE_ENOUGH)
    yield from each("GroupNorm weight", lambda v: sets.GroupNorm(v, groups=2), NOT_LARGE_ENOUGH)
    yield from each("GroupNorm groups", lambda v: sets.GroupNorm(1.0, groups=v), (0, -1, "a", None, [], [1.5], 2.5))
    yield from each("Affine matrix", lambda v: sets.Affine(v, np.ones(1)), ("a", None, np.ones(2), np.ones((2, 2, 2))))
    yield from each("Affine right", lambda v: sets.Affine(np.ones((1, 2)), v), ("a", None, np.ones(3), np.ones((2, 2))))
    yield from each("Product parts", lambda v: sets.Product(v), (3, "a", None, {"a": 3.0}, [None]), "")


def program_rows() -> Iterator[Row]:
    yield from each("residuals_below eps_abs", loa.residuals_below, (0.0, -1.0, NAN, "a", None))
