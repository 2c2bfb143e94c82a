"""Where the solutions of a class lie, as far as one gradient tells."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Float


class FirstStep(eqx.Module):
    r"""The move \(b + G \nabla h(x^{(0)})\) from the start to about the solution, affine in the first gradient.

    `loa.learning.first_step` learns one from sample problems and their solutions.
    """

    gain: Float[Array, "d d"]
    bias: Float[Array, " d"]

    def __call__(self, gradient: Float[Array, " d"]) -> Float[Array, " d"]:
        return self.bias + self.gain @ gradient
