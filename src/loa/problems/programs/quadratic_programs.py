"""Quadratic programs: a quadratic objective under linear constraints, with the residuals that OSQP defines."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int, Key, Scalar

from ...messages.arguments import is_number, positive_number, shown
from ..criterion import Below, Criterion
from ..gaps import Gap
from ..problem_class import ProblemClass
from ..wrapped import Wrapped
from .cones import onto_bounds, outside, rows_of


class Program(NamedTuple):
    r"""The data of one quadratic program.

    \(\min_x \frac12 x^\top P x + q^\top x\) subject to \(l \le A x \le u\), where P is symmetric and positive
    semidefinite, and entries of l and u may be infinite. Equations are rows with l = u. The arrays are those of NumPy
    or JAX, of the shapes (n, n), (n,), (m, n), (m,) and (m,).
    """

    P: Any
    q: Any
    A: Any
    lower: Any
    upper: Any


class PrimalDual(NamedTuple):
    """A point of a quadratic program: x, z (which stands for Ax and lies between the bounds), and the multipliers y."""

    x: Float[Array, " n"]
    z: Float[Array, " m"]
    y: Float[Array, " m"]


class QuadraticPrograms(ProblemClass):
    r"""A class of quadratic programs under linear constraints, and second-order cones.

    Subclasses define `sample` and `program(problem)`, which returns the five arrays of a `Program`. An array that all
    problems share is returned as the same constant; a factorization is then computed once for the class. A point is a
    `PrimalDual`; its loss is the Lagrangian \(\frac12 x^\top P x + q^\top x + y^\top (A x - z)\), which at a solution
    is the optimal value, and whose gradient holds both residuals. Algorithms for programs are `loa.ProgramADMM` and
    `loa.PDHG`, the criterion is `loa.residuals_below`. A trajectory that proves that its problem has no feasible point,
    or no finite minimum, ends with the outcome "infeasible" or "unbounded"; statistics count it as unsolved.

    A class with `cones = (3, 5)` has two second-order cones: the last 3 + 5 rows of A and l say that \(A_k x - l_k\)
    lies in \(\{(t, v) : \|v\| \le t\}\), for each of the two blocks. Upper bounds are infinite in these rows.

    >>> import jax, loa
    >>> class Projections(QuadraticPrograms):
    ...     def sample(self, key):
    ...         return jax.random.normal(key, (3,))
    ...     def program(self, problem):
    ...         return Program(np.eye(3), -problem, np.ones((1, 3)), np.ones(1), np.ones(1))
    >>> problems = Projections().draw(jax.random.key(0), 5)
    >>> loa.evaluate(loa.ProgramADMM(), Projections(), problems, criterion=loa.residuals_below(1e-6), horizon=200,
    ...              key=jax.random.key(1))
    Performance(5 problems × 1 replicates; 100.0% solved, 0.0% exhausted, 0.0% diverged; stopping_time)
    """

    cones: ClassVar[tuple[int, ...]] = ()
    """How many of the last rows belong to each second-order cone."""

    impossible_tolerance: ClassVar[float] = 1e-4
    """How accurately a certificate of infeasibility must hold; OSQP's eps_prim_inf and eps_dual_inf."""

    @abstractmethod
    def program(self, problem: Any) -> Program:
        """The arrays P, q, A, l and u of one problem."""

    def arrays(self, problem: Any) -> Program:
        """The program of one problem, refused unless its shapes fit together."""
        name, given = type(self).__name__, self.program(problem)
        if not isinstance(given, tuple) or len(given) != 5:
            raise ValueError(f"{name}.program must return five arrays, loa.problems.Program(P, q, A, l, u).")
        P, q, A, lower, upper = (part if eqx.is_array(part) else np.asarray(part, float) for part in given)
        n, m = np.size(q), np.shape(A)[:1]
        if np.shape(P) != (n, n) or np.shape(A) != (*m, n) or np.shape(q) != (n,):
            shapes = ", ".join(str(np.shape(part)) for part in (P, q, A))
            raise ValueError(f"{name}.program must return P of shape (n, n), q (n,) and A (m, n), got {shapes}.")
        if np.shape(lower) != m or np.shape(upper) != m:
            raise ValueError(
                f"{name}.program returns an A with {m[0]} rows, but lower and upper bounds of shapes {np.shape(lower)} "
                f"and {np.shape(upper)}: give one bound of each kind for every row, infinite where there is none."
            )
        if any(size < 1 for size in self.cones) or sum(self.cones) > m[0]:
            raise ValueError(
                f"{name}.cones must list how many of the {m[0]} rows each cone has, got {shown(self.cones)}."
            )
        return Program(P, q, A, lower, upper)

    def check_numbers(self, problem: Any) -> None:
        """Refuse one concrete problem whose numbers cannot be a convex program."""
        name, program = type(self).__name__, Program(*map(np.asarray, self.arrays(problem)))
        for field, part in zip(Program._fields, program, strict=True):
            if np.isnan(part).any():
                raise ValueError(f"{name}.program returns {field} with NaN in it.")
        if (program.lower > program.upper).any():
            row = int(np.argmax(program.lower > program.upper))
            values = f"{program.lower[row]:g} > {program.upper[row]:g}"
            raise ValueError(f"{name}.program returns bounds with lower > upper: {values} in row {row}.")
        for rows in rows_of(self.cones, len(program.A)):
            if not (np.isfinite(program.lower[rows]).all() and np.isposinf(program.upper[rows]).all()):
                raise ValueError(
                    f"{name}.program returns other bounds than finite lower and infinite upper ones in the rows "
                    f"{rows.start} to {rows.stop - 1}, which are a cone."
                )
        scale = np.abs(program.P).max(initial=1e-300)
        if np.abs(program.P - program.P.T).max(initial=0.0) > 1e-8 * scale:
            raise ValueError(f"{name}.program must return a symmetric P: give (P + P.T) / 2.")
        if program.P.size and np.linalg.eigvalsh(program.P)[0] < -1e-8 * scale:
            raise ValueError(f"{name}.program must return a P without negative eigenvalues; the problem is not convex.")

    def start(self, problem: Any, key: Key[Array, ""]) -> PrimalDual:
        """The point 0 without multipliers, as in OSQP, in the precision of q."""
        program = self.arrays(problem)
        dtype = jnp.result_type(program.q, float)
        z = onto_bounds(jnp.zeros(len(program.lower), dtype), program.lower, program.upper, self.cones)
        return PrimalDual(jnp.zeros(len(program.q), dtype), z, jnp.zeros_like(z))

    def loss(self, x: PrimalDual, problem: Any) -> Scalar:
        return self.value_and_gradient(x, problem)[0]

    def gradient(self, x: PrimalDual, problem: Any) -> PrimalDual:
        return self.value_and_gradient(x, problem)[1]

    def value_and_gradient(self, x: PrimalDual, problem: Any) -> tuple[Scalar, PrimalDual]:
        P, q, A, _, _ = self.arrays(problem)
        curved, off = P @ x.x, A @ x.x - x.z
        value = 0.5 * x.x @ curved + q @ x.x + x.y @ off
        return value, PrimalDual(curved + q + A.T @ x.y, -x.y, off)

    def merit(self) -> Gap:
        """The gap by which points that are no solutions are compared: the larger one of the residuals."""
        return residual

    def impossible(self, move: PrimalDual, slope: PrimalDual, problem: Any) -> Int[Array, ""]:
        r"""Whether a step of an algorithm proves that the problem has no solution.

        1, infeasible, if \(\|A^\top \delta y\| \le \epsilon \|\delta y\|\) and \(u^\top \delta y_+ + l^\top \delta y_-
        \le -\epsilon \|\delta y\|\); 2, unbounded, if \(\|P \delta x\| \le \epsilon \|\delta x\|\), \(q^\top \delta x
        \le -\epsilon \|\delta x\|\), and Aδx points into infinite bounds only; otherwise 0. All norms are maximum norms
        (section 3.4 of the paper on OSQP).

        Arguments:
            move: (δx, δz, δy), the difference between the points after and before the step.
            slope: the difference between the gradients there.
            problem: the problem.
        """
        P, q, _, lower, upper = self.arrays(problem)
        eps, least = self.impossible_tolerance, jnp.finfo(q.dtype).eps
        curved, ahead = P @ move.x, slope.y + move.z
        size, back = largest(move.y), slope.x - curved
        above = jnp.arange(len(upper)) < len(upper) - sum(self.cones)
        up, down = jnp.where(move.y > eps * size, move.y, 0.0), jnp.where(move.y < -eps * size, move.y, 0.0)
        upper = jnp.where(above, upper, lower)  # the support function of l + K is that of l in directions of -K
        support = jnp.sum(jnp.where(up > 0, upper, 0.0) * up) + jnp.sum(jnp.where(down < 0, lower, 0.0) * down)
        infeasible = (size > least) & (largest(back) <= eps * size) & (support <= -eps * size)
        infeasible &= outside(-move.y, self.cones) <= eps * size
        size = largest(move.x)
        inward = (jnp.isposinf(upper) | (ahead <= eps * size)) & (jnp.isneginf(lower) | (ahead >= -eps * size))
        inward = jnp.all(inward | ~above) & (outside(ahead, self.cones) <= eps * size)
        unbounded = (size > least) & (largest(curved) <= eps * size) & (q @ move.x <= -eps * size) & inward
        return jnp.where(infeasible, 1, jnp.where(unbounded, 2, 0)).astype(jnp.int8)


