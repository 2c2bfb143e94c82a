r"""The average curvature of a problem class, \(\mathbb E\, \nabla^2 \ell(x, \theta)\).

A curvature consists of a change of coordinates that preserves lengths, and a spectrum in these coordinates.
`loa.learning.average_curvature` learns one from sample problems; the quasi-Newton methods of this package begin with it
instead of the identity.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class Curvature(eqx.Module):
    r"""A positive semidefinite matrix, given by its eigenvectors and its spectrum.

    The matrix is \(V \mathrm{diag}(w) V^\top\) with \(V V^\top = I\) and the spectrum w. Subclasses define the change
    of coordinates.
    """

    spectrum: eqx.AbstractVar[Float[Array, " d"]]

    @abstractmethod
    def coordinates(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """The coordinates Vᵀx of a point."""

    @abstractmethod
    def point(self, coordinates: Float[Array, " d"]) -> Float[Array, " d"]:
        """The point Vc with these coordinates."""

    def apply(self, function: Callable[[Array], Array], x: Float[Array, " d"]) -> Float[Array, " d"]:
        """Apply a function f of the matrix to a point: V f(diag(w)) Vᵀx."""
        return self.point(function(self.spectrum).astype(x.dtype) * self.coordinates(x))


class DiagonalCurvature(Curvature):
    """A diagonal curvature, in the coordinates of the problem.

    >>> curvature = DiagonalCurvature(jnp.array([1.0, 4.0]))
    >>> curvature.apply(jnp.sqrt, jnp.ones(2)).tolist()
    [1.0, 2.0]
    """

    spectrum: Float[Array, " d"]

    def coordinates(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        return x

    def point(self, coordinates: Float[Array, " d"]) -> Float[Array, " d"]:
        return coordinates


class DenseCurvature(Curvature):
    """A curvature with any basis, stored as a matrix. Make it with `DenseCurvature.of`.

    >>> DenseCurvature.of(np.diag([1.0, 4.0])).spectrum.tolist()
    [1.0, 4.0]
    """

    basis: Float[Array, "d d"]
    spectrum: Float[Array, " d"]

    @classmethod
    def of(cls, matrix: Float[np.ndarray, "d d"]) -> DenseCurvature:
        """The curvature of a symmetric matrix; negative eigenvalues are replaced by 0."""
        spectrum, basis = np.linalg.eigh(np.asarray(matrix))
        return cls(basis=jnp.asarray(basis), spectrum=jnp.asarray(np.maximum(spectrum, 0.0)))

    def coordinates(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        return x @ self.basis.astype(x.dtype)

    def point(self, coordinates: Float[Array, " d"]) -> Float[Array, " d"]:
        return self.basis.astype(coordinates.dtype) @ coordinates


class LowRankCurvature(Curvature):
    r"""A few directions of large curvature, and one number for all others. Make it with `LowRankCurvature.of`.

    The matrix is \(B W B^\top + r (I - B B^\top)\). It is as good as a dense one if the damping is larger than r, and
    much cheaper to apply. Its coordinates are those in B, followed by the remainder of the point; its spectrum is W,
    followed by d copies of r.

    >>> curvature = LowRankCurvature.of(np.diag([1.0, 3.0, 16.0]), rank=1)
    >>> curvature.apply(jnp.sqrt, jnp.array([0.0, 0.0, 1.0])).tolist()
    [0.0, 0.0, 4.0]
    """

    basis: Float[Array, "d k"]
    spectrum: Float[Array, " k_plus_d"]

    @classmethod
    def of(cls, matrix: Float[np.ndarray, "d d"], rank: int) -> LowRankCurvature:
        """The directions of largest curvature of a symmetric matrix, and the mean of its other eigenvalues."""
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
