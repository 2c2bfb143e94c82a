"""A semismooth Newton method with the learned curvature of the class, for problems with a proximal mapping."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Scalar

from ..algorithms.algorithm import Algorithm
from ..problems.gaps import norm
from ..problems.oracle import Oracle
from .first_step import FirstStep


class ProximalNewtonState(NamedTuple):
    """The point, the norm of the proximal residual at the previous point, and the logarithm of the caution."""

    x: Float[Array, " d"]
    previous_norm: Scalar
    log_caution: Scalar


class LearnedProximalNewton(Algorithm):
    r"""A Newton method with a learned curvature, for losses with a non-smooth part.

    It solves \(F(x) = x - \mathrm{prox}_{\beta g}(x - \beta \nabla h(x)) = 0\), where β = 1/L. In the Jacobian of F,
    the learned average curvature \(B = R^\top R\) replaces the Hessian of the smooth part h; the proximal mapping acts
    on each coordinate separately and has slope D there:

    \[ \big(I - D (I - \beta B) + \beta \mu I\big)\, d = -F(x^{(t)}), \qquad
       \mu = \mu_0 + \kappa^{(t)} \mu_1 \|F(x^{(t)})\|^p. \]

    The caution κ grows when \(\|F\|\) grows, and shrinks when it shrinks and in the first step, by learned factors; it
    stays within \(e^{\pm 7}\). A learned first step, if there is one, replaces the first d. Starting at
    \(x^{(t)} + d\), `sweeps` of the Douglas-Rachford method (ADMM) with a learned penalty ρ and relaxation minimize the
    model \(\langle \nabla h(x^{(t)}), z - x^{(t)} \rangle + \frac12 \|R (z - x^{(t)})\|^2 + g(z)\). The sweeps are good
    at finding which coordinates are zero, and Newton's method is good at the values of the others. The method pays off
    if the problems of a class have similar curvature.

    The fixed points of a step are the solutions, whatever B is, so the systems may be solved in float32; then
    \(\mu_0\) must not be much smaller than \(10^{-5} \|B\|\). A step takes one gradient, and one proximal mapping for
    Newton's method and for each sweep.

    Arguments:
        factor: R, with orthogonal rows, as `factor_of` computes it.
        log_floor: log μ₀.
        log_damping: log μ₁.
        power: p.
        log_up: the logarithm of the factor by which the caution grows.
        log_down: the logarithm of the factor by which the caution shrinks.
        log_penalty: log ρ.
        relaxation: of the sweeps, in (0, 2).
        first_step: a learned first step, optional.
        sweeps: the number of sweeps per step, 0 or more.
    """

    on_vectors: ClassVar[bool] = True

    factor: Float[Array, "r d"]
    log_floor: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_damping: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    power: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_up: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_down: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_penalty: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=0.0)
    relaxation: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=1.0)
    first_step: FirstStep | None = None
    sweeps: int = eqx.field(static=True, default=0)

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> ProximalNewtonState:
        return ProximalNewtonState(x0, jnp.full((), jnp.inf, x0.dtype), jnp.zeros((), x0.dtype))

    def step(self, oracle: Oracle, state: ProximalNewtonState, key: Key[Array, ""]) -> ProximalNewtonState:
        x, gradient = state.x, oracle.gradient(state.x)
        beta = 1.0 / oracle.smoothness()
        prox_point, slope = jax.jvp(lambda v: oracle.prox(v, beta), (x - beta * gradient,), (jnp.ones_like(x),))
        residual = x - prox_point
        length = norm(residual)
        change = jnp.where(length < state.previous_norm, self.log_down, self.log_up)
        log_caution = jnp.clip(state.log_caution + change, -7.0, 7.0)
        log_damping = log_caution + self.log_damping + self.power * jnp.log(jnp.maximum(length, 1e-30))
        damping = jnp.exp(self.log_floor) + jnp.exp(log_damping)
        move = -self._solve(slope, beta, damping, residual)
        if self.first_step is not None:
            move = jnp.where(jnp.isinf(state.previous_norm), self.first_step(gradient), move)
        return ProximalNewtonState(self._sweep(oracle, x, gradient, move), length, log_caution)

    def _sweep(self, oracle: Oracle, x: Array, gradient: Array, move: Array) -> Float[Array, " d"]:
        """The result of the sweeps from x + d on the model at x; the dual variable is divided by ρ."""
        penalty = jnp.exp(self.log_penalty)
        factor = self.factor.astype(jnp.float32)
        share = 1.0 / (jnp.sum(factor * factor, axis=1) + penalty.astype(jnp.float32))

        def curved(v: Array, weights: Any) -> Array:
            return ((weights * (factor @ v.astype(jnp.float32))) @ factor).astype(v.dtype)

        z, dual = x + move, -(gradient + curved(move, 1.0)) / penalty
        for _ in range(self.sweeps):
            pull = gradient / penalty + dual - (z - x)
            ahead = z + dual + self.relaxation * (x - z - pull + curved(pull, share))
            z = oracle.prox(ahead, 1.0 / penalty)
            dual = ahead - z
        return z

    def _solve(self, slope: Array, beta: Scalar, damping: Scalar, right: Array) -> Float[Array, " d"]:
        r"""The solution of \((\mathrm{diag}(e) + \beta D R^\top R)\, z = f\), by a system of r equations (Woodbury)."""
        factor, weights, diagonal, f = (
            part.astype(jnp.float32)
            for part in (self.factor, beta * slope, 1.0 - slope + beta * damping, right)
        )  # fmt: skip
        weights = weights / diagonal
        small = (factor * weights) @ factor.T + jnp.eye(len(factor), dtype=jnp.float32)
        inner = jax.scipy.linalg.solve(small, factor @ (f / diagonal), assume_a="pos")
        return (f / diagonal - weights * (inner @ factor)).astype(right.dtype)

    def iterate(self, state: ProximalNewtonState) -> Float[Array, " d"]:
        return state.x


def factor_of(matrix: Float[np.ndarray, "d d"]) -> Float[Array, "r d"]:
    r"""The smallest R such that \(R^\top R\) is the matrix without its negative eigenvalues."""
    spectrum, basis = np.linalg.eigh(np.asarray(matrix))
    kept = spectrum > 1e-10 * spectrum.max()
    return jnp.asarray((basis[:, kept] * np.sqrt(spectrum[kept])).T)
