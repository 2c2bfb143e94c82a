"""Performance profiles: how often an algorithm is how much worse than the best one on the same problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, PercentFormatter, StrMethodFormatter
from numpy.typing import ArrayLike, NDArray

from ...results.run_results import Results
from .labels import name_at_right
from .style import looks, new_figure, place

if TYPE_CHECKING:
    import xarray

Values = NDArray[np.floating]

COSTS = {"stopping_time": "iterations", "oracle_calls": "oracle calls"}


class Profile(NamedTuple):
    """Shares of problems solved within a factor of the best: from `factors[k]` on, `shares[a, k]` for algorithm a."""

    factors: Values
    shares: Values


def performance_profile(costs: ArrayLike, solved: ArrayLike) -> Profile:
    r"""The profile of Dolan and Moré (2002).

    With the cost \(c_{a,p}\) of algorithm a on problem p, infinite if it is not solved, and
    \(r_{a,p} = c_{a,p} / \min_b c_{b,p}\), it is \(\rho_a(f) = \frac1P \#\{p : r_{a,p} \le f\}\). At factor 1 one reads
    how often an algorithm is (among) the best, far to the right how often it succeeds at all.

    Arguments:
        costs: (algorithm, problem), not negative.
        solved: (algorithm, problem), whether it succeeded.

    >>> performance_profile([[10, 20, 30], [40, 10, 99]], [[True, True, True], [True, True, False]])
    Profile(factors=array([1., 2., 4.]), shares=array([[0.66666667, 1.        , 1.        ],
           [0.33333333, 0.33333333, 0.66666667]]))
    """
    costs, solved = np.asarray(costs, float), np.asarray(solved, bool)
    if costs.ndim != 2 or costs.shape != solved.shape or not costs.size:
        raise ValueError(f"costs and solved must both be (algorithm, problem), got {costs.shape} and {solved.shape}.")
    if not (costs >= 0).all():
        raise ValueError("costs must be numbers that are not negative.")
    costs = np.where(solved, costs, np.inf)
    ratios = _ratios(costs, costs.min(axis=0))
    factors = np.unique(np.append(ratios[np.isfinite(ratios)], 1.0))
    counts = [np.searchsorted(np.sort(each), factors, side="right") for each in ratios]
    return Profile(factors, np.stack(counts) / costs.shape[1])


def _ratios(costs: Values, best: Values) -> Values:
    """Costs over the best one; the best has the ratio 1 even where it is zero, who fails the ratio infinity."""
    ratios = np.full(costs.shape, np.inf)
    np.divide(costs, best, out=ratios, where=np.isfinite(costs) & (best > 0))
    ratios[(costs == best) & np.isfinite(costs)] = 1.0
    return ratios


def profiles(performance: xarray.Dataset) -> dict[str, Profile]:
    """Profiles of a run by functional; replicates of a problem count like problems."""
    solved = performance["outcome"].transpose("algorithm", ...).values == "solved"
    rows = len(solved)
    return {
        name: performance_profile(
            performance[name].transpose("algorithm", ...).values.reshape(rows, -1), solved.reshape(rows, -1)
        )
        for name in COSTS
    }


def draw(results: Results) -> Figure:
    """Two panels side by side: by iterations and by oracle calls."""
    names = [str(name) for name in results.performance["algorithm"].values]
    drawn = profiles(results.performance)
    figure = new_figure(7.2, 2.9)
    panels = [place(figure, left, 0.5, 2.3, 2.05) for left in (0.68, 3.2)]
    for axes, (functional, profile) in zip(panels, drawn.items(), strict=True):
        draw_on(axes, profile, names)
        axes.set(title=f"By {COSTS[functional]}", xlabel="multiple of the best")
    panels[0].set_ylabel("share of problems solved")
    panels[1].tick_params(labelleft=False)
    name_at_right(panels[1], _ends(drawn["oracle_calls"], names), looks(names))
    return figure


def _ends(profile: Profile, names: list[str]) -> dict[str, float]:
    """How high each profile ends, from the lowest upwards; among equals the one that rises first is highest."""
    ends, heights = profile.shares[:, -1], profile.shares.mean(axis=1)
    order = sorted(range(len(names)), key=lambda row: (-ends[row], -heights[row]))
    return {names[row]: float(ends[row]) for row in reversed(order)}


def draw_on(axes: Axes, profile: Profile, names: list[str]) -> None:
    """Steps for every algorithm over a logarithmic axis."""
    last = max(1.2 * profile.factors[-1], 2.0)
    factors = np.append(profile.factors, last)
    for row, (name, look) in reversed(list(enumerate(looks(names).items()))):
        shares = np.append(profile.shares[row], profile.shares[row, -1])
        wide, order = (1.7, 3) if row == 0 else (1.2, 2)
        axes.step(factors, shares, where="post", color=look.colour, linewidth=wide, zorder=order, label=name)
        at = np.geomspace(1.0, last, 7)[:-1] * last ** ((row + 0.5) / (6 * len(names)))
        heights = shares[np.searchsorted(factors, at, side="right") - 1]
        look.dots(axes, at, heights, order + 2)
    axes.set(xscale="log", xlim=(0.97, last), ylim=(-0.02, 1.02))
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if last < 60 else (1.0,)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
