"""Operator splitting for quadratic programs, as in OSQP, with a factorization that serves all penalties."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Scalar

from ..messages.arguments import parameter
from ..problems.oracle import Oracle
from ..problems.programs.cones import Cones, alike, onto_bounds
from ..problems.programs.quadratic_programs import PrimalDual, Program, largest
from .algorithm import Algorithm
from .warm_start import WarmStart

SIGMA = 1e-6
"""The weight of the proximal term in x."""

STIFF = 1e3
"""How much larger the penalty of an equation is than that of an inequality."""

ROUNDS = 10
"""Rounds of scaling."""


class Factored(eqx.Module):
    r"""What ADMM needs of P and A: scalings d and e, the scaled A, weights w of its rows, and a factorization.

    With W = diag(w), \(P + \sigma I + \rho A^\top W A = V^{-\top} (I + (\rho - \rho_0) \Lambda) V^{-1}\) for any ρ. For
    given penalties W there is no scaling, and ρ₀ = 1. If they are fixed, V is the inverse of
    \(P + \sigma I + A^\top W A\), and Λ is None.
    """

    columns: Float[Array, " n"]
    rows: Float[Array, " m"]
    A: Float[Array, "m n"]
    weights: Float[Array, " m"]
    basis: Float[Array, "n n"]
    spectrum: Float[Array, " n"] | None
    size: Scalar
    first: Scalar
    given: bool = eqx.field(static=True, default=False)
    """Whether W are penalties that were given, and not weights in a scaled program; fixed ones always are."""

    @staticmethod
    def of(P: Any, A: Any, weights: Any, cones: Cones = ()) -> Factored:
        """The factorization, after Ruiz scaling, around a penalty ρ₀ that is a tenth of the size of P."""
        columns, rows = _scalings(P, A, cones)
        P, A = columns[:, None] * P * columns, rows[:, None] * A * columns
        size = jnp.maximum(jnp.mean(jnp.max(jnp.abs(P), axis=0)), 1e-4)
        basis, spectrum = _diagonalized(P, A, weights, SIGMA, 0.1 * size)
        return Factored(columns, rows, A, weights, basis, spectrum, size, 0.1 * size)

    @staticmethod
    def with_penalties(P: Any, A: Any, weights: Any, fixed: bool) -> Factored:
        """The inverse for fixed penalties, one for every row, or a factorization for all multiples of them."""
        ones, one, A = jnp.ones(len(P), P.dtype), jnp.ones((), P.dtype), jnp.asarray(A)
        size = jnp.maximum(jnp.mean(jnp.abs(jnp.diagonal(P))), 1e-4)
        if fixed:
            heavy, spectrum = P + SIGMA * size * jnp.eye(len(P), dtype=P.dtype) + A.T @ (weights[:, None] * A), None
            basis = jnp.linalg.inv(heavy)
        else:
            basis, spectrum = _diagonalized(P, A, weights, SIGMA * size, one)
        return Factored(ones, jnp.ones(len(A), P.dtype), A, weights, basis, spectrum, size, one, True)

    @property
    def has_penalties(self) -> bool:
        """Whether W are penalties, which do not depend on the size of q."""
        return self.given or self.spectrum is None

    def pulled(self, y: Float[Array, " m"], z: Float[Array, " m"]) -> Float[Array, "2 n"]:
        """The products of Aᵀ with y and with Wz."""
        return jnp.stack([y, self.weights * z]) @ self.A

    def solve(self, right: Float[Array, " n"], penalty: Scalar) -> Float[Array, " n"]:
        """The solution of linear equations with the matrix of this penalty."""
        if self.spectrum is None:
            return self.basis @ right
        return self.basis @ ((self.basis.T @ right) / (1.0 + (penalty - self.first) * self.spectrum))


class SplitProgram(NamedTuple):
    """Scaled iterates and q, products that steps and residuals need, the penalty, the time, and what was factored."""

    x: Float[Array, " n"]
    z: Float[Array, " m"]
    y: Float[Array, " m"]
    q: Float[Array, " n"]
    Px: Float[Array, " n"]
    Ax: Float[Array, " m"]
    Ay: Float[Array, " n"]
    Az: Float[Array, " n"]
    penalty: Scalar
    time: Int[Array, ""]
    factored: Factored | None


class ProgramADMM(Algorithm):
    r"""The alternating direction method of multipliers for quadratic programs, as in OSQP.

    \[ \tilde x = (P + \sigma I + \rho A^\top W A)^{-1} (\sigma x - q + A^\top (\rho W z - y)), \quad
       \tilde z = A \tilde x, \]
    \[ x^+ = \alpha \tilde x + (1 - \alpha) x, \quad
       z^+ = \Pi_{[l, u]}(\alpha \tilde z + (1 - \alpha) z + (\rho W)^{-1} y), \quad
       y^+ = y + \rho W (\alpha \tilde z + (1 - \alpha) z - z^+), \]

    on a program that is scaled by Ruiz's method. The matrix is factored once, in a form that serves all penalties ρ, so
    that adapting the penalty costs nothing: every `interval` steps ρ is multiplied by the square root of the ratio
    of the relative residuals, if that is larger than the factor `patience` or smaller than its inverse. Rows that are
    equations have a thousand times the penalty of the others, unless `log_weights` says otherwise. The rows of a
    second-order cone share their scaling and their penalty, so that the projection stays exact.

    A step takes one gradient and one projection. Where all problems of a class share P and A, `factored` may hold what
    `Factored.of` makes of them, so that nothing is factored when a problem arrives. `loa.problems.QuadraticPrograms`
    has an example.

    Arguments:
        log_penalty: the logarithm of the first ρ, relative to the size of P and q.
        relaxation: α in (0, 2).
        log_patience: the logarithm of the factor.
        interval: steps between two adaptations; 0 for a fixed penalty.
        factored: the common factorization, if there is one.
        log_weights: the logarithms of penalties, one for every row, which then take the place of ρW at the start. All
            adapt by a common factor, unless `interval` is 0.
        warm_start: where to start, learned for the class, if not where the class says.

    Reference: Stellato, Banjac, Goulart, Bemporad and Boyd, *OSQP: an operator splitting solver for quadratic
    programs*, 2020.
    """

    on_vectors: ClassVar[bool] = True

    log_penalty: Float[Array, ""] = eqx.field(converter=parameter("log_penalty"), default=-2.3)
    relaxation: Float[Array, ""] = eqx.field(converter=parameter("relaxation"), default=1.6)
    log_patience: Float[Array, ""] = eqx.field(converter=parameter("log_patience"), default=1.6)
    interval: int = eqx.field(static=True, default=25)
    factored: Factored | None = None
    warm_start: WarmStart | None = None
    log_weights: Float[Array, " m"] | None = eqx.field(converter=parameter("log_weights", optional=True), default=None)

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> SplitProgram:
        program = oracle.program()
        n, m = len(program.q), len(program.lower)
        point = PrimalDual(x0[:n], x0[n : n + m], x0[n + m :])
        if self.warm_start is not None:
            point = self.warm_start(program, oracle.cones)
        own = None
        if self.factored is None:
            own = self._factorization(program, oracle.cones)
        shared = self._factored(own)
        penalty = jnp.exp(self.log_penalty) * jnp.maximum(shared.size, largest(shared.columns * program.q))
        penalty = shared.first if shared.has_penalties else penalty
        x, z, y = point.x / shared.columns, shared.rows * point.z, point.y / shared.rows
        Px, q = shared.columns * (program.P @ point.x), shared.columns * program.q
        Ay, Az = shared.pulled(y, z)
        return SplitProgram(x, z, y, q, Px, shared.A @ x, Ay, Az, penalty, jnp.zeros((), jnp.int32), own)

    def step(self, oracle: Oracle, state: SplitProgram, key: Key[Array, ""]) -> SplitProgram:
        program, shared, alpha = oracle.program(), self._factored(state.factored), self.relaxation
        stiffness = state.penalty * shared.weights
        right = (
            SIGMA * (shared.size if shared.has_penalties else 1.0) * state.x
            - state.q
            + state.penalty * state.Az
            - state.Ay
        )
        ahead = shared.solve(right, state.penalty)
        image = shared.A @ ahead
        mixed = alpha * image + (1.0 - alpha) * state.z
        raised = mixed + state.y / stiffness
        z = onto_bounds(raised, shared.rows * program.lower, shared.rows * program.upper, oracle.cones)
        x, y = alpha * ahead + (1.0 - alpha) * state.x, stiffness * (raised - z)
        Px = shared.columns * (program.P @ (shared.columns * x))
        Ax = alpha * image + (1.0 - alpha) * state.Ax
        Ay, Az = shared.pulled(y, z)
        after = state._replace(x=x, z=z, y=y, Px=Px, Ax=Ax, Ay=Ay, Az=Az, time=state.time + 1)
        return after if shared.spectrum is None or not self.interval else self._adapted(after)

    def _adapted(self, state: SplitProgram) -> SplitProgram:
        """The state with another penalty, where it is time for one and the residuals are out of balance."""
        primal = _ratio(state.Ax - state.z, state.Ax, state.z)
        dual = _ratio(state.Px + state.q + state.Ay, state.Px, state.Ay, state.q)
        penalty = jnp.clip(state.penalty * jnp.sqrt(primal / dual), 1e-6, 1e6)
        change = jnp.abs(jnp.log(penalty / state.penalty))
        now: Bool[Array, ""] = (state.time % self.interval == 0) & (change > self.log_patience)
        return state._replace(penalty=jnp.where(now, penalty, state.penalty))

    def iterate(self, state: SplitProgram) -> Float[Array, " d"]:
        shared = self._factored(state.factored)
        return jnp.concatenate([shared.columns * state.x, state.z / shared.rows, shared.rows * state.y])

    def known(self, state: SplitProgram) -> tuple[Scalar, Float[Array, " d"]]:
        shared, off = self._factored(state.factored), state.Ax - state.z
        loss = 0.5 * state.x @ state.Px + state.q @ state.x + state.y @ off
        slope = (state.Px + state.q + state.Ay) / shared.columns
        return loss, jnp.concatenate([slope, -shared.rows * state.y, off / shared.rows])

    def _factorization(self, program: Program, cones: Cones) -> Factored:
        if self.log_weights is not None:
            weights = jnp.exp(alike(self.log_weights, cones, jnp.mean))
            return Factored.with_penalties(program.P, program.A, weights, not self.interval)
        weights = jnp.where(program.lower == program.upper, STIFF, 1.0)
        return Factored.of(program.P, program.A, weights, cones)

    def _factored(self, own: Factored | None) -> Factored:
        found = own if self.factored is None else self.factored
        assert found is not None
        return found


def _diagonalized(P: Any, A: Any, weights: Any, sigma: Any, penalty: Any) -> tuple[Array, Array]:
    """V and Λ around a penalty, from the generalized eigenvalue problem of AᵀWA and the matrix of this penalty."""
    heavy = A.T @ (weights[:, None] * A)
    lower = jnp.linalg.cholesky(P + sigma * jnp.eye(len(P), dtype=P.dtype) + penalty * heavy)
    half = jax.scipy.linalg.solve_triangular(lower, heavy, lower=True)
    middle = jax.scipy.linalg.solve_triangular(lower, half.T, lower=True)
    spectrum, turn = jnp.linalg.eigh(0.5 * (middle + middle.T))
    return jax.scipy.linalg.solve_triangular(lower, turn, lower=True, trans=1), spectrum


def _scalings(P: Any, A: Any, cones: Cones) -> tuple[Float[Array, " n"], Float[Array, " m"]]:
    """Scalings of columns and rows that bring all columns of [P, Aᵀ; A, 0] close to the maximum norm 1."""

    def body(_: Any, scalings: Any) -> Any:
        columns, rows = scalings
        scaled = jnp.abs(rows[:, None] * A * columns)
        curved = jnp.abs(columns[:, None] * P * columns)
        tall = jnp.maximum(jnp.max(curved, axis=0, initial=0.0), jnp.max(scaled, axis=0, initial=0.0))
        wide = alike(jnp.max(scaled, axis=1, initial=0.0), cones, jnp.max)
        return columns * _inverse_root(tall), rows * _inverse_root(wide)

    dtype = jnp.result_type(P, A)
    ones = jnp.ones(A.shape[1], dtype), jnp.ones(A.shape[0], dtype)
    return jax.lax.fori_loop(0, ROUNDS, body, ones)


def _inverse_root(size: Float[Array, " k"]) -> Float[Array, " k"]:
    return jnp.where(size < 1e-4, 1.0, 1.0 / jnp.sqrt(jnp.clip(size, 1e-4, 1e4)))


def _ratio(residual: Float[Array, " k"], *parts: Float[Array, " k"]) -> Scalar:
    """A residual relative to the largest one of the parts that it is made of."""
    scale = jnp.stack([jnp.max(jnp.abs(part), initial=0.0) for part in parts]).max()
    return (jnp.max(jnp.abs(residual), initial=0.0) + 1e-30) / jnp.maximum(scale, 1e-30)
