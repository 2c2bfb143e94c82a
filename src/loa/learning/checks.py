"""Checks during learning: what they report, and which of the points seen so far is the best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Scalar

from ..messages.percent import percent_seen
from ..problems import gaps
from ..trajectory.functionals import End, Functional, Record

Report = Callable[["Check"], None]


class LossChange(Functional):
    """The change of the loss from the start to the end of a trajectory, relative to the loss at the start."""

    name: str = "loss_change"

    def init(self, record: Record) -> tuple[Scalar, Scalar]:
        loss = record.gap(gaps.loss)
        return loss, loss

    def update(self, carry: tuple[Scalar, Scalar], record: Record) -> tuple[Scalar, Scalar]:
        return carry[0], record.gap(gaps.loss)

    def result(self, carry: tuple[Scalar, Scalar], end: End) -> Scalar:
        first, last = carry
        change = (last - first) / jnp.maximum(jnp.abs(first), jnp.finfo(first.dtype).tiny)
        return jnp.where(end.diverged | jnp.isnan(change), jnp.inf, change)


class Glance(NamedTuple):
    """A progress report of imitation.

    `distance` is the mean squared distance to the teacher since the last report, relative to how far the teacher moves.
    """

    step: int
    distance: float
    seconds: float

    def __str__(self) -> str:
        return f"step {self.step:>7}  squared distance to the teacher {self.distance:.4f}"


class Check(NamedTuple):
    """A progress report of training: how the algorithm performs on the validation problems.

    `objective` is the mean of the objective since the last check (None before training); `mean` and `median` are those
    of the stopping time; `solved` is the share of problems solved; `holds` is the share of problems on which the
    property of the constraint holds; `change` is the median relative change of the loss from start to end; `best` says
    whether this is the best point so far; `setback` is "dead" or "diverged" if training went wrong, else empty.
    """

    step: int
    objective: float | None
    mean: float
    median: float
    solved: float
    holds: float
    change: float = 0.0
    best: bool = False
    setback: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        objective = "" if self.objective is None else f"objective {self.objective:8.4f}  "
        flag = f"  {self.setback}, back to the best" if self.setback else "  best" if self.best else ""
        return (
            f"step {self.step:>7}  {objective}solved {percent_seen(self.solved):>6}  "
            f"stopping time {self.mean:7.1f} (median {self.median:g}){flag}"
        )


@dataclass(frozen=True)
class History:
    """All checks so far, beginning with the one before training."""

    checks: tuple[Check, ...]

    def __len__(self) -> int:
        return len(self.checks)

    @property
    def best(self) -> Check:
        """The check of the best point so far; this may be the check before training."""
        return next(check for check in reversed(self.checks) if check.best)

    @property
    def setbacks(self) -> int:
        """The number of consecutive setbacks up to now."""
        count = 0
        for check in reversed(self.checks):
            if not check.setback or check.best:
                break
            count += 1
        return count

    def is_best(self, check: Check, at_least: float) -> bool:
        """Whether this point is better than the best so far.

        It is better if it satisfies the constraint better, or equally well with a smaller mean stopping time. Ties, for
        instance because nothing is solved yet, are decided by the smaller loss at the end.
        """

        def rank(check: Check) -> tuple[float, float, float]:
            return min(check.holds, at_least), -check.mean, -check.change

        return rank(check) > rank(self.best)

    def after(self, check: Check, seconds: float) -> History:
        return History((*self.checks, check._replace(seconds=self.checks[-1].seconds + seconds)))

    def to_json(self) -> list[dict[str, Any]]:
        return [check._asdict() for check in self.checks]

    @classmethod
    def from_json(cls, checks: list[dict[str, Any]]) -> History:
        return cls(tuple(Check(**one) for one in checks))
