"""Algorithms side by side on the same problems, with the same randomness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass
from ..trajectory.evaluation import Performance, evaluate
from ..trajectory.functionals import Functional, OracleCalls, StoppingTime
from . import measures

if TYPE_CHECKING:
    import xarray
    from rich.table import Table


@dataclass(frozen=True)
class Comparison:
    """Performance of several algorithms on the same problems."""

    performances: Mapping[str, Performance]

    def advantage(self, name: str, over: str, functional: str = "stopping_time") -> measures.Estimate:
        """By how much less `name` needs than `over`, on average per problem; paired, so the interval is narrow."""
        return measures.mean(self.performances[over][functional].astype(float) - self.performances[name][functional])

    def faster(self, name: str, over: str) -> measures.Estimate:
        """The share of trajectories on which `name` takes fewer steps than `over`."""
        times = (self.performances[each]["stopping_time"] for each in (name, over))
        return measures.probability(np.less(*times))

    def summary(self) -> dict[str, Any]:
        """Numbers of every algorithm, ready for JSON."""
        return {name: self._described(name) for name in self.performances}

    def to_xarray(self) -> xarray.Dataset:
        """All values, labelled by algorithm."""
        import xarray

        parts = [performance.to_xarray() for performance in self.performances.values()]
        return xarray.concat(parts, dim=xarray.Variable("algorithm", np.array(list(self.performances), dtype=str)))

    def table(self, title: str) -> Table:
        """A table for the terminal: stopping time, share solved, oracle calls, time per problem."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        table.add_column("algorithm")
        for column in ("mean", "median", "q95", "CVaR95", "solved", "calls", "ms each"):
            table.add_column(column, justify="right", no_wrap=True)
        for name, performance in self.performances.items():
            mean, *others = measures.summary(performance["stopping_time"])
            margin = (mean.high - mean.low) / 2
            row = [f"{float(mean):.4g} ± {margin:.2g}", *(f"{float(number):.4g}" for number in others)]
            row.append(f"{(performance.outcome == 'solved').mean():.1%}")
            row.append(f"{performance['oracle_calls'].mean():.4g}" if "oracle_calls" in performance.values else "")
            table.add_row(name, *row, f"{1e3 * performance.seconds / performance.outcome.size:.3g}")
        return table

    def _described(self, name: str) -> dict[str, Any]:
        performance = self.performances[name]
        numbers = {
            functional: {key: float(number) for key, number in measures.summary(values)._asdict().items()}
            for functional, values in performance.values.items()
        }
        solved = float((performance.outcome == "solved").mean())
        return {**numbers, "solved": solved, "seconds": performance.seconds}


def compare(
    algorithms: Mapping[str, Algorithm],
    problem_class: ProblemClass,
    problems: Any,
    *,
    criterion: Criterion,
    horizon: int,
    key: Key[Array, ""],
    functionals: Sequence[Functional] = (StoppingTime(), OracleCalls()),
    replicates: int = 1,
    progress: bool = False,
) -> Comparison:
    """Evaluate algorithms on the same problems with the same randomness."""
    if "stopping_time" not in [functional.name for functional in functionals]:
        raise ValueError("a comparison needs loa.StoppingTime() among its functionals.")
    performances = {}
    for name, algorithm in algorithms.items():
        performances[name] = evaluate(
            algorithm,
            problem_class,
            problems,
            criterion=criterion,
            horizon=horizon,
            key=key,
            functionals=functionals,
            replicates=replicates,
            progress=progress,
        )
    return Comparison(performances)
