"""The sum of the optimality gaps along a trajectory."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Scalar

from ...problems import gaps
from ...problems.problem_class import whole_number
from .functional import End, Functional, Record, capped


class CumulativeGap(Functional):
    r"""The sum of the optimality gaps over the first k steps, whether or not the problem is solved earlier.

    \(\sum_{t=1}^{k} v(s^{(t)}, \theta)\), where k is `step` ≥ 1 and v is `gap`, one of `loa.gaps` or your own. In
    online optimization it is called the regret: what the iterates cost in total while the algorithm is still at work.

    Arguments:
        step: the number k of steps.
        gap: the gap v; by default the loss above its smallest value.
        cap: larger values, and trajectories that diverge within these steps, count as this; infinite by default.

    >>> CumulativeGap(100).name
    'cumulative_gap_100'
    """

    step: int = eqx.field(static=True)
    gap: gaps.Gap = eqx.field(static=True, kw_only=True, default=gaps.loss_gap)
    cap: float = eqx.field(static=True, kw_only=True, default=float("inf"))
    name: str = eqx.field(static=True, kw_only=True, default="")

    def __post_init__(self):
        self.name = self.name or f"cumulative_gap_{self.step}"

    def __check_init__(self):
        whole_number("the step of a cumulative gap", self.step)

    @property
    def steps(self) -> int:
        return self.step

    def init(self, record: Record) -> Scalar:
        return jnp.zeros_like(record.gap(self.gap))

    def update(self, carry: Scalar, record: Record) -> Scalar:
        return carry + jnp.where(record.time <= self.step, record.gap(self.gap), 0.0)

    def result(self, carry: Scalar, end: End) -> Scalar:
        reached = end.time - ~end.finite >= self.step
        return capped(jnp.where(reached, carry, jnp.inf), self.cap)
