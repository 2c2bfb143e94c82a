"""Second-order cones among the rows of a program: projections, distances, and what the rows of a cone share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Scalar

from ..gaps import norm

Cones = Sequence[int]
"""How many rows each cone has. Cones take the last rows of a program, one after the other."""


def onto_cone(point: Float[Array, " k"]) -> Float[Array, " k"]:
    r"""The nearest point of the second-order cone.

    \(\{(t, v) : \|v\| \le t\}\).

    Arguments:
        point: (t, v), a vector with at least one entry.

    Returns:
        The projection.

    >>> onto_cone(jnp.array([0.0, 3.0, 4.0])).tolist()
    [2.5, 1.5, 2.0]
    """
    t, v = point[0], point[1:]
    length = norm(v)
    inside, polar = length <= t, length <= -t
    edge = 0.5 * (t + length)
    share = edge / jnp.where(length > 0, length, 1.0)
    onto = jnp.concatenate([edge[None], share * v])
    return jnp.where(inside, point, jnp.where(polar, jnp.zeros_like(point), onto))


def onto_bounds(z: Float[Array, " m"], lower: Any, upper: Any, cones: Cones) -> Float[Array, " m"]:
    """The nearest vector between the bounds; in the rows of a cone, the nearest one whose excess over l is in it.

    NaN where no number is between the bounds.
    """
    clipped = jnp.where(lower <= upper, jnp.clip(z, lower, upper), jnp.nan)
    if not cones:
        return clipped
    pieces = [lower[rows] + onto_cone(z[rows] - lower[rows]) for rows in rows_of(cones, len(z))]
    return jnp.concatenate([clipped[: len(z) - sum(cones)], *pieces])


def outside(vector: Float[Array, " m"], cones: Cones) -> Scalar:
    """The largest distance of the part of a vector that belongs to a cone from this cone; 0 without cones."""
    far = [norm(vector[rows] - onto_cone(vector[rows])) for rows in rows_of(cones, len(vector))]
    return jnp.max(jnp.stack(far)) if far else jnp.zeros((), vector.dtype)


def alike(values: Float[Array, " m"], cones: Cones, common: Callable[[Any], Any]) -> Float[Array, " m"]:
    """The same values, where all rows of a cone have what `common` makes of theirs: scalings must not bend a cone."""
    if not cones:
        return values
    pieces = [
        jnp.full(size, common(values[rows])) for size, rows in zip(cones, rows_of(cones, len(values)), strict=True)
    ]
    return jnp.concatenate([values[: len(values) - sum(cones)], *pieces])


def rows_of(cones: Cones, number: int) -> list[slice]:
    """The rows of each cone, in a program with this number of rows."""
    ends = [number - sum(cones[place + 1 :]) for place in range(len(cones))]
    return [slice(end - size, end) for size, end in zip(cones, ends, strict=True)]
