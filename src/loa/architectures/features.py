"""The features of learned algorithms: lengths on a logarithmic scale, and directions without their length."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Scalar

from ..problems.gaps import norm


def split(vector: Float[Array, ...]) -> tuple[Scalar, Float[Array, ...]]:
    """Length and direction of a vector; the direction of 0 is 0."""
    length = norm(vector)
    return length, vector / jnp.where(length > 0, length, 1.0)


def weighted(weights: Float[Array, " channels"], *channels: Float[Array, ...]) -> Float[Array, "channels ..."]:
    """Channels, each multiplied by its weight, stacked as the input of a coordinate-wise network."""
    return jnp.stack([weight * channel for weight, channel in zip(weights, channels, strict=True)])
