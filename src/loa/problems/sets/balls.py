"""Sets of points of bounded size: the simplex, and the balls of the Euclidean and the absolute norm."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Scalar

from ..gaps import norm
from .term import Set, fitted, numbers, positive


class Simplex(Set):
    r"""All non-negative points whose coordinates have a given sum.

    \(\{x \ge 0 : \sum_i x_i = s\}\). The coordinates of a point that is not a vector are all its entries.

    Arguments:
        total: s > 0.

    >>> Simplex().project(jnp.array([1.0, 0.5, -1.0])).tolist()
    [0.75, 0.25, 0.0]
    """

    total: Any = eqx.field(converter=positive("total"), default=1.0)

    def project(self, x: Float[Array, ...]) -> Float[Array, ...]:
        return _onto_simplex(x, fitted(self, "total", self.total, x))

    def violation(self, x: Float[Array, ...]) -> Scalar:
        total = fitted(self, "total", self.total, x)
        return jnp.maximum(jnp.max(-x, initial=0.0), jnp.abs(jnp.sum(x) - total))


class Ball(Set):
    r"""All points within a Euclidean distance of a center.

    \(\{x : \|x - c\| \le r\}\).

    Arguments:
        radius: r > 0.
        center: c, a number or an array of the shape of a point; 0 by default.

    >>> Ball(2.0).project(jnp.array([0.0, 5.0])).tolist()
    [0.0, 2.0]
    """

    radius: Any = eqx.field(converter=positive("radius"), default=1.0)
    center: Any = eqx.field(converter=numbers("center"), default=0.0)

    def project(self, x: Float[Array, ...]) -> Float[Array, ...]:
        center = fitted(self, "center", self.center, x)
        length, radius = norm(x - center), fitted(self, "radius", self.radius, x)
        outside = length > radius
        share = jnp.where(outside, radius / jnp.where(outside, length, 1.0), 1.0)
        return jnp.where(outside, center + share * (x - center), x)

    def violation(self, x: Float[Array, ...]) -> Scalar:
        distance = norm(x - fitted(self, "center", self.center, x))
        return jnp.maximum(distance - fitted(self, "radius", self.radius, x), 0.0)


class L1Ball(Set):
    r"""All points whose absolute values have at most a given sum.

    \(\{x : \sum_i |x_i| \le r\}\).

    Arguments:
        radius: r > 0.

    >>> L1Ball(1.0).project(jnp.array([-1.0, 0.5, 0.0])).tolist()
    [-0.75, 0.25, 0.0]
    """

    radius: Any = eqx.field(converter=positive("radius"), default=1.0)

    def project(self, x: Float[Array, ...]) -> Float[Array, ...]:
        radius = fitted(self, "radius", self.radius, x)
        return jnp.where(jnp.sum(jnp.abs(x)) > radius, jnp.sign(x) * _onto_simplex(jnp.abs(x), radius), x)

    def violation(self, x: Float[Array, ...]) -> Scalar:
        return jnp.maximum(jnp.sum(jnp.abs(x)) - fitted(self, "radius", self.radius, x), 0.0)


def _onto_simplex(x: Float[Array, ...], total: Scalar) -> Float[Array, ...]:
    """What exceeds a level, which is chosen so that the sum is right; by sorting."""
    active = _above_level(jax.lax.stop_gradient(x), jax.lax.stop_gradient(total))
    level = (jnp.sum(jnp.where(active, x, 0.0)) - total) / jnp.sum(active)
    return jnp.where(active, x - level, 0.0)


def _above_level(x: Float[Array, ...], total: Scalar) -> Bool[Array, ...]:
    descending = jnp.sort(x.ravel())[::-1]
    levels = (jnp.cumsum(descending) - total) / jnp.arange(1, x.size + 1, dtype=x.dtype)
    return x > levels[jnp.sum(descending > levels) - 1]
