"""Boxes: bounds for every coordinate."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Scalar

from .term import Set, fitted, is_known, numbers


class Box(Set):
    r"""All points between bounds.

    \(\{x : l \le x \le u\}\), where a bound may be infinite.

    Arguments:
        lower: l, a number or an array of the shape of a point.
        upper: u, likewise; at least l everywhere.

    >>> Box(-1.0, [0.5, 2.0]).project(jnp.array([1.0, -3.0])).tolist()
    [0.5, -1.0]
    """

    separable: ClassVar[bool] = True

    lower: Any = eqx.field(converter=numbers("lower"))
    upper: Any = eqx.field(converter=numbers("upper"))

    def __check_init__(self):
        try:
            np.broadcast_shapes(np.shape(self.lower), np.shape(self.upper))
        except ValueError:
            shapes = f"{np.shape(self.lower)} and {np.shape(self.upper)}"
            raise ValueError(f"lower and upper of a Box must have shapes that fit, got {shapes}.") from None
        if is_known(self.lower, self.upper) and np.any(self.lower > self.upper):
            low, high = np.broadcast_arrays(self.lower, self.upper)
            place = tuple(int(index) for index in np.argwhere(low > high)[0])
            where = f" at index {list(place)}" if place else ""
            raise ValueError(f"a Box needs lower ≤ upper, but {low[place]:g} > {high[place]:g}{where}.")

    def project(self, x: Float[Array, ...]) -> Float[Array, ...]:
        lower, upper = fitted(self, "lower", self.lower, x), fitted(self, "upper", self.upper, x)
        return jnp.where(lower <= upper, jnp.clip(x, lower, upper), jnp.nan)  # no point is in an empty box

    def violation(self, x: Float[Array, ...]) -> Scalar:
        lower, upper = fitted(self, "lower", self.lower, x), fitted(self, "upper", self.upper, x)
        return jnp.max(jnp.maximum(lower - x, x - upper), initial=0.0)


class NonNegative(Set):
    r"""All points without a negative coordinate.

    \(\{x : x \ge 0\}\).

    >>> NonNegative().project(jnp.array([1.0, -3.0])).tolist()
    [1.0, 0.0]
    """

    separable: ClassVar[bool] = True

    def project(self, x: Float[Array, ...]) -> Float[Array, ...]:
        return jnp.maximum(x, fitted(self, "zero", 0.0, x))

    def violation(self, x: Float[Array, ...]) -> Scalar:
        return jnp.max(fitted(self, "zero", 0.0, x) - x, initial=0.0)
