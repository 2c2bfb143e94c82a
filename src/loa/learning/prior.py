"""Prior and posterior: Gibbs distributions on a finite set of candidates (section 5).

The prior weighs the candidates by how they do on the prior problems, the posterior again by the posterior problems. The
deployed algorithm is the posterior's mode.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algorithms.algorithm import Algorithm, Stack
from ..certificates.product import choose_lambda, gibbs_posterior


class Weighted(NamedTuple):
    """A distribution on candidates, and the λ it was made with."""

    stack: Stack
    lam: float


def prior_on(support: Stack, values: Any, *, cap: float, num_posterior: int, confidence: float = 0.95) -> Weighted:
    """The prior: the Gibbs distribution that values on the prior problems give, (candidate, problem, replicate).

    λ is the best one for a certificate from `num_posterior` problems, as far as the prior problems tell.
    """
    table = np.asarray(values, float).mean(axis=-1).T
    uniform = np.full(len(support), 1.0 / len(support))
    lam = choose_lambda(table, float(np.log(len(support))), num_posterior, 1.0 - confidence, cap)
    return Weighted(support.weighted(gibbs_posterior(table, uniform, lam, cap)), lam)


def posterior_on(prior: Weighted, values: Any, *, cap: float) -> Weighted:
    """The Gibbs posterior in closed form, from values on the posterior problems, (candidate, problem, replicate)."""
    table = np.asarray(values, float).mean(axis=-1).T
    return Weighted(prior.stack.weighted(gibbs_posterior(table, prior.stack.weights, prior.lam, cap)), prior.lam)


def mode(stack: Stack) -> tuple[int, Algorithm]:
    """The most probable candidate, and its index."""
    if stack.weights is None:
        raise ValueError("this stack has no weights, so no mode.")
    index = int(np.argmax(stack.weights))
    return index, stack[index]
