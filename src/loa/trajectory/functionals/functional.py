"""What a functional is: a fold over the records of a trajectory."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Scalar

from ...messages.arguments import check_callable, positive_or_infinite, shown
from ...problems import gaps
from ...problems.oracle import Calls
from ...problems.problem_class import ProblemClass


class Record(NamedTuple):
    """What a functional sees of a trajectory at time t.

    The iterate has the form that `start` of the problem class has; the state is that of the algorithm, whose points are
    arrays. `asked` is what the algorithm asks in the next step, if more is known than the problem class itself.
    """

    time: Int[Array, ""]
    iterate: Any
    state: Any
    problem: Any
    problem_class: ProblemClass
    calls: Calls
    asked: ProblemClass | None = None

    def gap(self, gap: gaps.Gap) -> Scalar:
        """A gap of the point, or of the state."""
        place = self.state if isinstance(gap, gaps.OfState) else self.iterate
        return gap(self.problem_class, place, self.problem)


class End(NamedTuple):
    """How a trajectory ended, after `time` steps. The stopping time is meaningful only if `solved`."""

    time: Int[Array, ""]
    solved: Bool[Array, ""]
    finite: Bool[Array, ""]
    stopping_time: Int[Array, ""]
    horizon: Int[Array, ""] | int
    impossible: Any = 0
    """1 if the problem was found to be infeasible, 2 if it was found to be unbounded, otherwise 0."""

    @property
    def diverged(self) -> Bool[Array, ""]:
        """Whether loss or point ceased to be numbers before the problem was solved, which counts as the worst value."""
        return ~self.solved & ~self.finite


class Functional(eqx.Module):
    """A number that measures a trajectory, computed step by step while the algorithm runs.

    A functional is a fold: `init` makes a carry from the first record, `update` adds one step to it, and `result` turns
    it into the value. Tables, figures and sentences use its `title`, `unit` and `symbol`; override them if the name is
    not enough. A functional with bounded values declares this with `largest` or a field `cap`, and can be certified.

    The page docs/how-to-add.md has an example.
    """

    name: eqx.AbstractVar[str]

    is_number: ClassVar[bool] = True
    """Whether the value is one number; what solving keeps of a trajectory is more than that."""

    until_solved: ClassVar[bool] = False
    """Whether it counts up to the solution, so that a trajectory that ends unsolved has counted too little."""

    def __check_init__(self):
        kind = type(self).__name__
        if not (isinstance(self.name, str) and self.name):
            raise TypeError(f"the name of a {kind} must be a text that is not empty, got {shown(self.name)}.")
        positive_or_infinite(f"the cap of a {kind}", getattr(self, "cap", 1.0))
        check_callable(f"the gap of a {kind}", getattr(self, "gap", callable), "a function such as loa.gaps.loss_gap")

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


def ratio(after: Scalar, before: Scalar) -> Scalar:
    """The factor from one gap to another, where before > 0; an infinite gap that stays infinite has the factor 1."""
    both_infinite = jnp.isposinf(after) & jnp.isposinf(before)
    return jnp.where(both_infinite, 1.0, after / jnp.where(both_infinite, 1.0, before))


def capped(value: Scalar, cap: float) -> Scalar:
    """The value, or the cap if that is smaller."""
    return value if cap == float("inf") else jnp.minimum(value, cap)