class KnownProgram(Wrapped):
    """The class of quadratic programs that it was made from, which knows the arrays of one problem."""

    _problem_class: QuadraticPrograms  # pyright: ignore[reportIncompatibleVariableOverride]
    _problem: Any
    _program: Program

    def arrays(self, problem: Any) -> Program:
        return self._program if problem is self._problem else self._problem_class.arrays(problem)

    def value_and_gradient(self, x: PrimalDual, problem: Any) -> tuple[Scalar, PrimalDual]:
        return type(self._problem_class).value_and_gradient(self, x, problem)  # pyright: ignore[reportArgumentType]

    def loss(self, x: PrimalDual, problem: Any) -> Scalar:
        return type(self._problem_class).loss(self, x, problem)  # pyright: ignore[reportArgumentType]

    def gradient(self, x: PrimalDual, problem: Any) -> PrimalDual:
        return type(self._problem_class).gradient(self, x, problem)  # pyright: ignore[reportArgumentType]

    def impossible(self, move: PrimalDual, slope: PrimalDual, problem: Any) -> Int[Array, ""]:
        return type(self._problem_class).impossible(self, move, slope, problem)  # pyright: ignore[reportArgumentType]


def own_arrays(problem_class: ProblemClass, problem: Any) -> Program | None:
    """The arrays of a quadratic program that depend on the problem, with None for constants; None for other classes.

    Arguments:
        problem_class: any problem class.
        problem: one of its problems, while JAX traces a function of it.
    """
    if not isinstance(problem_class, QuadraticPrograms):
        return None
    return Program(*(part if isinstance(part, Tracer) else None for part in problem_class.arrays(problem)))


