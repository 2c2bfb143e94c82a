"""Algorithms side by side on the same problems, with the same randomness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm
from ..certificates.contest import Decision, decide
from ..messages.arguments import check_type
from ..messages.extras import require
from ..messages.warning import warn
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass
from ..statistics import measures
from ..trajectory.checks import check_algorithm, check_functionals
from ..trajectory.evaluation import Performance, evaluate
from ..trajectory.functionals import Functional, OracleCalls, StoppingTime
from ..trajectory.subject import copies_among
from .algorithm_summary import AlgorithmSummary, FunctionalSummary
from .table import table

CONFIDENCE = 0.95

if TYPE_CHECKING:
    import xarray
    from rich.table import Table


@dataclass(frozen=True)
class Comparison:
    """Performance of several algorithms on the same problems.

    Fields:
        performances: what `loa.evaluate` found, by algorithm.
        functionals: how the functionals are called.
        families: the class of each algorithm.
    """

    performances: Mapping[str, Performance]
    functionals: tuple[FunctionalSummary, ...]
    families: Mapping[str, str]

    @property
    def algorithms(self) -> dict[str, AlgorithmSummary]:
        """Measures of every functional, the share solved and the time per problem, by algorithm."""
        return {
            name: AlgorithmSummary.of(
                each.values,
                each.outcome,
                1e3 * each.seconds / each.outcome.size,
                family=self.families[name],
                caps={functional.name: functional.cap for functional in self.functionals},
            )
            for name, each in self.performances.items()
        }

    def advantage(self, name: str, over: str, functional: str = "stopping_time") -> measures.Estimate:
        """By how much less `name` needs than `over`, on average per problem, in pairs.

        The interval covers for any number of problems if the functional has a largest value. Otherwise it is Student's,
        which misses rare failures.
        """
        if self._functional(functional).cap is None:
            return measures.mean(self._of(over)[functional].astype(float) - self._of(name)[functional])
        found = self._decided(name, over, functional, 1 - CONFIDENCE)
        return measures.Estimate(found.saved, found.low, found.high, CONFIDENCE)

    def verdict(self, name: str, over: str, functional: str = "stopping_time") -> Decision:
        """Whether `name` needs less than `over` on average: certain, or not decided.

        All verdicts on `name` hold together with 95% confidence: the failure probability is divided among the other
        algorithms and the functionals that have a largest value.

        Arguments:
            name: an algorithm.
            over: another one.
            functional: one that has a largest value, such as the stopping time.

        Returns:
            A `Decision`: its `outcome` is "better", "worse" or "not decided", and `more` says about how many more
            problems would decide.
        """
        if self._functional(functional).cap is None:
            raise ValueError(f"{functional} has no largest value, so nothing is certain about its mean: give it a cap.")
        capped = sum(each.cap is not None for each in self.functionals)
        return self._decided(name, over, functional, (1 - CONFIDENCE) / (capped * max(len(self.performances) - 1, 1)))

    def _decided(self, name: str, over: str, functional: str, delta: float) -> Decision:
        cap, both = self._functional(functional).cap or 1.0, [self._of(each) for each in (name, over)]
        if copies := copies_among(both[0].about, both[0].outcome.shape[-2]):
            warn(f"{copies} what is said to be certain is not; give each problem once.")
        most, most_of_other = (each.at_most(functional, cap) for each in both)
        own, other = (each[functional] for each in both)
        return decide(own, other, round(delta, 15), cap, at_most=most, baseline_at_most=most_of_other)

    def _functional(self, name: str) -> FunctionalSummary:
        known = {each.name: each for each in self.functionals}
        if name not in known:
            raise KeyError(f"{name!r} was not measured; measured were {', '.join(known)}.")
        return known[name]

    def faster(self, name: str, over: str) -> measures.Estimate:
        """The share of trajectories on which `name` takes fewer steps than `over`."""
        times = (self._of(each)["stopping_time"] for each in (name, over))
        return measures.probability(np.less(*times))

    def _of(self, name: str) -> Performance:
        if name not in self.performances:
            raise KeyError(
                f"there is no algorithm {name!r} in this comparison; there are {', '.join(self.performances)}."
            )
        return self.performances[name]

    def summary(self) -> dict[str, Any]:
        """Numbers of every algorithm, ready for JSON, in the format of `summary.json`."""
        return {name: each.to_json() for name, each in self.algorithms.items()}

    def to_xarray(self) -> xarray.Dataset:
        """All values, labelled by algorithm."""
        require("xarray")
        import xarray

        parts = [performance.to_xarray() for performance in self.performances.values()]
        return xarray.concat(parts, dim=xarray.Variable("algorithm", np.array(list(self.performances), dtype=str)))

    def table(self, title: str) -> Table:
        """A table for the terminal: stopping time, share solved, means of other functionals, time per problem."""
        return table(title, self.algorithms, self.functionals)


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
    executor: Any = None,
    progress: bool = False,
) -> Comparison:
    """Evaluate algorithms on the same problems with the same randomness.

    Arguments:
        algorithms: by name.
        problem_class: the class of the problems.
        problems: a stack of problems, from `problem_class.draw` or your own.
        criterion, horizon, key, replicates, executor, progress: as for `loa.evaluate`.
        functionals: what to measure, `loa.StoppingTime()` among them; any functional of your own appears in the table.

    Returns:
        A `Comparison`: `.table(title)` for the terminal, `.advantage(name, over=other)` and `.faster(name, over=other)`
        for pairs, `.verdict(name, over=other)` for what is certain, `.algorithms` for all measures.

    >>> import jax, loa
    >>> example = loa.problems.RunningExample()
    >>> found = compare({"long steps": loa.GradientDescent(0.15), "short steps": loa.GradientDescent(0.05)}, example,
    ...                 example.draw(jax.random.key(0), 100), criterion=loa.distance_below(1e-3), horizon=200,
    ...                 key=jax.random.key(1))
    >>> found.verdict("long steps", over="short steps").outcome
    'better'
    """
    check_type("algorithms", algorithms, Mapping, "a dict of algorithms by name")
    if not algorithms or not all(isinstance(name, str) for name in algorithms):
        raise ValueError("algorithms must have at least one entry, and names that are texts.")
    for algorithm in algorithms.values():
        check_algorithm("each of the algorithms", algorithm)
    if "stopping_time" not in [functional.name for functional in check_functionals(functionals)]:
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
            executor=executor,
            progress=progress,
        )
    families = {name: type(algorithm).__name__ for name, algorithm in algorithms.items()}
    return Comparison(performances, tuple(FunctionalSummary.of(each, horizon) for each in functionals), families)
