r"""What a class of problems has in common: its average curvature \(\mathbb E\, \nabla^2 \ell(x, \theta)\).

A curvature is an orthogonal change of coordinates, and a spectrum in them. `loa.learning.average_curvature` learns one
from sample problems; the quasi-Newton methods of this package begin with it instead of the identity.
"""

from __future__ import annotations

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class Curvature(eqx.Module):
    """The matrix \\(V \\mathrm{diag}(w) V^\\top\\), known by its orthogonal basis V and its spectrum w."""

    spectrum: eqx.AbstractVar[Float[Array, " d"]]

    @abstractmethod
    def coordinates(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        r"""\(V^\top x\)."""

    @abstractmethod
    def point(self, coordinates: Float[Array, " d"]) -> Float[Array, " d"]:
        r"""\(V c\)."""


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
