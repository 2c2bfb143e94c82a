"""Image restoration with smoothed total variation (section 6.2 of the paper)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import optimization_barrier as stored
from jaxtyping import Array, Float, Key, Scalar

from ...messages.arguments import number_range, shown
from ..computed_optimum import ComputedOptimum
from ..problem_class import whole_number
from . import photographs
from .image_operators import Image, blur, blur_adjoint, differences, differences_adjoint, solve_laplacian, total
from .image_operators import largest_eigenvalue as _largest_eigenvalue

NODES = 2
"""Between this many λ the smoothness constant is interpolated; it is nearly linear in λ."""


class Restoration(NamedTuple):
    """One problem: the blurred and noisy image b, the parameter λ and, once computed, the optimal loss."""

    observed: Image
    regularization: Float[Array, ""]
    optimal_loss: Float[Array, ""] | None = None


class ImageRestoration(ComputedOptimum):
    r"""Deblurring and denoising of photographs with smoothed total variation (section 6.2 of the paper).

    \[ \min_x \tfrac12 \|Ax - b\|^2 + \lambda \sum_{ij} \sqrt{(D_h x)_{ij}^2 + (D_w x)_{ij}^2 + \varepsilon^2}. \]

    A blurs, and \(D_h\) and \(D_w\) are forward differences (`image_operators`). Images are random crops of photographs
    at random scales, flipped at random; b is such a crop, blurred, with noise \(N(0, (25/256)^2)\), clipped to [0, 1];
    λ is uniform on its range. A point is an image, an array of shape `size`; the start is 0.

    All draws come from one pool of photographs, so problems are independent and identically distributed. Four
    photographs are kept out of the pool: `new_photographs=True` gives the class that draws only from these four.

    The paper's criterion, a gradient norm below 1e-4, needs float64: in float32, rounding the solution alone gives
    gradients of norm up to 4e-4.

    Arguments:
        images: a folder of photographs to use instead of those that come with scikit-image.
        new_photographs: whether to draw from the four photographs that are held out instead of the pool.
        size: height and width in pixels, at least 3 each.
        regularization: the range of λ > 0.
    """

    photographs: photographs.Photographs
    eigenvalues: Float[Array, " node"]
    """The largest eigenvalue of AᵀA + (λ/ε) DᵀD for some λ, at equal distances over their range."""
    size: tuple[int, int] = eqx.field(static=True)
    regularization: tuple[float, float] = eqx.field(static=True)
    smoothing: float = eqx.field(static=True, default=0.01)
    noise: float = eqx.field(static=True, default=25 / 256)

    def __init__(
        self,
        images: Path | str | None = None,
        *,
        new_photographs: bool = False,
        size: tuple[int, int] = (200, 150),
        regularization: tuple[float, float] = (0.05, 0.5),
    ):
        if not (isinstance(size, tuple | list) and len(size) == 2):
            raise ValueError(f"size must be a pair (height, width), got {shown(size)}.")
        height, width = (whole_number("each side of the size of an image", side, least=3) for side in size)
        size = height, width
        regularization = number_range("regularization", regularization)
        self.photographs = photographs.load(images, new=new_photographs, smallest=size)
        self.size = size
        self.regularization = regularization
        self.smoothing = 0.01
        self.noise = 25 / 256
        weights = np.linspace(*regularization, NODES) / self.smoothing
        self.eigenvalues = jnp.asarray([_largest_eigenvalue(size, float(weight)) for weight in weights], float)

    def sample(self, key: Key[Array, ""]) -> Restoration:
        crop_key, noise_key, regularization_key = jax.random.split(key, 3)
        noise = self.noise * jax.random.normal(noise_key, self.size)
        observed = jnp.clip(blur(self.photographs.crop(crop_key, self.size)) + noise, 0.0, 1.0)
        low, high = self.regularization
        return Restoration(observed, jax.random.uniform(regularization_key, minval=low, maxval=high))

    def start(self, problem: Restoration, key: Key[Array, ""]) -> Image:
        return jnp.zeros_like(problem.observed)

    def loss(self, x: Image, problem: Restoration) -> Scalar:
        return self.data_fidelity(x, problem) + self.regularizer(x, problem)

    def gradient(self, x: Image, problem: Restoration) -> Image:
        return self.data_fidelity_gradient(x, problem) + self.regularizer_gradient(x, problem)

    def data_fidelity(self, x: Image, problem: Restoration) -> Scalar:
        """The data fidelity, h(x) = ½‖Ax - b‖²."""
        residual = blur(x) - problem.observed
        return 0.5 * total(residual * residual)

    def data_fidelity_gradient(self, x: Image, problem: Restoration) -> Image:
        """The gradient of the data fidelity, ∇h(x) = Aᵀ(Ax - b)."""
        return blur_adjoint(blur(x) - problem.observed)

    def regularizer(self, x: Image, problem: Restoration) -> Scalar:
        r"""The regularizer, a smoothed total variation.

        \(r(x) = \lambda \sum_{ij} \sqrt{(D_h x)_{ij}^2 + (D_w x)_{ij}^2 + \varepsilon^2}\).
        """
        return problem.regularization * total(self._steepness(*differences(x)))

    def regularizer_gradient(self, x: Image, problem: Restoration) -> Image:
        """The gradient of the regularizer, ∇r(x) = λ Dᵀ(Dx / √(|Dx|² + ε²))."""
        down, across = differences(x)
        steepness = self._steepness(down, across)
        return problem.regularization * differences_adjoint(down / steepness, across / steepness)

    def _steepness(self, down: Image, across: Image) -> Image:
        # stored, because otherwise 1/√ becomes rsqrt, which is slow in float64
        return stored(jnp.sqrt(down * down + across * across + self.smoothing**2))

    def smoothness(self, problem: Restoration) -> Scalar:
        """The largest eigenvalue of AᵀA + (λ/ε) DᵀD at the problem's own λ.

        It is a convex function of λ, so interpolating between some λ gives an upper bound, and so does growth in
        proportion to λ beyond the range of the class.
        """
        low, high = self.regularization
        places = jnp.linspace(low, high, NODES, dtype=self.eigenvalues.dtype)
        within = jnp.interp(problem.regularization, places, self.eigenvalues)
        return within * jnp.maximum(problem.regularization / high, 1.0)

    @property
    def largest_smoothness(self) -> Scalar:
        """The same at the largest λ of the class, which the authors' code has for every problem."""
        return self.eigenvalues[-1]

    def suboptimality(self, x: Image, problem: Restoration) -> Scalar:
        r"""The duality gap at a dual point constructed from x.

        The dual is \(\max -\frac12 \|u\|^2 - \langle u, b \rangle + \varepsilon \sum \sqrt{\lambda^2 - |p|^2}\) subject
        to \(A^\top u + D^\top p = 0\) and \(|p_{ij}| \le \lambda\). We take \(u = Ax - b\) and
        \(p = \lambda Dx / \sqrt{|Dx|^2 + \varepsilon^2}\), which leaves the gradient on the right-hand side. After x is
        shifted by a constant, so that u sums to 0, the gradient has mean 0 and is \(D^\top q\) for
        \(q = D (D^\top D)^{-1} \nabla\ell(x)\); then (u, p - q) is feasible if \(|p - q| \le \lambda\).
        """
        weight, (down, across) = problem.regularization, differences(x)
        steepness = self._steepness(down, across)
        residual = blur(x) - problem.observed
        shift = jnp.mean(residual)
        slopes = weight * down / steepness, weight * across / steepness
        gradient = blur_adjoint(residual - shift) + differences_adjoint(*slopes)
        correction = differences(solve_laplacian(gradient))
        p, q = (slope - change for slope, change in zip(slopes, correction, strict=True))
        room = weight**2 - p * p - q * q
        terms = weight * steepness - self.smoothing * jnp.sqrt(jnp.maximum(room, 0.0)) - down * p - across * q
        gap = jnp.maximum(total(terms), 0.0) + 0.5 * residual.size * shift**2
        return jnp.where(jnp.all(room >= 0), gap, jnp.inf)
