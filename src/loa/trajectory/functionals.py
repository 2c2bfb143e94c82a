r"""Performance functionals \(\varphi(\theta, \xi)\) of a problem and a trajectory (section 3.4, appendix E).

A functional is a fold over the trajectory, so any number of them are computed in one pass without storing it.
The fold sees \(s^{(0)}, s^{(1)}, \dots\) up to the stopping time, the horizon or divergence, whichever comes first;
a functional that needs more steps than that declares it with `steps`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Scalar

from ..problems import gaps
from ..problems.oracle import Calls
from ..problems.problem_class import ProblemClass


class Record(NamedTuple):
    """What a functional sees of a trajectory at time t."""

    time: Int[Array, ""]
    iterate: Any
    state: Any
    problem: Any
    problem_class: ProblemClass
    calls: Calls

    def gap(self, gap: gaps.Gap) -> Scalar:
        return gap(self.problem_class, self.iterate, self.problem)


class End(NamedTuple):
    """How a trajectory ended, after `time` steps. The stopping time is meaningful only if `solved`."""

    time: Int[Array, ""]
    solved: Bool[Array, ""]
    finite: Bool[Array, ""]
    stopping_time: Int[Array, ""]
    horizon: int

    @property
    def diverged(self) -> Bool[Array, ""]:
        """Whether the loss became infinite or NaN before the problem was solved, which counts as the worst value."""
        return ~self.solved & ~self.finite


class Functional(eqx.Module):
    """A number that measures a trajectory, computed step by step while the algorithm runs.

    A functional is a fold: `init` makes a carry from the first record, `update` adds one step to it, and `result` turns
    it into the value. Tables, figures and sentences use its `title`, `unit` and `symbol`; override them if the name is
    not enough. A functional with bounded values declares this with `largest` or a field `cap`, and can be certified.
    """

    name: eqx.AbstractVar[str]

    @property
    def title(self) -> str:
        """Its name in the head of a table."""
        return self.name.replace("_", " ").capitalize()

    @property
    def unit(self) -> str:
        """Its unit, such as "iterations"; empty if it has none."""
        return ""

    @property
    def symbol(self) -> str:
        """Its symbol in the paper, as LaTeX; empty if it has none."""
        return ""

    def largest(self, horizon: int) -> float:
        """The largest value that it can take with this horizon; infinity if it is unbounded."""
        return float(getattr(self, "cap", float("inf")))

    @property
    def steps(self) -> int:
        """The number of steps to make even if the problem is solved earlier."""
        return 0

    @abstractmethod
    def init(self, record: Record) -> Any:
        """The first carry, made from the record at time 0."""

    @abstractmethod
    def update(self, carry: Any, record: Record) -> Any:
        """The carry after one more step."""

    @abstractmethod
    def result(self, carry: Any, end: End) -> Scalar:
        """The value, once the trajectory has ended."""


class StoppingTime(Functional):
    r"""The number of steps until the problem is solved.

    \(\tau = \inf\{t \ge 0 : x^{(t)} \in \mathcal C_\theta\}\) (eq. 4 of the paper).

    Arguments:
        truncated: whether the value for a problem that is never solved is the horizon, \(\min(\tau, t_{\max})\), or
            infinity.
    """

    truncated: bool = eqx.field(static=True, kw_only=True, default=True)
    name: str = eqx.field(static=True, kw_only=True, default="stopping_time")

    @property
    def unit(self) -> str:
        return "iterations"

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


class Gap(Functional):
    r"""The optimality gap after k steps, whether or not the problem is solved earlier.

    \(v(s^{(k)}, \theta)\) (eq. 3 of the paper), where k is `step` ≥ 0 and v is `gap`, one of `loa.gaps` or your own.
    Values above `cap`, and diverged trajectories, count as `cap`.

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
        if self.step != int(self.step) or self.step < 0:
            raise ValueError(f"the step of a gap must be a whole number and not negative, got {self.step}.")

    @property
    def steps(self) -> int:
        return self.step

    def init(self, record: Record) -> Scalar:
        return record.gap(self.gap)

    def update(self, carry: Scalar, record: Record) -> Scalar:
        return jnp.where(record.time == self.step, record.gap(self.gap), carry)

    def result(self, carry: Scalar, end: End) -> Scalar:
        reached = end.time - ~end.finite >= self.step
        return _capped(jnp.where(reached, carry, jnp.inf), self.cap)


