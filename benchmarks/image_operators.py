"""Ways to blur: the stencil of `loa.problems.examples.image_operators` against others, on a batch of 200 × 150 images.

For each way the blur alone and the gradient of the data term, AᵀA x - Aᵀb, are timed; for the stencil also the whole
gradient of the loss, with and without the loss itself, and derivatives by automatic differentiation.
"""

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

from timing import best_seconds, show  # noqa: E402

from loa.problems import ImageRestoration  # noqa: E402
from loa.problems.examples.image_operators import KERNEL, blur, blur_adjoint  # noqa: E402

BATCH, HEIGHT, WIDTH = 8, 200, 150


def shifted_adds(x):
    """All 25 points of the stencil."""
    padded = jnp.pad(x, 2, mode="reflect")
    return sum(KERNEL[i, j] * padded[i : i + HEIGHT, j : j + WIDTH] for i in range(5) for j in range(5))


def convolution(x):
    kernel = jnp.asarray(KERNEL, x.dtype)[None, None]
    return jax.lax.conv_general_dilated(jnp.pad(x, 2, mode="reflect")[None, None], kernel, (1, 1), "VALID")[0, 0]


def fft(x):
    """The image, reflected, is periodic."""
    x = jnp.concatenate([x, x[-2:0:-1]])
    x = jnp.concatenate([x, x[:, -2:0:-1]], axis=1)
    kernel = np.zeros(x.shape)
    kernel[np.ix_(range(-2, 3), range(-2, 3))] = KERNEL
    response = jnp.asarray(np.fft.rfft2(kernel).real, x.dtype)
    return jnp.fft.irfft2(jnp.fft.rfft2(x) * response, s=x.shape)[:HEIGHT, :WIDTH]


def matrices(x):
    """The kernel has rank three: three products with banded matrices from the left and from the right."""
    left, values, right = np.linalg.svd(KERNEL)
    sides = [(_banded(values[k] * left[:, k], HEIGHT), _banded(right[k], WIDTH)) for k in range(3)]
    return sum(jnp.asarray(rows, x.dtype) @ x @ jnp.asarray(columns, x.dtype).T for rows, columns in sides)


def _banded(weights, size):
    matrix = np.zeros((size, size))
    for row in range(size):
        for shift in range(-2, 3):
            column = abs(row + shift)
            matrix[row, min(column, 2 * (size - 1) - column)] += weights[shift + 2]
    return matrix


def with_adjoint_of(way):
    """Aᵀ(Ax - b), where the adjoint is found by automatic differentiation."""

    def gradient(x, observed):
        blurred, transpose = jax.vjp(way, x)
        return transpose(blurred - observed)[0]

    return gradient


def milliseconds(function, *arguments):
    compiled = jax.jit(jax.vmap(function))
    return 1e3 * best_seconds(lambda: compiled(*arguments), repeats=30)


def main() -> None:
    result = {"images": BATCH, "unit": "milliseconds for all images"}
    images = ImageRestoration()
    for dtype in (jnp.float32, jnp.float64):
        problems = jax.tree.map(lambda leaf, dtype=dtype: leaf.astype(dtype), images.draw(jax.random.key(0), BATCH))
        x, observed = problems.observed, problems.observed[::-1]
        expected = np.asarray(jax.vmap(blur)(x))
        times = {
            "stencil": {
                "blur": milliseconds(blur, x),
                "data_gradient": milliseconds(lambda x, b: blur_adjoint(blur(x) - b), x, observed),
                "gradient": milliseconds(images.gradient, x, problems),
                "loss": milliseconds(images.loss, x, problems),
                "loss_and_gradient": milliseconds(lambda x, p: (images.loss(x, p), images.gradient(x, p)), x, problems),
                "automatic_gradient": milliseconds(jax.grad(images.loss), x, problems),
            }
        }
        for way in (shifted_adds, convolution, fft, matrices):
            np.testing.assert_allclose(jax.vmap(way)(x), expected, atol=1e4 * jnp.finfo(dtype).eps)
            gradient = milliseconds(with_adjoint_of(way), x, observed)
            times[way.__name__] = {"blur": milliseconds(way, x), "data_gradient": gradient}
        result[np.dtype(dtype).name] = times
    show(
        "image_operators",
        jax.tree.map(lambda number: round(number, 2) if isinstance(number, float) else number, result),
    )


if __name__ == "__main__":
    main()
