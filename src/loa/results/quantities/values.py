"""Values of functionals by algorithm and by problem, and their quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...statistics import quantiles
from ..names import TIMES

if TYPE_CHECKING:
    import xarray

Array = NDArray[np.floating]

LEVELS = {"smallest": 0.0, "5%": 0.05, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95, "largest": 1.0}
"""Quantiles that describe a distribution in one row of a table."""


def names(performance: xarray.Dataset) -> list[str]:
    """The algorithms of a run, the learned one first."""
    return [str(name) for name in performance["algorithm"].values]


def values(performance: xarray.Dataset, functional: str) -> dict[str, NDArray]:
    """Values of a functional, or outcomes, by algorithm: arrays (problem, replicate)."""
    array = performance[functional].transpose("algorithm", "problem", "replicate").values
    return dict(zip(names(performance), array, strict=True))


def quantile(sample: ArrayLike, level: float) -> float:
    """The quantile of all values, as `loa.measures.quantile` has it; NaN if any of them is NaN.

    The levels 0 and 1 are the smallest and the largest value.

    >>> quantile([1.0, 2.0, 3.0, 4.0], 0.5), quantile([1.0, 2.0], 1.0)
    (2.0, 2.0)
    """
    sample = np.asarray(sample, float).ravel()
    if np.isnan(sample).any():
        return float("nan")
    if level in (0.0, 1.0):
        return float(sample.min() if level == 0 else sample.max())
    return quantiles.quantile(sample, level)


def time_of(performance: xarray.Dataset) -> str:
    """The functional that says how long a problem takes."""
    return next(name for name in TIMES if name in performance)


class ProblemRow(NamedTuple):
    """One test problem: its number, every algorithm's stopping time and whether it was solved, and its features."""

    number: int
    times: dict[str, float]
    solved: dict[str, bool]
    features: dict[str, float]


def ranking(performance: xarray.Dataset) -> list[ProblemRow]:
    """Test problems from the easiest to the hardest for the learned algorithm, by its mean stopping time.

    With several replicates, times are averages, and a problem counts as solved if all of them solved it.
    """
    times = {name: each.astype(float).mean(axis=1) for name, each in values(performance, time_of(performance)).items()}
    solved = {name: (each == "solved").all(axis=1) for name, each in values(performance, "outcome").items()}
    features = _features(performance)
    learned = next(iter(times.values()))
    order = np.argsort(np.where(np.isnan(learned), np.inf, learned), kind="stable")
    return [
        ProblemRow(
            int(number),
            {name: float(each[number]) for name, each in times.items()},
            {name: bool(each[number]) for name, each in solved.items()},
            {name: float(each[number]) for name, each in features.items()},
        )
        for number in order
    ]


def _features(performance: xarray.Dataset) -> dict[str, NDArray]:
    if "features" not in performance:
        return {}
    columns = performance["features"].transpose("feature", "problem").values
    return {str(name): each for name, each in zip(performance["feature"].values, columns, strict=True)}
