"""Stopping times over the instances of a log, from the first to the last."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .values import Array, names

if TYPE_CHECKING:
    import xarray

WINDOWS = 20
"""A moving average is over the instances of a part of the log: this many parts."""


class OverTime(NamedTuple):
    """Moving averages of the stopping time, in the order of a log.

    Fields:
        places: of the last instance of each average.
        means: by algorithm.
        window: the number of instances in an average.
        parts: for each role in its order, the first and the last place.
    """

    places: Array
    means: dict[str, Array]
    window: int
    parts: dict[str, tuple[int, int]]


def moving_average(times: Array, window: int) -> Array:
    """Means of all stretches of consecutive values.

    >>> moving_average(np.array([1.0, 3.0, 5.0]), 2).tolist()
    [2.0, 4.0]
    """
    sums = np.cumsum(np.concatenate([[0.0], np.asarray(times, float)]))
    return (sums[window:] - sums[:-window]) / window


def over_time(performance: xarray.Dataset) -> OverTime | None:
    """What happened over time; None if problems do not come from a log that is in the order of time."""
    if "log_stopping_time" not in performance or performance.attrs.get("log_order") != "time":
        return None
    times = performance["log_stopping_time"].transpose("algorithm", "instance").values
    places, roles = performance["log_place"].values, performance["log_role"].values.astype(str)
    window = max(5, len(places) // WINDOWS)
    means = {name: moving_average(each, window) for name, each in zip(names(performance), times, strict=True)}
    found = [role for role in dict.fromkeys(roles) if role]
    parts = {role: (int(places[roles == role].min()), int(places[roles == role].max())) for role in found}
    return OverTime(places[window - 1 :], means, window, parts)
