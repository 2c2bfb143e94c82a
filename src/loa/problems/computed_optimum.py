"""Convex problem classes without a formula for the smallest loss; `loa.trajectory.optimal_losses` computes it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import jax.numpy as jnp
from jaxtyping import Scalar

from .problem_class import MissingOracle, ProblemClass


def attainable_accuracy(loss: Any) -> Any:
    """The accuracy that can be asked of a computed minimum: 500 units in the last place of max(1, |ℓ|)."""
    return 500 * jnp.finfo(jnp.result_type(loss)).eps * jnp.maximum(1.0, jnp.abs(loss))


class ComputedOptimum(ProblemClass):
    """A convex problem class whose optimal losses have to be computed.

    Its problems have a field `optimal_loss`, which is None until `loa.with_optimal_losses` fills it in. Subclasses
    define `suboptimality`, which tells when a point is good enough.
    """

    @abstractmethod
    def suboptimality(self, x: Any, problem: Any) -> Scalar:
        r"""A proven upper bound of the gap to the optimum, such as a duality gap.

        It bounds \(\ell(x, \theta) - \min \ell(\cdot, \theta)\) from above.
        """

    def optimal_loss(self, problem: Any) -> Scalar:
        if problem.optimal_loss is None:
            raise MissingOracle(
                f"the optimal losses of these {type(self).__name__} problems are not known yet; compute them first: "
                "`problems = loa.with_optimal_losses(problem_class, problems)`."
            )
        return problem.optimal_loss

    def optimal_accuracy(self, problem: Any) -> Scalar:
        return attainable_accuracy(self.optimal_loss(problem))