def program_once(problem_class: ProblemClass, problem: Any, own: Program | None = None) -> ProblemClass:
    """A class of quadratic programs that knows the arrays of one problem, so that they are computed once.

    Arguments:
        problem_class: the class that is asked; other classes are returned unchanged.
        problem: the problem. It is recognized as an object.
        own: what `own_arrays` returned for it, if it was computed before.
    """
    if not isinstance(problem_class, QuadraticPrograms):
        return problem_class
    program = problem_class.arrays(problem)
    if own is not None:  # what is computed here but for the constants is then dropped by XLA
        program = Program(*(new if kept is None else kept for kept, new in zip(own, program, strict=True)))
    return KnownProgram(problem_class, problem, program)


class Residual(eqx.Module):
    r"""How far a point is from solving a quadratic program: the larger one of primal and dual residual.

    \(\|A x - z\|_\infty\) and \(\|P x + q + A^\top y\|_\infty\), divided by the tolerances that OSQP compares them
    with: \(\epsilon_{abs} + \epsilon_{rel} \max(\|A x\|, \|z\|)\) and
    \(\epsilon_{abs} + \epsilon_{rel} \max(\|P x\|, \|A^\top y\|, \|q\|)\). Points of ADMM and PDHG satisfy
    \(z = \Pi_{[l, u]}(z + y)\); how far another point violates this counts in the primal residual.
    """

    eps_abs: float = eqx.field(static=True, default=1.0)
    eps_rel: float = eqx.field(static=True, default=0.0)

    def __call__(self, problem_class: Any, x: PrimalDual, problem: Any) -> Scalar:
        P, q, _, lower, upper = problem_class.arrays(problem)
        gradient = problem_class.gradient(x, problem)
        aside = x.z - onto_bounds(x.z + x.y, lower, upper, problem_class.cones)
        primal, dual = jnp.maximum(largest(gradient.y), largest(aside)), largest(gradient.x)
        if self.eps_rel == 0:
            return jnp.maximum(primal, dual) / self.eps_abs
        curved = P @ x.x
        sizes = jnp.maximum(largest(gradient.y + x.z), largest(x.z))
        forces = jnp.maximum(jnp.maximum(largest(curved), largest(gradient.x - q - curved)), largest(q))
        return jnp.maximum(
            primal / (self.eps_abs + self.eps_rel * sizes), dual / (self.eps_abs + self.eps_rel * forces)
        )

    def __repr__(self) -> str:
        plain = (self.eps_abs, self.eps_rel) == (1.0, 0.0)
        return "residual" if plain else f"residual / ({self.eps_abs:g}, {self.eps_rel:g})"


residual = Residual()
"""The larger one of the primal and the dual residual, in the maximum norm."""


def residuals_below(eps_abs: float = 1e-3, eps_rel: float = 0.0) -> Criterion:
    r"""A point solves a quadratic program if its primal and its dual residual are small, as in OSQP.

    \(\|A x - z\| < \epsilon_{abs} + \epsilon_{rel} \max(\|A x\|, \|z\|)\) and \(\|P x + q + A^\top y\| <
    \epsilon_{abs} + \epsilon_{rel} \max(\|P x\|, \|A^\top y\|, \|q\|)\), in the maximum norm.

    Arguments:
        eps_abs: the absolute tolerance > 0.
        eps_rel: the relative tolerance ≥ 0.

    Returns:
        The criterion.

    >>> residuals_below(1e-4)
    residual < 0.0001
    """
    eps_abs = positive_number("eps_abs", eps_abs)
    if not (is_number(eps_rel) and 0 <= eps_rel < np.inf):
        raise ValueError(f"eps_rel must be non-negative and finite, got {shown(eps_rel)}.")
    return Below(residual, eps_abs) if eps_rel == 0 else Below(Residual(eps_abs, float(eps_rel)), 1.0)


def largest(vector: Float[Array, " n"]) -> Scalar:
    """The maximum norm."""
    return jnp.max(jnp.abs(vector), initial=0.0)