class ConvergenceRate(Functional):
    r"""The worst factor by which one step changes the optimality gap; 0 if no step was made.

    \(\sup_t v(s^{(t+1)}, \theta) / v(s^{(t)}, \theta)\) over the steps made (eq. 5 of the paper).
    Values above `cap`, and diverged trajectories, count as `cap`.
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
        return gap, jnp.where(previous == 0, rate, jnp.maximum(rate, gap / previous))

    def result(self, carry: tuple[Scalar, Scalar], end: End) -> Scalar:
        return _capped(jnp.where(end.diverged, jnp.inf, carry[1]), self.cap)


class ContractionFactor(Functional):
    r"""The average factor by which one step changes the optimality gap.

    \(\left(v(s^{(\tau)}, \theta) / v(s^{(0)}, \theta)\right)^{1/\tau}\) (eq. 6 of the paper). It is 0 if τ = 0. If the
    problem is never solved, τ is the horizon. Values above `cap`, and diverged trajectories, count as `cap`.
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
        ratio = jnp.where(first == 0, jnp.where(last > 0, jnp.inf, last), last / first)
        factor = jnp.where(time == 0, 0.0, ratio ** (1.0 / jnp.maximum(time, 1)))
        return _capped(jnp.where(end.diverged, jnp.inf, factor), self.cap)


class LargestGap(Functional):
    r"""The largest optimality gap along the trajectory.

    \(\sup_t v(s^{(t)}, \theta)\). With `Indicator`, it expresses properties that must hold at every step.
    Values above `cap`, and diverged trajectories, count as `cap`.
    """

    gap: gaps.Gap = eqx.field(static=True, kw_only=True, default=gaps.loss_gap)
    cap: float = eqx.field(static=True, kw_only=True, default=float("inf"))
    name: str = eqx.field(static=True, kw_only=True, default="largest_gap")

    def init(self, record: Record) -> Scalar:
        return record.gap(self.gap)

    def update(self, carry: Scalar, record: Record) -> Scalar:
        return jnp.maximum(carry, record.gap(self.gap))

    def result(self, carry: Scalar, end: End) -> Scalar:
        return _capped(jnp.where(end.diverged, jnp.inf, carry), self.cap)


class SmallestGap(Functional):
    r"""The smallest optimality gap along the trajectory.

    \(\inf_t v(s^{(t)}, \theta)\). With `Indicator`, it expresses properties that must hold at least once.
    Values above `cap`, and diverged trajectories, count as `cap`.
    """

    gap: gaps.Gap = eqx.field(static=True, kw_only=True, default=gaps.loss_gap)
    cap: float = eqx.field(static=True, kw_only=True, default=float("inf"))
    name: str = eqx.field(static=True, kw_only=True, default="smallest_gap")

    def init(self, record: Record) -> Scalar:
        return record.gap(self.gap)

    def update(self, carry: Scalar, record: Record) -> Scalar:
        return jnp.minimum(carry, record.gap(self.gap))

    def result(self, carry: Scalar, end: End) -> Scalar:
        return _capped(jnp.where(end.diverged, jnp.inf, carry), self.cap)


class OracleCalls(Functional):
    r"""The number of oracle calls until the problem is solved or, if it never is, until the horizon.

    \(\sum_{t < \tau} c_t\) (appendix E.6 of the paper). Calls made by `init` are included. A trajectory that diverged
    counts as the cap; without a cap, it is charged to the horizon at the average rate of its steps, at least one call
    per step.

    Arguments:
        kinds: which calls to count: "value", "gradient", "prox", "stochastic_gradient"; by default all.
        cap: larger values, and diverged trajectories, count as this.
    """

    kinds: tuple[str, ...] = eqx.field(static=True, kw_only=True, default=Calls._fields)
    cap: float = eqx.field(static=True, kw_only=True, default=float("inf"))
    name: str = eqx.field(static=True, kw_only=True, default="oracle_calls")

    @property
    def unit(self) -> str:
        return "oracle calls"

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
        return _capped(jnp.where(end.diverged, worst, calls), self.cap)

    def _count(self, record: Record) -> Int[Array, ""]:
        return sum((getattr(record.calls, kind) for kind in self.kinds), start=jnp.zeros((), jnp.int32))


class Indicator(Functional):
    """1 if a trajectory has a property, and 0 otherwise (eq. 7 of the paper).

    The property is a predicate of the value of any functional, including your own. For a trajectory that diverged, the
    predicate is called with infinity.

    Arguments:
        name: the name of the property.
        predicate: a function of the value of the functional that returns a truth value.
        of: the functional; by default the stopping time, which is infinite if the problem is never solved.

    >>> fast = Indicator("fast", lambda time: time <= 50)
    >>> contracts = Indicator("contracts", lambda factor: factor < 0.98, of=ContractionFactor())
    >>> monotone = Indicator("monotone", lambda rate: rate <= 1, of=ConvergenceRate())
    """

    name: str = eqx.field(static=True)
    predicate: Callable[[Scalar], Any] = eqx.field(static=True)
    of: Functional = StoppingTime(truncated=False)

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


def _capped(value: Scalar, cap: float) -> Scalar:
    return value if cap == float("inf") else jnp.minimum(value, cap)
