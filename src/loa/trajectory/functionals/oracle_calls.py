"""The number of oracle calls."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, Scalar

from ...problems.oracle import Calls
from ..units import ORACLE_CALLS
from .functional import End, Functional, Record, capped


class OracleCalls(Functional):
    r"""The number of oracle calls until the problem is solved or, if it never is, until the horizon.

    \(\sum_{t < \tau} c_t\) (appendix E.6 of the paper). Calls made by `init` are included. A trajectory that diverged
    counts as the cap; without a cap, it is charged to the horizon at the average rate of its steps, at least one call
    per step.

    Arguments:
        kinds: which calls to count: "value", "gradient", "prox", "stochastic_gradient", "hessian_product"; by default
            all.
        cap: larger values, and diverged trajectories, count as this; infinite by default.

    >>> import jax, loa
    >>> found = loa.evaluate(loa.GradientDescent(0.5), loa.problems.RunningExample(), jnp.array([1.0, 2.0]),
    ...                      criterion=loa.gap_below(1e-6), horizon=100, key=jax.random.key(0),
    ...                      functionals=[OracleCalls()])
    >>> found["oracle_calls"].ravel().tolist()  # one gradient per step
    [10, 1]
    """

    until_solved: ClassVar[bool] = True

    kinds: tuple[str, ...] = eqx.field(static=True, kw_only=True, default=Calls._fields)
    cap: float = eqx.field(static=True, kw_only=True, default=float("inf"))
    name: str = eqx.field(static=True, kw_only=True, default="oracle_calls")

    @property
    def unit(self) -> str:
        return ORACLE_CALLS

    def __check_init__(self):
        if not isinstance(self.kinds, tuple) or not set(self.kinds) <= set(Calls._fields):
            raise ValueError(f"kinds must be a tuple of {', '.join(Calls._fields)}; got {self.kinds!r}.")

    def init(self, record: Record) -> tuple[Scalar, Scalar]:
        calls = self._count(record)
        return calls, calls

    def update(self, carry: tuple[Scalar, Scalar], record: Record) -> tuple[Scalar, Scalar]:
        return carry[0], self._count(record)

    def result(self, carry: tuple[Scalar, Scalar], end: End) -> Scalar:
        first, calls = carry
        average = (calls - first) / jnp.maximum(end.time, 1)
        continued = first + jnp.ceil(jnp.maximum(average, 1.0) * end.horizon).astype(calls.dtype)
        worst = continued if self.cap == float("inf") else self.cap
        return capped(jnp.where(end.diverged, worst, calls), self.cap)

    def _count(self, record: Record) -> Int[Array, ""]:
        return sum((getattr(record.calls, kind) for kind in self.kinds), start=jnp.zeros((), jnp.int32))
