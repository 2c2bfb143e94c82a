"""How fast the optimality gap decreases, per step: in the worst step and on average."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Scalar

from ...problems import gaps
from .functional import End, Functional, Record, capped, ratio


class ConvergenceRate(Functional):
    r"""The worst factor by which one step changes the optimality gap; 0 if no step was made.

    \(\sup_t v(s^{(t+1)}, \theta) / v(s^{(t)}, \theta)\) over the steps made (eq. 5 of the paper). Values
    above `cap`, and diverged trajectories, count as `cap`.

    Arguments:
        cap: the largest value; infinite by default.
        gap: the gap v, one of `loa.gaps` or your own; by default the loss above its smallest value.

    >>> ConvergenceRate(cap=2.0).largest(horizon=500)  # with a largest value, it can be certified
    2.0
    """

    cap: float = eqx.field(static=True, kw_only=True, default=float("inf"))
    gap: gaps.Gap = eqx.field(static=True, kw_only=True, default=gaps.loss_gap)
    name: str = eqx.field(static=True, kw_only=True, default="convergence_rate")

    def init(self, record: Record) -> tuple[Scalar, Scalar]:
        gap = record.gap(self.gap)
        return gap, jnp.zeros_like(gap)

    def update(self, carry: tuple[Scalar, Scalar], record: Record) -> tuple[Scalar, Scalar]:
        previous, rate = carry
        gap = record.gap(self.gap)
        return gap, jnp.where(previous == 0, rate, jnp.maximum(rate, ratio(gap, previous)))

    def result(self, carry: tuple[Scalar, Scalar], end: End) -> Scalar:
        return capped(jnp.where(end.diverged, jnp.inf, carry[1]), self.cap)


class ContractionFactor(Functional):
    r"""The average factor by which one step changes the optimality gap.

    \(\left(v(s^{(\tau)}, \theta) / v(s^{(0)}, \theta)\right)^{1/\tau}\) (eq. 6 of the paper). It is 0 if τ = 0. If the
    problem is never solved, τ is the horizon. Values above `cap`, and diverged trajectories, count as `cap`.

    Arguments:
        cap: the largest value; infinite by default.
        gap: the gap v, one of `loa.gaps` or your own; by default the loss above its smallest value.

    >>> ContractionFactor(cap=1.0).largest(horizon=500)  # with a largest value, it can be certified
    1.0
    """

    cap: float = eqx.field(static=True, kw_only=True, default=float("inf"))
    gap: gaps.Gap = eqx.field(static=True, kw_only=True, default=gaps.loss_gap)
    name: str = eqx.field(static=True, kw_only=True, default="contraction_factor")

    def init(self, record: Record) -> tuple[Scalar, Scalar]:
        gap = record.gap(self.gap)
        return gap, gap

    def update(self, carry: tuple[Scalar, Scalar], record: Record) -> tuple[Scalar, Scalar]:
        return carry[0], record.gap(self.gap)

    def result(self, carry: tuple[Scalar, Scalar], end: End) -> Scalar:
        first, last = carry
        time = jnp.where(end.solved, end.stopping_time, end.time)
        change = jnp.where(first == 0, jnp.where(last > 0, jnp.inf, last), ratio(last, first))
        factor = jnp.where(time == 0, 0.0, change ** (1.0 / jnp.maximum(time, 1)))
        return capped(jnp.where(end.diverged, jnp.inf, factor), self.cap)
