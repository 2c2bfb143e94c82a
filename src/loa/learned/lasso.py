"""The learned algorithm of the paper's experiment on LASSO (appendix J)."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ..algorithms.algorithm import Algorithm
from ..algorithms.line_search import dot
from ..networks import CoordinateNetwork
from ..problems.oracle import Oracle
from .features import split, weighted


class LassoState(NamedTuple):
    """Current and previous point, and smooth and non-smooth part of the loss at the previous one."""

    x: Float[Array, " d"]
    previous: Float[Array, " d"]
    previous_smooth: Scalar
    previous_nonsmooth: Scalar


class LearnedLasso(Algorithm):
    r"""\(x^{(t+1)} = \mathrm{prox}_{\beta g}\big(x + (d_{1,>} - \nabla h(x) + \|x - x^{(t-1)}\| d_{2,0}) / L\big)\).

    β = 1/L. The directions come from a coordinate-wise network that sees the normalized gradient, momentum, proximal
    residual \(x - p\) with \(p = \mathrm{prox}_{\beta g}(x - \beta \nabla h(x))\), and gradient times momentum, each
    split into the coordinates where x is not zero, \(>\), and where it is, \(0\). Their eight weights come from a
    second network that sees the norms of gradient, momentum and p on both, the changes of the loss and of its two
    parts, the inner products of gradient and momentum, and λ.
    """

    weights: CoordinateNetwork
    directions: CoordinateNetwork

    def __init__(self, *, key: Key[Array, ""]):
        weight_key, direction_key = jax.random.split(key)
        self.weights = CoordinateNetwork((12, 30, 20, 10, 8), key=weight_key)
        self.directions = CoordinateNetwork((8, 20, 20, 20, 2), key=direction_key)

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> LassoState:
        return LassoState(x0, x0, *_parts(oracle, x0))

    def step(self, oracle: Oracle, state: LassoState, key: Key[Array, ""]) -> LassoState:
        x, previous, previous_smooth, previous_nonsmooth = state
        gradient = oracle.gradient(x)
        smooth, nonsmooth = _parts(oracle, x)
        beta = 1.0 / oracle.problem_class.smoothness(oracle.problem)
        prox_point = oracle.prox(x - beta * gradient, beta)
        nonzero = x != 0
        masks = nonzero, ~nonzero

        (g, dg), (m, dm), (_, dr) = (
            tuple(zip(*(split(jnp.where(mask, vector, 0.0)) for mask in masks), strict=True))
            for vector in (gradient, x - previous, x - prox_point)
        )
        p = tuple(split(jnp.where(mask, prox_point, 0.0))[0] for mask in masks)
        changes = smooth - previous_smooth, nonsmooth - previous_nonsmooth
        features = jnp.stack(
            [
                *jnp.log1p(jnp.stack([*g, *m, *p])),
                changes[0] + changes[1],
                changes[1],
                changes[0],
                dot(dg[0], dm[0]),
                dot(dg[1], dm[1]),
                oracle.problem.regularization,
            ]
        )
        products = dg[0] * dm[0], dg[1] * dm[1]
        d1, d2 = self.directions(weighted(self.weights(features), *dg, *dm, *dr, *products))
        momentum_norm = split(x - previous)[0]
        move = jnp.where(nonzero, d1, 0.0) - gradient + momentum_norm * jnp.where(nonzero, 0.0, d2)
        return LassoState(oracle.prox(x + beta * move, beta), x, smooth, nonsmooth)

    def iterate(self, state: LassoState) -> Float[Array, " d"]:
        return state.x


def _parts(oracle: Oracle, x: Float[Array, " d"]) -> tuple[Scalar, Scalar]:
    """Smooth and non-smooth part of the loss; together one call for the value."""
    smooth = oracle.problem_class.smooth(x, oracle.problem)
    return smooth, oracle.value(x) - smooth
