"""The BFGS method with the whole matrix, begun with the learned curvature of the class."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..algorithms.bfgs import BFGS
from ..problems.oracle import Oracle
from .curvature import DenseCurvature


class LearnedBFGS(BFGS):
    r"""The BFGS method of `loa.BFGS`, begun in the average curvature of the class.

    Its first matrix is \((C + \mu I)^{-1}\), where C is that curvature. Nothing is computed at the start of a problem.
    Unlike `LearnedQuasiNewton` the method remembers all changes of the gradient and takes back steps that increase the
    loss; a step takes d² operations, so it suits a hundred unknowns or fewer. h is the curvature and the logarithms of
    μ, the step size and the radius.
    """

    on_vectors: ClassVar[bool] = True

    curvature: DenseCurvature = eqx.field(kw_only=True)

    def first(self, oracle: Oracle, x0: Float[Array, " d"]) -> Float[Array, "d d"]:
        basis, spectrum = self.curvature.basis, self.curvature.spectrum
        return ((basis / (spectrum + jnp.exp(self.log_damping))) @ basis.T).astype(x0.dtype)
