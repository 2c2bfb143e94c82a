"""The stopping time."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Scalar

from ..units import ITERATIONS
from .functional import End, Functional, Record


class StoppingTime(Functional):
    r"""The number of steps until the problem is solved.

    \(\tau = \inf\{t \ge 0 : x^{(t)} \in \mathcal C_\theta\}\) (eq. 4 of the paper).

    Arguments:
        truncated: whether the value for a problem that is never solved is the horizon, \(\min(\tau, t_{\max})\), or
            infinity.

    >>> StoppingTime().largest(horizon=500), StoppingTime(truncated=False).largest(horizon=500)
    (500.0, inf)
    """

    until_solved: ClassVar[bool] = True

    truncated: bool = eqx.field(static=True, kw_only=True, default=True)
    name: str = eqx.field(static=True, kw_only=True, default="stopping_time")

    @property
    def unit(self) -> str:
        return ITERATIONS

    @property
    def symbol(self) -> str:
        return r"\tau"

    def largest(self, horizon: int) -> float:
        return float(horizon) if self.truncated else float("inf")

    def init(self, record: Record) -> tuple[()]:
        return ()

    def update(self, carry: tuple[()], record: Record) -> tuple[()]:
        return ()

    def result(self, carry: tuple[()], end: End) -> Scalar:
        never = end.horizon if self.truncated else jnp.inf
        return jnp.where(end.solved, end.stopping_time, never)
