"""The learned algorithms of the paper's experiment on image restoration (appendix I), and a compact one."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, Scalar

from ..algorithms.algorithm import Algorithm
from ..algorithms.line_search import dot
from ..problems.examples.image_operators import Image
from ..problems.oracle import Oracle
from .coordinate_network import CoordinateNetwork
from .features import split, weighted

LOSS = 1e3
"""The unit in which changes of the loss are measured, so that all features are of order 1."""


class ImageState(NamedTuple):
    """Current and previous image, and data fidelity and regularizer at the previous one."""

    x: Image
    previous: Image
    previous_fidelity: Scalar
    previous_regularizer: Scalar


class LearnedImages(Algorithm):
    r"""The paper's learned algorithm for image restoration (appendix I).

    \[ x^{(t+1)} = x - \frac1L \nabla\ell(x) + \frac{\|\nabla\ell(x)\|}{L} d_1 + \|x - x^{(t-1)}\| d_2. \]

    The directions come from a pixel-wise network that sees the normalized gradient, momentum, gradient of the data
    fidelity h and gradient of the regularizer r. Their four weights come from a second network of eleven features: λ,
    the norms of gradient and momentum, the changes of loss, h and r (in a fixed unit, which the weights of the first
    layer can undo), the largest entry of the gradient, and four inner products of the directions.

    Arguments:
        key: a PRNG key for the initial weights.
        largest: whether L is that of the largest λ of the class, as in the authors' code, for every problem. By default
            it is that of the problem's own λ, as in the text. The weights that ship were trained with the former.
    """

    weights: CoordinateNetwork
    directions: CoordinateNetwork
    largest: bool = eqx.field(static=True, default=False)

    def __init__(self, *, key: Key[Array, ""], largest: bool = False):
        weight_key, direction_key = jax.random.split(key)
        self.weights = CoordinateNetwork((11, 30, 20, 10, 4), key=weight_key)
        self.directions = CoordinateNetwork((4, 15, 15, 15, 2), key=direction_key)
        self.largest = largest

    def init(self, oracle: Oracle, x0: Image) -> ImageState:
        return ImageState(x0, x0, *_parts(oracle, x0))

    def step(self, oracle: Oracle, state: ImageState, key: Key[Array, ""]) -> ImageState:
        x, previous, previous_fidelity, previous_regularizer = state
        fidelity, regularizer = _parts(oracle, x)
        gradient = oracle.gradient(x)
        images: Any = oracle.problem_class
        fidelity_gradient = images.data_fidelity_gradient(x, oracle.problem)
        (gradient_norm, d1), (momentum_norm, d2) = split(gradient), split(x - previous)
        (_, d3), (_, d4) = split(fidelity_gradient), split(gradient - fidelity_gradient)
        changes = (fidelity - previous_fidelity) / LOSS, (regularizer - previous_regularizer) / LOSS
        features = jnp.stack(
            [
                oracle.problem.regularization,
                jnp.log1p(gradient_norm),
                jnp.log1p(momentum_norm),
                changes[0] + changes[1],
                *changes,
                jnp.max(jnp.abs(gradient)),
                dot(d1, d2),
                dot(d4, d2),
                dot(d3, d2),
                dot(d4, d3),
            ]
        )
        out1, out2 = self.directions(weighted(self.weights(features), d1, d2, d3, d4))
        scale = 1.0 / _smoothness(oracle, self.largest)
        new = x + scale * (gradient_norm * out1 - gradient) + momentum_norm * out2
        return ImageState(new, x, fidelity, regularizer)

    def iterate(self, state: ImageState) -> Image:
        return state.x


class CompactState(NamedTuple):
    """Current and previous image, and the loss at the previous one."""

    x: Image
    previous: Image
    previous_loss: Scalar


class CompactImages(Algorithm):
    r"""The heavy ball method with learned weights: a cheaper alternative to `LearnedImages`.

    \[ x^{(t+1)} = x - \frac{w_1}{L} \nabla\ell(x) + w_2 (x - x^{(t-1)}). \]

    The weights come from a network that sees the change of the logarithm of the loss, the logarithms of the norms of
    the gradient and of the last step, and a constant in place of a bias. A step is much cheaper than that of
    `LearnedImages`, but more steps are needed.

    Arguments:
        key: a PRNG key for the initial weights.
        largest: as for `LearnedImages`.
    """

    weights: CoordinateNetwork
    largest: bool = eqx.field(static=True, default=False)

    def __init__(self, *, key: Key[Array, ""], largest: bool = False):
        self.weights = CoordinateNetwork((4, 20, 20, 2), key=key)
        self.largest = largest

    def init(self, oracle: Oracle, x0: Image) -> CompactState:
        return CompactState(x0, x0, oracle.value(x0))

    def step(self, oracle: Oracle, state: CompactState, key: Key[Array, ""]) -> CompactState:
        x, previous, previous_loss = state
        loss, gradient = oracle.value_and_gradient(x)
        gradient_norm, momentum_norm = split(gradient)[0], split(x - previous)[0]
        change = jnp.log(loss / previous_loss)
        logarithms = jnp.log(gradient_norm + 1e-8), jnp.log(momentum_norm + 1e-8)
        w1, w2 = self.weights(jnp.stack([change, *logarithms, jnp.ones_like(loss)]))
        scale = w1 / _smoothness(oracle, self.largest)
        return CompactState(x - scale * gradient + w2 * (x - previous), x, loss)

    def iterate(self, state: CompactState) -> Image:
        return state.x


def _smoothness(oracle: Oracle, largest: bool) -> Scalar:
    """L of the problem's own λ, or of the largest λ of the class."""
    images: Any = oracle.problem_class
    return images.largest_smoothness if largest else oracle.smoothness()


def _parts(oracle: Oracle, x: Image) -> tuple[Scalar, Scalar]:
    """Data fidelity and regularizer, which together count as one call for the value."""
    images: Any = oracle.problem_class
    fidelity = images.data_fidelity(x, oracle.problem)
    return fidelity, oracle.value(x) - fidelity
