"""The paper's own bounds and the classical one beside ours: same data, same confidence, as certificates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .certificate import Certificate
from .goals import INDEPENDENT
from .inputs import check_weights, failure_probability, fingerprint, per_candidate
from .lambda_grid import best_on_grid, geometric_grid
from .pac_bayes_kl import kl_bound
from .paper import paper_bound, paper_lambda, sharp_bound
from .posterior import PRIOR_FIRST
from .product import kl_divergence

GRID_SIZE = 8


def reference_certificates(
    values: Any,
    posterior: Any,
    prior: Any,
    *,
    cap: float,
    confidence: float = 0.95,
    functional: str = "performance",
    unit: str = "",
) -> tuple[Certificate, ...]:
    """The paper's theorem, the same with the sharp constant, and PAC-Bayes-kl, for a posterior.

    λ comes from a grid that depends on N, δ and the cap only (the paper's remark): from the best λ for no divergence to
    four times as much, where the divergence is 15 log 1/δ. Each of the three has the confidence to itself: report one.

    Arguments:
        values: (problem, candidate), on the posterior problems.
        posterior, prior: one probability per candidate.

    >>> import numpy as np
    >>> values = np.tile([[100.0, 150.0], [300.0, 350.0]], (500, 1))
    >>> for certificate in reference_certificates(values, [0.9, 0.1], [0.5, 0.5], cap=500.0):
    ...     print(certificate.kind, round(certificate.bound, 1))
    paper 257.2
    paper with sharp constant 231.1
    pac-bayes-kl 235.5
    """
    delta = failure_probability(confidence)
    shares, kl = per_candidate(values, cap), kl_divergence(posterior, prior)
    weights = check_weights("posterior", posterior)
    num_problems = len(shares)
    empirical = min(float((shares @ weights).mean()), 1.0) * cap

    def certificate(kind: str, bound: float, lam: float | None, origin: str) -> Certificate:
        return Certificate(
            functional=functional,
            measure="mean",
            kind=kind,
            target="posterior",
            bound=bound,
            empirical=empirical,
            confidence=float(confidence),
            n=num_problems,
            cap=float(cap),
            kl=kl,
            lam=lam,
            lam_origin=origin,
            posterior=tuple(float(weight) for weight in weights),
            data=fingerprint(values),
            assumptions=(INDEPENDENT, PRIOR_FIRST),
            unit=unit,
        )

    def on_grid(kind: str, theorem: Callable[..., float], sharp: bool) -> Certificate:
        lowest = paper_lambda(0.0, num_problems, delta / GRID_SIZE, cap, sharp=sharp)
        grid = geometric_grid(lowest, 4 * lowest, GRID_SIZE)
        choice = best_on_grid(lambda lam, share: theorem(empirical, kl, num_problems, lam, share, cap), grid, delta)
        return certificate(kind, *choice, f"best of a grid of {GRID_SIZE} declared beforehand and paid for")

    return (
        on_grid("paper", paper_bound, sharp=False),
        on_grid("paper with sharp constant", sharp_bound, sharp=True),
        certificate("pac-bayes-kl", kl_bound(empirical, kl, num_problems, delta, cap), None, ""),
    )
