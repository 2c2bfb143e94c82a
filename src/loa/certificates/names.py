"""What certificates can be about, and what their measures, targets and methods are called."""

from __future__ import annotations

UNNAMED = "performance"
"""The functional of values that are certified without a name."""

CERTIFIED = {
    "mean": "mean",
    "probability": "probability",
    "tail": "tail probability",
    "quantile": "quantile",
    "cvar": "conditional value at risk",
    "distribution": "distribution",
}
"""Measures that a certificate can be about."""

TARGETS = {"deployed": "the deployed algorithm", "posterior": "the average over the posterior"}
"""Algorithms that a certificate can be about."""

KINDS = {
    "betting": "betting on held-out problems",
    "betting up to a cap": "betting on values up to a cap, and the exact binomial bound on reaching it",
    "betting under a moment": "betting on truncated values and a declared moment",
    "clopper-pearson": "the exact binomial bound (Clopper and Pearson)",
    "order statistics": "order statistics",
    "berk-jones": "an exact band for the distribution function (Berk and Jones)",
    "kolmogorov-smirnov": "the band of Kolmogorov and Smirnov for the distribution function",
    "occam": "Occam's razor on the problems that the algorithm was chosen on",
    "any-time": "betting that may stop at any time",
    "product": "the product bound",
    "progressive": "the product bound, each problem being solved by what earlier ones have chosen",
    "paper": "the theorem of the paper",
    "paper with sharp constant": "the theorem of the paper with the sharp constant",
    "pac-bayes-kl": "the PAC-Bayes-kl bound",
}
"""Methods of bounds, as in "by betting on held-out problems"."""


def kind(name: str) -> str:
    """The method of a bound; one that is not listed is called by its own name."""
    return KINDS.get(name, name)


SEQUENCE = "problems in a sequence"
"""Under this name a certificate about sequences says in `about` how long they are."""
