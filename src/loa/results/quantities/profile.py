"""Performance profiles: how often an algorithm is within a factor of the best one on the same problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..names import CLOCKED, COSTS
from .distribution import Steps
from .values import Array, names, time_of, values

if TYPE_CHECKING:
    import xarray


class Profile(NamedTuple):
    """Shares of problems solved within a factor of the best: from `factors[k]` on, `shares[a, k]` for algorithm a."""

    factors: Array
    shares: Array


def performance_profile(costs: ArrayLike, solved: ArrayLike) -> Profile:
    r"""The performance profile of Dolan and Moré (2002).

    With the cost \(c_{a,p}\) of algorithm a on problem p and \(r_{a,p} = c_{a,p} / \min_b c_{b,p}\), where b is among
    the algorithms that solve p, it is \(\rho_a(f) = \frac1P \#\{p : a \text{ solves } p, r_{a,p} \le f\}\). At factor 1
    one reads how often an algorithm is (among) the best, at the right end how often it succeeds at all.

    Where the best cost is 0, the best has the ratio 1 and a higher cost the ratio infinity: such a problem counts as
    solved at the right end, at the factor infinity, and at no other.

    Arguments:
        costs: (algorithm, problem), not negative.
        solved: (algorithm, problem), whether it succeeded.

    Returns:
        The factors at which some share rises, infinity among them if needed, and the shares.

    >>> performance_profile([[10, 20, 30], [40, 10, 99]], [[True, True, True], [True, True, False]])
    Profile(factors=array([1., 2., 4.]), shares=array([[0.66666667, 1.        , 1.        ],
           [0.33333333, 0.33333333, 0.66666667]]))
    """
    costs, solved = np.asarray(costs, float), np.asarray(solved, bool)
    if costs.ndim != 2 or costs.shape != solved.shape or not costs.size:
        raise ValueError(f"costs and solved must both be (algorithm, problem), got {costs.shape} and {solved.shape}.")
    if not (costs >= 0).all():
        raise ValueError("costs must be numbers that are not negative.")
    ratios = _ratios(costs, np.where(solved, costs, np.inf).min(axis=0))
    factors = np.unique(np.append(ratios[solved], 1.0))
    counts = [np.searchsorted(np.sort(each[ok]), factors, "right") for each, ok in zip(ratios, solved, strict=True)]
    return Profile(factors, np.stack(counts) / costs.shape[1])


def _ratios(costs: Array, best: Array) -> Array:
    """Costs over the best one, which has the ratio 1 even where it is zero."""
    ratios = np.full(costs.shape, np.inf)
    np.divide(costs, best, out=ratios, where=np.isfinite(costs) & (best > 0))
    ratios[(costs == best) & np.isfinite(costs)] = 1.0
    return ratios


def profiles(performance: xarray.Dataset) -> dict[str, dict[str, Steps]]:
    """Profiles of a run, by cost and algorithm; replicates of a problem count like problems."""
    algorithms = names(performance)
    solved = np.stack([(each == "solved").ravel() for each in values(performance, "outcome").values()])
    found = {}
    costs_of = COSTS if time_of(performance) in COSTS else CLOCKED
    for cost in (name for name in costs_of if name in performance):
        costs = np.stack([each.ravel() for each in values(performance, cost).values()])
        factors, shares = performance_profile(costs, solved)
        found[cost] = {name: Steps(factors, each) for name, each in zip(algorithms, shares, strict=True)}
    return found
