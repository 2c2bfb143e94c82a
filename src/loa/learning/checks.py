"""What one wants to see while something is learned, and what it tells about the best point so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Scalar

from ..problems import gaps
from ..trajectory.functionals import End, Functional, Record

Report = Callable[["Check"], None]


class LossChange(Functional):
    """By how much the loss is larger at the end than at the beginning, relative to its size there."""

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
    """A look at imitation: the mean squared distance to the teacher since the last one, relative to how far it goes."""

    step: int
    distance: float
    seconds: float

    def __str__(self) -> str:
        return f"step {self.step:>7}  squared distance to the teacher {self.distance:.4f}"


class Check(NamedTuple):
    """A look at the algorithm during training, on the validation problems.

    `objective` is its mean since the last check (none before training), `holds` the share of problems on which the
    constraint's property holds, `change` the median relative change of the loss from start to end, `setback` what went
    wrong ("dead" or "diverged"), if anything did.
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
            f"step {self.step:>7}  {objective}solved {self.solved:6.1%}  "
            f"stopping time {self.mean:7.1f} (median {self.median:g}){flag}"
        )


@dataclass(frozen=True)
class History:
    """All checks so far, the first one before training."""

    checks: tuple[Check, ...]

    def __len__(self) -> int:
        return len(self.checks)

    @property
    def best(self) -> Check:
        """The check at which the best point so far was seen; the first is that of the point training begins with."""
        return next(check for check in reversed(self.checks) if check.best)

    @property
    def setbacks(self) -> int:
        """How many of the last checks in a row were set-backs."""
        count = 0
        for check in reversed(self.checks):
            if not check.setback or check.best:
                break
            count += 1
        return count

    def is_best(self, check: Check, at_least: float) -> bool:
        """Whether this point is to be kept: it satisfies the constraint better, or equally and stops earlier.

        Where all are equal in this, for instance because nothing is solved yet, the smaller loss at the end decides.
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
