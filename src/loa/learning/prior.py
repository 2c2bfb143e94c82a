"""Prior and posterior: Gibbs distributions on a finite set of candidates (section 5).

The prior weighs the candidates by their values on the prior problems, the posterior weighs them again by their values
on the posterior problems. The deployed algorithm is the posterior's mode.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algorithms.algorithm import Algorithm, Stack
from ..certificates.bounds.product import choose_lambda, gibbs_posterior
from ..messages.arguments import array_of_numbers, check_type

ANTICIPATED_DIVERGENCE = 0.5
"""The divergence of posterior from prior for which λ is chosen.

The bounds are flat around their best λ, so a guess is enough.
"""


class Weighted(NamedTuple):
    """A distribution on candidates, and the λ with which their values were weighed."""

    stack: Stack
    lam: float


def prior_on(
    support: Stack,
    values: Any,
    *,
    cap: float,
    num_posterior: int,
    failure_probability: float = 0.05,
    anticipated_divergence: float = ANTICIPATED_DIVERGENCE,
) -> Weighted:
    r"""Weigh candidates by their values on the prior problems.

    The prior is the Gibbs distribution \(\pi(h) \propto \prod_i (1 - \lambda X_i(h))\) for values \(X_i(h)\) divided by
    the cap, with the λ that `lambda_on` chooses for candidates of equal weight.

    Arguments:
        support: the candidates, for example from `langevin_support`.
        values: of the functional that the posterior is to minimize, (candidate, problem, replicate).
        cap: the largest value there can be.
        num_posterior: how many posterior problems there will be.
        failure_probability: of the certificate for the posterior.
        anticipated_divergence: of the posterior from this prior.

    Returns:
        The candidates with their prior weights, and λ.

    >>> from loa.algorithms import GradientDescent
    >>> from loa.algorithms.algorithm import stack
    >>> support = stack([GradientDescent(0.1), GradientDescent(0.2)])
    >>> prior = prior_on(support, [[[40.0], [60.0]], [[20.0], [30.0]]], cap=100.0, num_posterior=200)
    >>> prior.stack.weights.round(2)
    array([0.35, 0.65])
    """
    check_type("support", support, Stack, "a loa.Stack of candidates, such as loa.stack([…])")
    equal = support.weighted(np.full(len(support), 1.0 / len(support)))
    lam = lambda_on(
        equal, values, cap=cap, num_posterior=num_posterior, failure_probability=failure_probability,
        anticipated_divergence=anticipated_divergence,
    )  # fmt: skip
    return posterior_on(Weighted(equal, lam), values, cap=cap)


def lambda_on(
    weighted: Stack,
    values: Any,
    *,
    cap: float,
    num_posterior: int,
    failure_probability: float = 0.05,
    anticipated_divergence: float = ANTICIPATED_DIVERGENCE,
) -> float:
    """Choose λ for the certificate of one functional, from its values on the prior problems.

    This is the λ at which the product bound would be smallest if the posterior were these weights and the posterior
    problems looked like the prior problems. Each functional has its own; `prior_on` chooses that of the functional by
    which it weighs the candidates.

    Arguments:
        weighted: the candidates with their prior weights.
        values: (candidate, problem, replicate), on prior problems only.
        cap, num_posterior, failure_probability, anticipated_divergence: as in `prior_on`.

    Returns:
        λ in (0, 1).
    """
    return choose_lambda(
        _table(values), anticipated_divergence, num_posterior, failure_probability, cap, _weights(weighted)
    )


def posterior_on(prior: Weighted, values: Any, *, cap: float) -> Weighted:
    """Weigh candidates again, by their values on the posterior problems.

    This is the Gibbs posterior, at which the product bound is smallest, in closed form.

    Arguments:
        prior: from `prior_on`.
        values: of the same functional on the posterior problems, (candidate, problem, replicate).
        cap: the largest value there can be.

    Returns:
        The candidates with their posterior weights, and the same λ.
    """
    check_type("prior", prior, Weighted, "what loa.learning.prior_on returned")
    weights = gibbs_posterior(_table(values), _weights(prior.stack), prior.lam, cap)
    return prior._replace(stack=prior.stack.weighted(weights))


def mode(stack: Stack) -> tuple[int, Algorithm]:
    """Find the most probable candidate of a distribution.

    Arguments:
        stack: candidates with weights.

    Returns:
        The index of the candidate, and the candidate.
    """
    index = int(np.argmax(_weights(stack)))
    return index, stack[index]


def _table(values: Any) -> np.ndarray:
    """Means over replicates, (problem, candidate)."""
    values = array_of_numbers("values", values)
    if values.ndim != 3 or values.size == 0:
        raise ValueError(f"values must be (candidate, problem, replicate) and not empty, got shape {values.shape}.")
    return values.astype(float).mean(axis=-1).T


def _weights(stack: Stack) -> np.ndarray:
    check_type("stack", stack, Stack, "a loa.Stack with weights")
    if stack.weights is None:
        raise ValueError("this stack has no weights; give it some with `stack.weighted(weights)`.")
    return np.asarray(stack.weights)
