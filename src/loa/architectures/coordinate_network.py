"""The building block of learned algorithms: one small network applied to every coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from itertools import pairwise
from operator import add

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

Weights = tuple[Float[Array, "_ _"], ...]


class CoordinateNetwork(eqx.Module):
    r"""A small ReLU network without biases that is applied to every coordinate of its input.

    It maps \(\mathbb R^{c} \to \mathbb R^{c'}\): it takes an array with the channels as leading axis,
    `(channels, *coordinates)`, and returns one with the new channels. These are the paper's "1×1 convolutions" and, on
    inputs without coordinates, its fully connected blocks.

    Consecutive linear layers are merged. The network runs as arithmetic on whole channels, which XLA fuses into one
    loop over the coordinates that never stores a hidden layer. Derivatives use ordinary matrix products, because the
    fused form is slow to differentiate.

    Arguments:
        channels: the widths of the layers, from input to output; at least two.
        key: a PRNG key for the weights, which are uniform on ±1/√(number of inputs).
        linear_after: the numbers of layers, from 0, that are not followed by a ReLU; the last layer never is.

    >>> network = CoordinateNetwork((3, 10, 10, 1), key=jax.random.key(0))
    >>> network(jnp.ones((3, 200))).shape
    (1, 200)
    """

    weights: Weights
    activated: tuple[bool, ...] = eqx.field(static=True)

    def __init__(self, channels: Sequence[int], *, key: Key[Array, ""], linear_after: Sequence[int] = ()):
        layers = list(pairwise(channels))
        keys = jax.random.split(key, len(layers))
        self.weights = tuple(
            jax.random.uniform(k, (wide, narrow), minval=-1.0, maxval=1.0) / narrow**0.5
            for k, (narrow, wide) in zip(keys, layers, strict=True)
        )
        last = len(layers) - 1
        self.activated = tuple(index != last and index not in linear_after for index in range(len(layers)))

    def __call__(self, channels: Float[Array, "..."]) -> Float[Array, "..."]:
        return _apply(self.activated, self.weights, channels)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _fused(activated: tuple[bool, ...], weights: Weights, channels: Float[Array, "..."]) -> Array:
    merged = _merge(activated, weights)
    hidden = list(channels)
    for weight in merged[:-1]:
        hidden = [jnp.maximum(total, 0) for total in _linear(weight, hidden)]
    return jnp.stack(_linear(merged[-1], hidden))


def _by_matrices(activated: tuple[bool, ...], weights: Weights, channels: Float[Array, "..."]) -> Array:
    merged = _merge(activated, weights)
    for weight in merged[:-1]:
        channels = jax.nn.relu(jnp.tensordot(weight, channels, axes=1))
    return jnp.tensordot(merged[-1], channels, axes=1)


_fused.defjvp(lambda activated, *point_and_tangent: jax.jvp(partial(_by_matrices, activated), *point_and_tangent))
_apply = jax.jit(_fused, static_argnums=0)  # traced once, however often it is used


def _merge(activated: tuple[bool, ...], weights: Weights) -> list[Float[Array, "_ _"]]:
    """One matrix for each run of linear layers; a ReLU separates consecutive matrices."""
    merged, product = [], None
    for weight, relu in zip(weights, activated, strict=True):
        product = weight if product is None else weight @ product
        if relu:
            merged.append(product)
            product = None
    assert product is not None, "the last layer is linear"
    return [*merged, product]


def _linear(weight: Float[Array, "_ _"], channels: list[Array]) -> list[Array]:
    return [reduce(add, (w * channel for w, channel in zip(row, channels, strict=True))) for row in weight]
