"""Convex problem classes whose smallest loss no formula gives; `loa.trajectory.optimal_losses` computes it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import jax.numpy as jnp
from jaxtyping import Scalar

from .problem_class import MissingOracle, ProblemClass


def attainable_accuracy(loss: Any) -> Any:
    r"""How closely a minimum can be asked for: 500 units in the last place of \(\max(1, |\ell|)\)."""
    return 500 * jnp.finfo(jnp.result_type(loss)).eps * jnp.maximum(1.0, jnp.abs(loss))


class ComputedOptimum(ProblemClass):
    """A convex problem class whose solutions have to be computed. Its problems have a field `optimal_loss`."""

    @abstractmethod
    def suboptimality(self, x: Any, problem: Any) -> Scalar:
        r"""A proven upper bound of \(\ell(x, \theta) - \min \ell(\cdot, \theta)\), such as a duality gap."""

    def optimal_loss(self, problem: Any) -> Scalar:
        if problem.optimal_loss is None:
            raise MissingOracle(
                f"the optimal losses of these {type(self).__name__} problems are not known yet; compute them first: "
                "`problems = loa.with_optimal_losses(problem_class, problems)`."
            )
        return problem.optimal_loss

    def optimal_accuracy(self, problem: Any) -> Scalar:
        return attainable_accuracy(self.optimal_loss(problem))
