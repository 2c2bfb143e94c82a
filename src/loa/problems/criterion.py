r"""Solution criteria \(\mathcal C \subset X \times P\): which points solve a problem (section 3.1, appendix D)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool

from . import gaps
from .problem_class import ProblemClass


class Criterion(eqx.Module):
    """A set of solved (point, problem) pairs. Combine criteria with `|` (either) and `&` (both).

    >>> loss_below(1e-8) | gradient_norm_below(1e-6)
    (loss < 1e-08 or gradient_norm < 1e-06)
    """

    @abstractmethod
    def __call__(self, problem_class: ProblemClass, x: Any, problem: Any) -> Bool[Array, ""]:
        """Whether x solves the problem."""

    @abstractmethod
    def thresholds(self) -> tuple[Below, ...]:
        """The elementary criteria this one is made of."""

    def __or__(self, other: Criterion) -> Criterion:
        return Either(self, other) if isinstance(other, Criterion) else NotImplemented

    def __and__(self, other: Criterion) -> Criterion:
        return Both(self, other) if isinstance(other, Criterion) else NotImplemented

    def __bool__(self) -> bool:
        raise TypeError("combine criteria with | and &, not with `or` and `and`.")


class Below(Criterion):
    """A gap lies (strictly) below a tolerance. Any `gap(problem_class, x, problem)` will do."""

    gap: gaps.Gap = eqx.field(static=True)
    tolerance: float = eqx.field(static=True, converter=float)

    def __check_init__(self):
        if not self.tolerance > 0:
            raise ValueError(f"the tolerance of a criterion must be positive, got {self.tolerance}.")

    def __call__(self, problem_class: ProblemClass, x: Any, problem: Any) -> Bool[Array, ""]:
        return self.gap(problem_class, x, problem) < self.tolerance

    def thresholds(self) -> tuple[Below, ...]:
        return (self,)

    def __repr__(self) -> str:
        return f"{getattr(self.gap, '__name__', self.gap)} < {self.tolerance:g}"


class Either(Criterion):
    """At least one of two criteria holds."""

    first: Criterion
    second: Criterion

    def __call__(self, problem_class: ProblemClass, x: Any, problem: Any) -> Bool[Array, ""]:
        return self.first(problem_class, x, problem) | self.second(problem_class, x, problem)

    def thresholds(self) -> tuple[Below, ...]:
        return self.first.thresholds() + self.second.thresholds()

    def __repr__(self) -> str:
        return f"({self.first!r} or {self.second!r})"


class Both(Criterion):
    """Two criteria hold at once."""

    first: Criterion
    second: Criterion

    def __call__(self, problem_class: ProblemClass, x: Any, problem: Any) -> Bool[Array, ""]:
        return self.first(problem_class, x, problem) & self.second(problem_class, x, problem)

    def thresholds(self) -> tuple[Below, ...]:
        return self.first.thresholds() + self.second.thresholds()

    def __repr__(self) -> str:
        return f"({self.first!r} and {self.second!r})"


def loss_below(tolerance: float) -> Criterion:
    r"""\(\ell(x, \theta) < \varepsilon\)."""
    return Below(gaps.loss, tolerance)


def gradient_norm_below(tolerance: float) -> Criterion:
    r"""\(\|\nabla \ell(x, \theta)\| < \varepsilon\)."""
    return Below(gaps.gradient_norm, tolerance)


def distance_below(tolerance: float) -> Criterion:
    r"""\(\|x - x^*_\theta\| < \varepsilon\); the class must know its `solution`."""
    return Below(gaps.distance, tolerance)


def prox_residual_below(tolerance: float, step_size: float | None = None) -> Criterion:
    r"""\(\|x - \mathrm{prox}_{\beta g}(x - \beta \nabla h(x))\| < \varepsilon\), β = 1/L unless given."""
    return Below(gaps.ProxResidual(None if step_size is None else float(step_size)), tolerance)


def gap_below(tolerance: float, gap: gaps.Gap = gaps.loss_gap) -> Criterion:
    r"""\(v(x, \theta) < \varepsilon\) for any gap, or \(\ell(x, \theta) - \min \ell(\cdot, \theta) < \varepsilon\)."""
    return Below(gap, tolerance)
