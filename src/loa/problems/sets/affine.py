"""Affine sets: the solutions of linear equations."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Scalar

from ..gaps import norm
from .term import Set, array_point, is_known, numbers


class Affine(Set):
    r"""All points that satisfy linear equations.

    \(\{x : A x = b\}\). The coordinates of a point that is not a vector are its entries in order. The matrix is
    factored when the set is made, once if it is the same for all problems.

    Arguments:
        matrix: A, with linearly independent rows, one column for every coordinate of a point.
        right: b, a vector with one entry for every row, or a number.

    >>> Affine([[1.0, 1.0]], [2.0]).project(jnp.array([3.0, 1.0])).round(6).tolist()
    [2.0, 0.0]
    """

    basis: Any
    origin: Any

    def __init__(self, matrix: Any, right: Any):
        matrix, right = numbers("the matrix of an affine set")(matrix), numbers("right")(right)
        if np.ndim(matrix) != 2 or np.shape(right) not in ((), np.shape(matrix)[:1]):
            raise ValueError(
                "an affine set needs a matrix and a right-hand side with one entry for each of its rows, got shapes "
                f"{np.shape(matrix)} and {np.shape(right)}."
            )
        if matrix.shape[0] > matrix.shape[1]:
            raise ValueError(
                f"the rows of the matrix of an affine set must be independent, but its shape is {matrix.shape}."
            )
        numerics: Any = np if is_known(matrix, right) else jnp
        self.basis, triangle = numerics.linalg.qr(matrix.T)
        diagonal = abs(numerics.diagonal(triangle))
        if numerics is np and diagonal.min() <= 1e-12 * diagonal.max():
            raise ValueError("the rows of the matrix of an affine set must be linearly independent, but they are not.")
        right = numerics.broadcast_to(right, matrix.shape[:1])
        self.origin = self.basis @ numerics.linalg.solve(triangle.T, right)

    def project(self, x: Float[Array, ...]) -> Float[Array, ...]:
        return x - (self._basis(x) @ self._along(x)).reshape(x.shape)

    def violation(self, x: Float[Array, ...]) -> Scalar:
        return norm(self._along(x))

    def _along(self, x: Float[Array, ...]) -> Float[Array, " m"]:
        """The coordinates, in the basis of the rows, of what separates a point from the set."""
        return self._basis(x).T @ (x.ravel() - jnp.asarray(self.origin, x.dtype))

    def _basis(self, x: Float[Array, ...]) -> Float[Array, "d m"]:
        array_point(self, x)
        if x.size != self.basis.shape[0]:
            raise ValueError(
                f"the matrix of an affine set has {self.basis.shape[0]} columns, but points have {x.size} entries."
            )
        return jnp.asarray(self.basis, x.dtype)
