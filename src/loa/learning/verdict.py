"""What came of an algorithm on some problems: its cost, what it solves, and how good its solutions are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Scalar

from ..problems import gaps
from ..trajectory.functionals import End, Functional, Gap, Record
from .cost import Cost

FEWER = 0.05
"""The probability of calling an algorithm less reliable than a classical method by chance."""

HIGHER = 0.01
"""A solution is worse than another one if its loss is higher by this share of what the other has gained."""

BEFORE, AFTER = "loss at the start", "loss at the end"


class _LossAtTheEnd(Functional):
    """The loss where a trajectory ends, infinite if it diverged."""

    name: str = eqx.field(static=True, kw_only=True, default=AFTER)

    def init(self, record: Record) -> Scalar:
        return record.gap(gaps.loss)

    def update(self, carry: Scalar, record: Record) -> Scalar:
        return record.gap(gaps.loss)

    def result(self, carry: Scalar, end: End) -> Scalar:
        return jnp.where(end.diverged, jnp.inf, carry)


LOSSES = (Gap(0, gap=gaps.loss, name=BEFORE), _LossAtTheEnd())
"""What is measured for a verdict, beside what the cost needs; where losses are Lagrangians, they say nothing."""


class Verdict(NamedTuple):
    """What came of an algorithm on some problems.

    Fields:
        cost: of all of them.
        solved: which of them it solves.
        before: the loss at the start of each.
        after: the loss at the end of each.
        calls_per_step: the most oracle calls per step on any of them.
        steps: the mean stopping time.
    """

    cost: float
    solved: np.ndarray
    before: np.ndarray
    after: np.ndarray
    calls_per_step: float = 0.0
    steps: float = 0.0

    def first(self, count: int) -> Verdict:
        """On the first problems only; the cost stays that of all of them."""
        return self._replace(solved=self.solved[:count], before=self.before[:count], after=self.after[:count])

    @staticmethod
    def of(cost: float, values: Mapping[str, Any], outcome: np.ndarray) -> Verdict:
        """From the values of all functionals, and the outcomes, with a row for each problem."""
        steps, none = values["stopping_time"], np.zeros(outcome.shape)
        rate = float(np.max(np.asarray(values.get("oracle_calls", 0.0)) / np.maximum(steps, 1)))
        before, after = (np.asarray(values.get(name, none), float)[:, 0] for name in (BEFORE, AFTER))
        return Verdict(cost, outcome[:, 0] == "solved", before, after, rate, float(np.mean(steps)))

    def worse_than(self, other: Verdict) -> np.ndarray:
        """Which problems both solve, but this one with a clearly higher loss: at another local minimum, or at none.

        Where the start is not admissible, its loss is infinite, and the other's loss takes the place of its gain.
        """
        gained = np.where(np.isfinite(self.before), self.before - other.after, np.abs(other.after))
        higher = self.after > other.after + HIGHER * np.abs(gained)
        return self.solved & other.solved & higher

    def behind(self, other: Verdict, *, unsolved: bool = True) -> bool:
        """Whether this one loses more problems to the other than chance would have it (a one-sided sign test).

        A problem is lost if only the other one solves it, or if its loss is clearly higher.

        Arguments:
            other: what came of another algorithm on the same problems.
            unsolved: whether problems count that only one of them solves.

        >>> def ours(solved, after=0.0):
        ...     return Verdict(1.0, np.arange(100) < solved, np.ones(100), np.full(100, after))
        >>> ours(90).behind(ours(95)), ours(95).behind(ours(90)), ours(90).behind(ours(93))
        (True, False, False)
        >>> ours(100, after=0.5).behind(ours(95)), ours(100).behind(ours(95, after=0.5))
        (True, False)
        """
        lost, gained = self.worse_than(other), other.worse_than(self)
        if unsolved:
            lost, gained = lost | (other.solved & ~self.solved), gained | (self.solved & ~other.solved)
        wins, losses = int(gained.sum()), int(lost.sum())
        tail = sum(math.comb(wins + losses, number) for number in range(losses, wins + losses + 1))
        return losses > wins and tail <= FEWER * 2 ** (wins + losses)


def unreliable(cost: Cost, verdicts: Mapping[str, Verdict], classical: Sequence[str]) -> set[str]:
    """The names of those that are behind a classical method: they solve fewer problems, or reach higher losses.

    Arguments:
        cost: what is to be small; measures other than the mean count what is not solved themselves.
        verdicts: on the same problems, by name.
        classical: the names of classical methods.
    """
    count = cost.measure == "mean"
    return {
        name
        for name, own in verdicts.items()
        if any(own.behind(verdicts[other], unsolved=count) for other in classical)
    }
