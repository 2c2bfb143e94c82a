"""The learned algorithm of the paper's experiment on LASSO (appendix J)."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ..algorithms.algorithm import Algorithm
from ..algorithms.line_search import dot
from ..problems.gaps import norm
from ..problems.oracle import Oracle
from .coordinate_network import CoordinateNetwork
from .features import split, weighted

LOSS = 1e5
"""The unit in which changes of the loss are measured, so that all features are of order 1."""


class LassoState(NamedTuple):
    """Current and previous point, and the smooth and non-smooth parts of the loss at the previous one."""

    x: Float[Array, " d"]
    previous: Float[Array, " d"]
    previous_smooth: Scalar
    previous_nonsmooth: Scalar


class LearnedLasso(Algorithm):
    r"""The paper's learned algorithm for LASSO (appendix J).

    \[ x^{(t+1)} = \mathrm{prox}_{\beta g}\big(x + (d_{1,0} - \nabla h(x) + \|x - x^{(t-1)}\| d_{2,>}) / L\big), \qquad
       \beta = 1/L. \]

    The directions come from a coordinate-wise network that sees the normalized gradient, momentum, proximal residual
    \(x - p\) with \(p = \mathrm{prox}_{\beta g}(x - \beta \nabla h(x))\), and gradient times momentum, each split into
    the coordinates where x is not zero, \(>\), and where it is zero, \(0\). Their eight weights come from a second
    network that sees the norms of gradient, momentum and p on both groups, the changes of the loss and of its two parts
    (in a fixed unit, which the weights of the first layer can undo), the inner products of gradient and momentum,
    and λ.

    The paper's text has \(d_{1,>}\) and \(d_{2,0}\) instead, which `as_printed` reproduces. In that form nothing makes
    the move on the support vanish at a solution, and training does not succeed. The code that the authors published
    agrees with the equation above.

    Arguments:
        key: a PRNG key for the initial weights.
        as_printed: whether to use the update in the paper's text.
    """

    weights: CoordinateNetwork
    directions: CoordinateNetwork
    as_printed: bool = eqx.field(static=True, default=False)

    def __init__(self, *, key: Key[Array, ""], as_printed: bool = False):
        self.as_printed = as_printed
        weight_key, direction_key = jax.random.split(key)
        self.weights = CoordinateNetwork((12, 30, 20, 10, 8), key=weight_key)
        self.directions = CoordinateNetwork((8, 20, 20, 20, 2), key=direction_key)

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> LassoState:
        return LassoState(x0, x0, *_parts(oracle, x0))

    def step(self, oracle: Oracle, state: LassoState, key: Key[Array, ""]) -> LassoState:
        x, previous, previous_smooth, previous_nonsmooth = state
        gradient = oracle.gradient(x)
        smooth, nonsmooth = _parts(oracle, x)
        beta = 1.0 / oracle.smoothness()
        prox_point = oracle.prox(x - beta * gradient, beta)
        nonzero = x != 0

        def parts(vector: Float[Array, " d"]) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
            return jnp.where(nonzero, vector, 0.0), jnp.where(nonzero, 0.0, vector)

        momentum_norm, momentum = split(x - previous)
        dg, dm, dr = parts(split(gradient)[1]), parts(momentum), parts(split(x - prox_point)[1])
        norms = [norm(part) for vector in (gradient, x - previous, prox_point) for part in parts(vector)]
        changes = (smooth - previous_smooth) / LOSS, (nonsmooth - previous_nonsmooth) / LOSS
        features = jnp.stack(
            [
                *jnp.log1p(jnp.stack(norms)),
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
        move = jnp.where(nonzero == self.as_printed, d1, momentum_norm * d2) - gradient
        return LassoState(oracle.prox(x + beta * move, beta), x, smooth, nonsmooth)

    def iterate(self, state: LassoState) -> Float[Array, " d"]:
        return state.x


def _parts(oracle: Oracle, x: Float[Array, " d"]) -> tuple[Scalar, Scalar]:
    """The smooth and non-smooth parts of the loss, which together count as one call for the value."""
    smooth = oracle.problem_class.smooth(x, oracle.problem)
    return smooth, oracle.value(x) - smooth
