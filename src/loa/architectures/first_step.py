"""A first guess of the solution from one gradient."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Float


class FirstStep(eqx.Module):
    r"""A learned move from the start to a guess of the solution, which is affine in the first gradient.

    The move is \(b + G \nabla h(x^{(0)})\). `loa.learning.first_step` learns G and b from sample problems and their
    solutions.

    Arguments:
        gain: the matrix G.
        bias: the vector b.
    """

    gain: Float[Array, "d d"]
    bias: Float[Array, " d"]

    def __call__(self, gradient: Float[Array, " d"]) -> Float[Array, " d"]:
        return self.bias + self.gain @ gradient
