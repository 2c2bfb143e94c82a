"""The optimality gap after some steps, at its largest and at its smallest."""

from __future__ import annotations

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Scalar

from ...problems import gaps
from ...problems.problem_class import whole_number
from .functional import End, Functional, Record, capped


class Gap(Functional):
    r"""The optimality gap after k steps, whether or not the problem is solved earlier.

    \(v(s^{(k)}, \theta)\) (eq. 3 of the paper), where k is `step` ≥ 0 and v is `gap`, one of `loa.gaps` or your own.
    Values above `cap`, and trajectories that diverge within these steps, count as `cap`.

    Arguments:
        step: the number k of steps.
        gap: the gap v; by default the loss above its smallest value.
        cap: the largest value; infinite by default.

    >>> Gap(100).name
    'gap_100'
    """

    step: int = eqx.field(static=True)
    gap: gaps.Gap = eqx.field(static=True, kw_only=True, default=gaps.loss_gap)
    cap: float = eqx.field(static=True, kw_only=True, default=float("inf"))
    name: str = eqx.field(static=True, kw_only=True, default="")

    def __post_init__(self):
        self.name = self.name or f"gap_{self.step}"

    def __check_init__(self):
        whole_number("the step of a gap", self.step, least=0)

    @property
    def steps(self) -> int:
        return self.step

    def init(self, record: Record) -> Scalar:
        return record.gap(self.gap)

    def update(self, carry: Scalar, record: Record) -> Scalar:
        return jnp.where(record.time == self.step, record.gap(self.gap), carry)

    def result(self, carry: Scalar, end: End) -> Scalar:
        reached = end.time - ~end.finite >= self.step
        return capped(jnp.where(reached, carry, jnp.inf), self.cap)


class _ExtremeGap(Functional):
    """The most extreme gap along the trajectory, as `extreme` has it of two gaps."""

    gap: gaps.Gap = eqx.field(static=True, kw_only=True, default=gaps.loss_gap)
    cap: float = eqx.field(static=True, kw_only=True, default=float("inf"))

    @abstractmethod
    def extreme(self, carry: Scalar, gap: Scalar) -> Scalar: ...

    def init(self, record: Record) -> Scalar:
        return record.gap(self.gap)

    def update(self, carry: Scalar, record: Record) -> Scalar:
        return self.extreme(carry, record.gap(self.gap))

    def result(self, carry: Scalar, end: End) -> Scalar:
        return capped(jnp.where(end.diverged, jnp.inf, carry), self.cap)


class LargestGap(_ExtremeGap):
    r"""The largest optimality gap along the trajectory.

    \(\sup_t v(s^{(t)}, \theta)\). With `Indicator`, it expresses properties that must hold at every step.
    Values above `cap`, and diverged trajectories, count as `cap`.

    >>> LargestGap(cap=100.0).largest(horizon=500)  # with a largest value, it can be certified
    100.0
    """

    name: str = eqx.field(static=True, kw_only=True, default="largest_gap")

    def extreme(self, carry: Scalar, gap: Scalar) -> Scalar:
        return jnp.maximum(carry, gap)


class SmallestGap(_ExtremeGap):
    r"""The smallest optimality gap along the trajectory.

    \(\inf_t v(s^{(t)}, \theta)\). With `Indicator`, it expresses properties that must hold at least once.
    Values above `cap`, and diverged trajectories, count as `cap`.

    >>> SmallestGap(cap=100.0).largest(horizon=500)  # with a largest value, it can be certified
    100.0
    """

    name: str = eqx.field(static=True, kw_only=True, default="smallest_gap")

    def extreme(self, carry: Scalar, gap: Scalar) -> Scalar:
        return jnp.minimum(carry, gap)
