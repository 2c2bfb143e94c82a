"""Whether a trajectory has a property."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Scalar

from ...messages.arguments import check_callable, check_type
from .functional import End, Functional, Record
from .stopping_time import StoppingTime


class Indicator(Functional):
    """1 if a trajectory has a property, and 0 otherwise (eq. 7 of the paper).

    The property is a predicate of the value of any functional, including your own. For a trajectory that diverged, the
    predicate is called with infinity.

    Arguments:
        name: the name of the property.
        predicate: a function of the value of the functional that returns a truth value.
        of: the functional; by default the stopping time, which is infinite if the problem is never solved.

    >>> from loa import ContractionFactor, ConvergenceRate
    >>> fast = Indicator("fast", lambda time: time <= 50)
    >>> contracts = Indicator("contracts", lambda factor: factor < 0.98, of=ContractionFactor())
    >>> monotone = Indicator("monotone", lambda rate: rate <= 1, of=ConvergenceRate())
    """

    name: str = eqx.field(static=True)
    predicate: Callable[[Scalar], Any] = eqx.field(static=True)
    of: Functional = StoppingTime(truncated=False)

    def __check_init__(self):
        check_callable("predicate", self.predicate, "a function of the value of a functional")
        check_type("of", self.of, Functional, "a functional such as loa.StoppingTime()")

    def largest(self, horizon: int) -> float:
        return 1.0

    @property
    def steps(self) -> int:
        return self.of.steps

    def init(self, record: Record) -> Any:
        return self.of.init(record)

    def update(self, carry: Any, record: Record) -> Any:
        return self.of.update(carry, record)

    def result(self, carry: Any, end: End) -> Scalar:
        value = jnp.where(end.diverged, jnp.inf, self.of.result(carry, end))
        return jnp.where(jnp.isnan(value), jnp.nan, jnp.asarray(self.predicate(value), bool))
