r"""Solution criteria \(\mathcal C \subset X \times P\): which points solve a problem (section 3.1, appendix D)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool

from ..messages.arguments import check_callable, is_number, positive_number, positive_or_infinite
from . import gaps
from .problem_class import ProblemClass


class Criterion(eqx.Module):
    r"""The condition under which a point counts as a solution of a problem.

    A criterion is a set \(\mathcal C \subset X \times P\) of solved (point, problem) pairs (section 3.1 of the paper).
    Combine criteria with `|` (either) and `&` (both). To define your own, pass a gap to `loa.gap_below`.

    >>> loss_below(1e-8) | gradient_norm_below(1e-6)
    (loss < 1e-08 or gradient_norm < 1e-06)
    """

    @abstractmethod
    def __call__(self, problem_class: ProblemClass, x: Any, problem: Any) -> Bool[Array, ""]:
        """Whether x solves the problem."""

    @abstractmethod
    def thresholds(self) -> tuple[Below, ...]:
        """The elementary criteria that this one combines."""

    def __or__(self, other: Criterion) -> Criterion:
        return Either(self, other) if isinstance(other, Criterion) else NotImplemented

    def __and__(self, other: Criterion) -> Criterion:
        return Both(self, other) if isinstance(other, Criterion) else NotImplemented

    def __bool__(self) -> bool:
        raise TypeError("combine criteria with | and &, not with `or` and `and`.")


class Below(Criterion):
    r"""A gap is strictly below a tolerance; any function `gap(problem_class, x, problem)` can be used.

    With the tolerance 0 the gap must vanish: the asymptotic goal \(\mathcal C_\theta = \arg\min \ell(\cdot, \theta)\).
    """

    gap: gaps.Gap = eqx.field(static=True)
    tolerance: float = eqx.field(static=True)

    def __check_init__(self):
        check_callable("gap", self.gap, "a function such as loa.gaps.loss_gap")
        if isinstance(self.gap, gaps.OfState):
            raise TypeError(
                "whether a problem is solved is decided on the point: a criterion takes no gap of the state."
            )

    def __init__(self, gap: gaps.Gap, tolerance: float):
        asymptotic = is_number(tolerance) and tolerance == 0
        self.gap = gap
        self.tolerance = 0.0 if asymptotic else positive_or_infinite("the tolerance of a criterion", tolerance)

    def __call__(self, problem_class: ProblemClass, x: Any, problem: Any) -> Bool[Array, ""]:
        gap = self.gap(problem_class, x, problem)
        return gap == 0 if self.tolerance == 0 else gap < self.tolerance

    def thresholds(self) -> tuple[Below, ...]:
        return (self,)

    def __repr__(self) -> str:
        sense = "= 0" if self.tolerance == 0 else f"< {self.tolerance:g}"
        return f"{getattr(self.gap, '__name__', self.gap)} {sense}"


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
    """Both of two criteria hold."""

    first: Criterion
    second: Criterion

    def __call__(self, problem_class: ProblemClass, x: Any, problem: Any) -> Bool[Array, ""]:
        return self.first(problem_class, x, problem) & self.second(problem_class, x, problem)

    def thresholds(self) -> tuple[Below, ...]:
        return self.first.thresholds() + self.second.thresholds()

    def __repr__(self) -> str:
        return f"({self.first!r} and {self.second!r})"


def loss_below(tolerance: float) -> Criterion:
    r"""A point solves a problem if its loss is below the tolerance.

    That is, \(\ell(x, \theta) < \varepsilon\).

    Arguments:
        tolerance: ε > 0; or 0, for the asymptotic goal.

    Returns:
        The criterion, to be passed to `loa.evaluate` or combined with others.

    >>> loss_below(1e-8)
    loss < 1e-08
    """
    return Below(gaps.loss, tolerance)


def gradient_norm_below(tolerance: float) -> Criterion:
    r"""A point solves a problem if the Euclidean norm of the gradient is below the tolerance.

    That is, \(\|\nabla \ell(x, \theta)\| < \varepsilon\).

    Arguments:
        tolerance: ε > 0; or 0, for the asymptotic goal.

    Returns:
        The criterion.

    >>> gradient_norm_below(1e-4)
    gradient_norm < 0.0001
    """
    return Below(gaps.gradient_norm, tolerance)


def distance_below(tolerance: float) -> Criterion:
    r"""A point solves a problem if its distance to the known solution is below the tolerance.

    That is, \(\|x - x^*_\theta\| < \varepsilon\). The problem class must define `solution`.

    Arguments:
        tolerance: ε > 0; or 0, for the asymptotic goal.

    Returns:
        The criterion.

    >>> distance_below(0.1)
    distance < 0.1
    """
    return Below(gaps.distance, tolerance)


def prox_residual_below(tolerance: float, step_size: float | None = None) -> Criterion:
    r"""A point solves a problem if a proximal gradient step would move it by less than the tolerance.

    That is, \(\|x - \mathrm{prox}_{\beta g}(x - \beta \nabla h(x))\| < \varepsilon\) for a loss h + g with smooth h.

    Arguments:
        tolerance: ε > 0; or 0, for the asymptotic goal.
        step_size: β > 0; by default 1/L of each problem.

    Returns:
        The criterion.

    >>> prox_residual_below(1e-3)
    prox_residual < 0.001
    """
    return Below(gaps.ProxResidual(None if step_size is None else positive_number("step_size", step_size)), tolerance)


def gap_below(tolerance: float, gap: gaps.Gap = gaps.loss_gap) -> Criterion:
    r"""A point solves a problem if an optimality gap is below the tolerance.

    That is, \(v(x, \theta) < \varepsilon\); by default the gap is \(\ell(x, \theta) - \min \ell(\cdot, \theta)\).

    Arguments:
        tolerance: ε > 0; or 0, for the asymptotic goal.
        gap: a function `gap(problem_class, x, problem)` that returns a scalar ≥ 0, such as those in `loa.gaps`.

    Returns:
        The criterion.

    >>> gap_below(1e-6)
    loss_gap < 1e-06
    """
    return Below(gap, tolerance)
