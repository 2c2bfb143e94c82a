r"""The linear operators of image restoration: a 5×5 blur with reflecting boundary, forward differences, their adjoints.

They are stencils: sums of shifted copies of one image. XLA turns them into fast loops provided that the padded image
exists in memory (`stored`) and that sums over pixels are kept apart from them (`total`). Otherwise XLA recomputes the
input of a stencil for each of its points. The kernel has rank 3, so the blur is not separable, but it is symmetric in
both directions.

Measured by `benchmarks/image_operators.py` on 2 shared cores, milliseconds for 8 blurred images in float32 / float64:
this stencil 0.35 / 0.6, all 25 points added 0.9 / 1.1, convolution 22 / 0.9, matrix products 7 / 13, FFT 24 / 34;
for Aᵀ(Ax - b) 0.8 / 1.3 here, and at least 5 with any other method and its automatic adjoint.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import optimization_barrier as stored
from jaxtyping import Array, Float, Scalar
from scipy.fft import dct

Image = Float[Array, "height width"]

KERNEL = np.array(
    [[1, 4, 7, 4, 1], [4, 16, 26, 16, 4], [7, 26, 41, 26, 7], [4, 16, 26, 16, 4], [1, 4, 7, 4, 1]]
) / 273.0  # fmt: skip
"""The blur. Beyond the boundary the image is reflected about the outermost pixels, which are not repeated."""


@jax.custom_vjp
def blur(x: Image) -> Image:
    """Blur an image: A x. Supports reverse-mode differentiation of any order, but not forward mode."""
    height, width = x.shape
    tall = jnp.concatenate([x[2:3], x[1:2], x, x[-2:-1], x[-3:-2]])
    padded = stored(jnp.concatenate([tall[:, 2:3], tall[:, 1:2], tall, tall[:, -2:-1], tall[:, -3:-2]], axis=1))

    def pair(y: Array, distance: int, axis: int, length: int) -> Array:
        """The sum of the two neighbours at this distance."""
        before = jax.lax.slice_in_dim(y, 2 - distance, 2 - distance + length, axis=axis)
        after = jax.lax.slice_in_dim(y, 2 + distance, 2 + distance + length, axis=axis)
        return before + after

    blurred = jnp.zeros_like(x)
    rows = padded[2 : height + 2], pair(padded, 1, 0, height), pair(padded, 2, 0, height)
    for row, weights in zip(rows, KERNEL[2:, 2:], strict=True):
        centre, near, far = (float(weight) for weight in weights)
        blurred += centre * row[:, 2 : width + 2] + near * pair(row, 1, 1, width) + far * pair(row, 2, 1, width)
    return blurred


@jax.custom_vjp
def blur_adjoint(y: Image) -> Image:
    r"""The exact adjoint of the blur.

    \(A^\top y = W A W^{-1} y\) with W = ½ on the boundary, ¼ in the corners and 1 elsewhere. Reflection makes the image
    periodic with period (2h - 2, 2w - 2); on the periodic image A is a symmetric convolution, and W counts how often
    each pixel occurs in a period, up to a constant. Multiplying by W causes no rounding.
    """
    rows, columns = (_ends_halved(size, y.dtype) for size in y.shape)
    return rows[:, None] * columns * blur(y / rows[:, None] / columns)


def _ends_halved(size: int, dtype: jnp.dtype) -> Array:
    weights = np.ones(size)
    weights[[0, -1]] = 0.5
    return jnp.asarray(weights, dtype)


blur.defvjp(lambda x: (blur(x), None), lambda _, y: (blur_adjoint(y),))
blur_adjoint.defvjp(lambda y: (blur_adjoint(y), None), lambda _, x: (blur(x),))


def differences(x: Image) -> tuple[Image, Image]:
    r"""Forward differences \((D_h x, D_w x)\): the next pixel down, or to the right, minus this one.

    They are 0 in the last row and in the last column, respectively.
    """
    return jnp.pad(x[1:] - x[:-1], ((0, 1), (0, 0))), jnp.pad(x[:, 1:] - x[:, :-1], ((0, 0), (0, 1)))


def differences_adjoint(down: Image, across: Image) -> Image:
    r"""The adjoint of the differences, \(D_h^\top p + D_w^\top q\). It ignores the last row of p and column of q."""
    rows, columns = (jnp.asarray(np.arange(size) < size - 1, down.dtype) for size in down.shape)
    above, left = jnp.pad(down, ((1, 0), (0, 0)))[:-1], jnp.pad(across, ((0, 0), (1, 0)))[:, :-1]
    return above - rows[:, None] * down + left - columns * across


def total(x: Image) -> Scalar:
    """The sum of all pixels, as a product with ones, which XLA does not fuse with the code that computes the pixels."""
    return jnp.sum(x @ jnp.ones(x.shape[1], x.dtype))


def solve_laplacian(x: Image) -> Image:
    r"""The image φ of mean 0 with \(D^\top D φ = x\), for an image x of mean 0; cosines are its eigenvectors."""
    height, width = (4.0 * np.sin(0.5 * np.pi * np.arange(size) / size) ** 2 for size in x.shape)
    eigenvalues = height[:, None] + width
    eigenvalues[0, 0] = np.inf
    down, across = (jnp.asarray(dct(np.eye(size), norm="ortho", axis=0), x.dtype) for size in x.shape)
    return down.T @ ((down @ x @ across.T) / jnp.asarray(eigenvalues, x.dtype)) @ across


@lru_cache
def largest_eigenvalue(size: tuple[int, int], weight: float) -> float:
    r"""The largest eigenvalue of \(A^\top A + \text{weight} \cdot D^\top D\) on images of this size.

    Computed by the Lanczos method in float64, starting at the sum of the best vectors for A and for D (the highest
    frequency).
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    @jax.jit
    def apply(x: Array) -> Array:
        image = x.reshape(size)
        return (blur_adjoint(blur(image)) + weight * differences_adjoint(*differences(image))).ravel()

    highest = (np.cos(np.pi * (length - 1) * (np.arange(length) + 0.5) / length) for length in size)
    start = np.outer(*highest).ravel() + 1e-3
    with jax.enable_x64(True):
        product = lambda x: np.asarray(apply(jnp.asarray(x.ravel())))  # noqa: E731
        operator: Any = LinearOperator((start.size,) * 2, product, dtype=float)  # pyright: ignore
        return float(eigsh(operator, k=1, v0=start, return_eigenvectors=False, tol=1e-8)[0])  # pyright: ignore
