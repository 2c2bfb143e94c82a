"""Nonlinear programs: a smooth objective under nonlinear equations and inequalities, with multipliers."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ...messages.arguments import positive_number
from ..criterion import Below, Criterion
from ..gaps import Gap
from ..problem_class import ProblemClass
from ..vector_points import Form, dtype_of
from .quadratic_programs import largest


class KKTPoint(NamedTuple):
    """A point of a nonlinear program: x, the multipliers y of its equations, and those of its inequalities, w ≥ 0."""

    x: Any
    y: Float[Array, " m"]
    w: Float[Array, " k"]


class NonlinearPrograms(ProblemClass):
    r"""A class of smooth problems under nonlinear equations and inequalities.

    \(\min_x f(x, \theta)\) subject to \(c(x, \theta) = 0\) and \(g(x, \theta) \le 0\). Subclasses define `sample`,
    `objective`, `first` (the x to start from) and `equalities` or `inequalities`, which return vectors. A point is a
    `KKTPoint`: it holds the multipliers as well. Its loss is the Lagrangian \(f + y^\top c + w^\top g\), which at a
    solution is the smallest objective, and whose gradient holds the residuals. The algorithm is
    `loa.AugmentedLagrangian`, around any method for smooth losses; the criterion is `loa.stationary_below`.

    >>> import loa
    >>> class NearestOnCircle(NonlinearPrograms):
    ...     def sample(self, key):
    ...         return jax.random.normal(key, (2,))
    ...     def objective(self, x, problem):
    ...         return jnp.sum((x - problem) ** 2)
    ...     def equalities(self, x, problem):
    ...         return jnp.array([jnp.sum(x**2) - 1.0])
    ...     def first(self, problem, key):
    ...         return jnp.ones(2)
    >>> problems = NearestOnCircle().draw(jax.random.key(0), 5)
    >>> loa.solve(loa.AugmentedLagrangian(), NearestOnCircle(), problems, criterion=loa.stationary_below(1e-5),
    ...           horizon=100, key=jax.random.key(1))
    Solutions(5: 5 solved)
    """

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        for own, wanted in (("loss", "objective"), ("start", "first")):
            if own in vars(cls):
                raise TypeError(
                    f"{cls.__name__} must define `{wanted}` and not `{own}`, which is made from it: the points of a "
                    "nonlinear program hold multipliers as well."
                )

    @abstractmethod
    def objective(self, x: Any, problem: Any) -> Scalar:
        """What is minimized, a scalar."""

    @abstractmethod
    def first(self, problem: Any, key: Key[Array, ""]) -> Any:
        """The x to start from, which need not satisfy the constraints."""

    def equalities(self, x: Any, problem: Any) -> Float[Array, " m"]:
        """The vector c(x), which is to be 0; no equations by default."""
        return jnp.zeros(0, dtype_of(x))

    def inequalities(self, x: Any, problem: Any) -> Float[Array, " k"]:
        """The vector g(x), which is to be at most 0; no inequalities by default."""
        return jnp.zeros(0, dtype_of(x))

    def constraints(self, x: Any, problem: Any) -> tuple[Float[Array, " m"], Float[Array, " k"]]:
        """Both vectors, refused unless they are vectors, and there is something in one of them."""
        found = self.equalities(x, problem), self.inequalities(x, problem)
        for method, vector in zip(("equalities", "inequalities"), found, strict=True):
            if jnp.ndim(vector) != 1:
                raise ValueError(
                    f"{type(self).__name__}.{method} must return a vector, got an array of shape {jnp.shape(vector)}."
                )
        if not any(map(len, found)):
            raise ValueError(f"{type(self).__name__} must define `equalities` or `inequalities`, which return vectors.")
        return found

    def form(self, problem: Any) -> Form:
        """The form of x, without multipliers."""
        return Form.of(eqx.filter_eval_shape(self.first, problem, jax.random.key(0)))

    def start(self, problem: Any, key: Key[Array, ""]) -> KKTPoint:
        x = jax.tree.map(jnp.asarray, self.first(problem, key))
        equal, unequal = eqx.filter_eval_shape(self.constraints, x, problem)
        return KKTPoint(x, jnp.zeros(equal.shape, equal.dtype), jnp.zeros(unequal.shape, unequal.dtype))

    def loss(self, x: KKTPoint, problem: Any) -> Scalar:
        equal, unequal = self.constraints(x.x, problem)
        return self.objective(x.x, problem) + x.y @ equal + x.w @ unequal

    def merit(self) -> Gap:
        """The gap by which points that are no solutions are compared: the largest residual."""
        return residual


class Augmented(ProblemClass):
    r"""The augmented Lagrangian of nonlinear programs for given multipliers and a penalty ρ, a smooth loss of x alone.

    \[ L_\rho(x) = f(x) + y^\top c(x) + \tfrac{\rho}{2} \|c(x)\|^2
       + \tfrac{1}{2\rho} \sum_i \big( \max(0, w_i + \rho g_i(x))^2 - w_i^2 \big). \]

    Its gradient is that of the Lagrangian with the multipliers \(y + \rho c(x)\) and \(\max(0, w + \rho g(x))\).
    """

    _programs: Any
    _form: Form = eqx.field(static=True)
    y: Float[Array, " m"]
    w: Float[Array, " k"]
    penalty: Scalar

    def start(self, problem: Any, key: Key[Array, ""]) -> Float[Array, " d"]:
        return self._form.vector(self._programs.first(problem, key))

    def loss(self, x: Float[Array, " d"], problem: Any) -> Scalar:
        equal, unequal = self.constraints(x, problem)
        pushed = jnp.maximum(0.0, self.w + self.penalty * unequal)
        plain = self._programs.objective(self._form.point(x), problem) + self.y @ equal
        return plain + 0.5 * self.penalty * equal @ equal + (pushed @ pushed - self.w @ self.w) / (2.0 * self.penalty)

    def constraints(self, x: Float[Array, " d"], problem: Any) -> tuple[Float[Array, " m"], Float[Array, " k"]]:
        """The values c and g at x."""
        return self._programs.constraints(self._form.point(x), problem)

    def multipliers(self, equal: Float[Array, " m"], unequal: Float[Array, " k"]) -> tuple[Any, Any]:
        """The multipliers that follow from the values of the constraints."""
        return self.y + self.penalty * equal, jnp.maximum(0.0, self.w + self.penalty * unequal)


class Stationarity(eqx.Module):
    r"""How far a point is from the conditions of Karush, Kuhn and Tucker.

    The larger one of \(\|\nabla_x L(x, y, w)\|_\infty\) and, divided by the field `feasibility`, of
    \(\|c(x)\|_\infty\) and \(\|\min(-g(x), w)\|_\infty\).
    """

    feasibility: float = eqx.field(static=True, default=1.0)

    def __call__(self, problem_class: Any, x: KKTPoint, problem: Any) -> Scalar:
        slope = problem_class.gradient(x, problem)
        apart = jnp.maximum(largest(slope.y), largest(jnp.minimum(-slope.w, x.w)))
        steepest = jnp.max(jnp.stack([largest(jnp.ravel(part)) for part in jax.tree.leaves(slope.x)]))
        return jnp.maximum(steepest, apart / self.feasibility)

    def __repr__(self) -> str:
        return "stationarity" if self.feasibility == 1.0 else f"stationarity (feasibility / {self.feasibility:g})"


residual = Stationarity()
"""The largest violation of the conditions of Karush, Kuhn and Tucker, in the maximum norm."""


def stationary_below(tolerance: float = 1e-6, feasibility: float | None = None) -> Criterion:
    r"""A point solves a nonlinear program if it satisfies the conditions of Karush, Kuhn and Tucker.

    \(\|\nabla_x L(x, y, w)\| < \varepsilon\), \(\|c(x)\| < \delta\) and \(\|\min(-g(x), w)\| < \delta\), in the maximum
    norm.

    Arguments:
        tolerance: ε > 0.
        feasibility: δ > 0; by default ε.

    Returns:
        The criterion.

    >>> stationary_below(1e-6)
    stationarity < 1e-06
    """
    tolerance = positive_number("tolerance", tolerance)
    if feasibility is None:
        return Below(residual, tolerance)
    return Below(Stationarity(positive_number("feasibility", feasibility) / tolerance), tolerance)
