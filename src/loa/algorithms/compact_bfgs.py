r"""The compact representation of a BFGS matrix, from pairs that are kept in a ring of rows.

The rows of S and Y are changes s of the point and the changes y of the gradient that came with them. With the pairs as
columns, from the oldest to the newest, R the upper triangle of \(S^\top Y\) and D its diagonal, m updates turn the
matrix \(H_0\) into the H with

\[ Hg = H_0 (g - Y u) + S w, \qquad u = R^{-1} S^\top g, \qquad
   w = R^{-\top} \big( D u - Y^\top H_0 (g - Y u) \big). \]

What differs between the methods is kept by them: which products are remembered, in which precision, and \(H_0\).

Reference: Byrd, Nocedal and Schnabel, *Representations of quasi-Newton matrices and their use in limited memory
methods*, 1994.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int


def oldest_first(written: Int[Array, ""], size: int) -> Int[Array, " m"]:
    """The rows of a ring from the oldest pair to the newest; pair number n is in row n mod m.

    >>> oldest_first(jnp.asarray(5), 3).tolist()
    [2, 0, 1]
    """
    return (written + jnp.arange(size)) % size


def by_row(values: Float[Array, " m"], rows: Int[Array, " m"]) -> Float[Array, " m"]:
    """Values that are ordered by age, ordered by row."""
    return jnp.zeros_like(values).at[rows].set(values)


def weights_of_gradients(R: Float[Array, "m m"], Sg: Float[Array, " m"]) -> Float[Array, " m"]:
    r"""\(u = R^{-1} S^\top g\), by age."""
    return solve_triangular(R, Sg)


def weights_of_steps(R: Float[Array, "m m"], u: Float[Array, " m"], Yz: Float[Array, " m"]) -> Float[Array, " m"]:
    r"""\(w = R^{-\top} (D u - Y^\top z)\) with \(z = H_0 (g - Y u)\), by age."""
    return solve_triangular(R, jnp.diag(R) * u - Yz, trans=1)
