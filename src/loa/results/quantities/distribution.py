"""Distribution functions: the share of problems solved within a number of iterations, measured and certified."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .values import Array, time_of, values

if TYPE_CHECKING:
    import xarray


class Steps(NamedTuple):
    """A function that jumps: from `places[k]` on it has the height `shares[k]`, and before the first it is zero."""

    places: Array
    shares: Array

    def at(self, points: ArrayLike) -> Array:
        """Its values at some points.

        >>> Steps(np.array([1.0, 3.0]), np.array([0.25, 0.75])).at([0.0, 1.0, 9.0])
        array([0.  , 0.25, 0.75])
        """
        return np.concatenate([[0.0], self.shares])[np.searchsorted(self.places, points, side="right")]

    def between(self, first: float, last: float) -> tuple[Array, Array]:
        """Corners of its graph from `first` to `last`; a jump at infinity is drawn at `last`.

        >>> Steps(np.array([1.0, 3.0, np.inf]), np.array([0.25, 0.75, 1.0])).between(0.0, 9.0)
        (array([0., 1., 3., 9.]), array([0.  , 0.25, 0.75, 1.  ]))
        """
        inside = self.places[(self.places > first) & (self.places < last)]
        end = self.at([np.inf if np.isinf(self.places[-1:]).any() else last])
        return np.concatenate([[first], inside, [last]]), np.concatenate([self.at([first]), self.at(inside), end])

    def median(self) -> float:
        """Where it reaches one half; infinity if it never does."""
        half = np.flatnonzero(self.shares >= 0.5)
        return float(self.places[half[0]]) if half.size else np.inf

    def end(self) -> float:
        """Its largest height."""
        return float(self.shares[-1]) if self.shares.size else 0.0


def empirical(times: ArrayLike, solved: ArrayLike) -> Steps:
    """The share of trajectories solved within a time. One that is not solved never counts.

    >>> empirical([3, 1, 9, 3], [True, True, False, True])
    Steps(places=array([1., 3.]), shares=array([0.25, 0.75]))
    """
    solved = np.asarray(solved, bool).ravel()
    found, counts = np.unique(np.asarray(times, float).ravel()[solved], return_counts=True)
    return Steps(found, np.cumsum(counts) / max(solved.size, 1))


def solved_within(performance: xarray.Dataset) -> dict[str, Steps]:
    """For each algorithm, the share of test problems solved within a number of iterations."""
    times, outcomes = values(performance, time_of(performance)), values(performance, "outcome")
    return {name: empirical(each, outcomes[name] == "solved") for name, each in times.items()}


def certified_band(performance: xarray.Dataset) -> Steps | None:
    """The share of problems that the learned algorithm is certified to solve within a number of iterations.

    A stopping time at the horizon may be that of an unsolved problem, so the band ends before the horizon. None if
    nothing is certified before it.
    """
    if "band_value" not in performance:
        return None
    places, shares = (performance[name].values.astype(float) for name in ("band_value", "band_share"))
    early = (places < performance.attrs["horizon"]) & np.isfinite(shares)
    if not early.any():
        return None
    times, ranks = np.unique(places[early], return_inverse=True)
    best = np.zeros(times.size)
    np.maximum.at(best, ranks, shares[early])
    return Steps(times, np.maximum.accumulate(best))
