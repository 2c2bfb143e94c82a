r"""What a class of problems has in common: its average curvature \(\mathbb E\, \nabla^2 \ell(x, \theta)\).

A curvature is a change of coordinates that keeps lengths, and a spectrum in them. `loa.learning.average_curvature`
learns one from sample problems; the quasi-Newton methods of this package begin with it instead of the identity.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class Curvature(eqx.Module):
    """The matrix \\(V \\mathrm{diag}(w) V^\\top\\), known by V, with \\(V V^\\top = I\\), and its spectrum w."""

    spectrum: eqx.AbstractVar[Float[Array, " d"]]

    @abstractmethod
    def coordinates(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        r"""\(V^\top x\)."""

    @abstractmethod
    def point(self, coordinates: Float[Array, " d"]) -> Float[Array, " d"]:
        r"""\(V c\)."""

    def apply(self, function: Callable[[Array], Array], x: Float[Array, " d"]) -> Float[Array, " d"]:
        r"""\(V f(\mathrm{diag}(w)) V^\top x\) for a function f of the spectrum."""
        return self.point(function(self.spectrum).astype(x.dtype) * self.coordinates(x))


class DiagonalCurvature(Curvature):
    """The coordinates of the problem are those of the curvature."""

    spectrum: Float[Array, " d"]

    def coordinates(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        return x

    def point(self, coordinates: Float[Array, " d"]) -> Float[Array, " d"]:
        return coordinates


class DenseCurvature(Curvature):
    """Any basis, as a matrix."""

    basis: Float[Array, "d d"]
    spectrum: Float[Array, " d"]

    @classmethod
    def of(cls, matrix: Float[np.ndarray, "d d"]) -> DenseCurvature:
        """Of a symmetric matrix; negative curvature counts as none."""
        spectrum, basis = np.linalg.eigh(np.asarray(matrix))
        return cls(basis=jnp.asarray(basis), spectrum=jnp.asarray(np.maximum(spectrum, 0.0)))

    def coordinates(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        return x @ self.basis.astype(x.dtype)

    def point(self, coordinates: Float[Array, " d"]) -> Float[Array, " d"]:
        return self.basis.astype(coordinates.dtype) @ coordinates


class LowRankCurvature(Curvature):
    r"""A few directions B of large curvature, and one number r for all others: \(B W B^\top + r (I - B B^\top)\).

    As good as a dense one where damping is larger than r, and much cheaper to apply. Its coordinates are those in B,
    followed by what these leave of the point; its spectrum is W, followed by r as many times.
    """

    basis: Float[Array, "d k"]
    spectrum: Float[Array, " k_plus_d"]

    @classmethod
    def of(cls, matrix: Float[np.ndarray, "d d"], rank: int) -> LowRankCurvature:
        """The directions of largest curvature of a symmetric matrix, and the mean of the others."""
        dense = DenseCurvature.of(matrix)
        if not 1 <= rank < len(dense.spectrum):
            raise ValueError(f"rank must be at least 1 and less than {len(dense.spectrum)}, got {rank}.")
        rest = jnp.full_like(dense.spectrum, jnp.mean(dense.spectrum[:-rank]))
        return cls(basis=dense.basis[:, -rank:], spectrum=jnp.concatenate([dense.spectrum[-rank:], rest]))

    def coordinates(self, x: Float[Array, " d"]) -> Float[Array, " k_plus_d"]:
        basis = self.basis.astype(x.dtype)
        inside = x @ basis
        return jnp.concatenate([inside, x - basis @ inside])

    def point(self, coordinates: Float[Array, " k_plus_d"]) -> Float[Array, " d"]:
        inside, rest = jnp.split(coordinates, [self.basis.shape[1]])
        return self.basis.astype(coordinates.dtype) @ inside + rest

    def apply(self, function: Callable[[Array], Array], x: Float[Array, " d"]) -> Float[Array, " d"]:
        basis, rank = self.basis.astype(x.dtype), self.basis.shape[1]
        inside, rest = function(self.spectrum[:rank]).astype(x.dtype), function(self.spectrum[-1]).astype(x.dtype)
        return rest * x + basis @ ((inside - rest) * (x @ basis))
