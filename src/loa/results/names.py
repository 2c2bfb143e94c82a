"""What measures, bounds, targets, costs and outcomes are called wherever a reader meets them.

Functionals are not listed here: each speaks for itself by its title, unit and symbol (`FunctionalSummary`).
"""

from __future__ import annotations

from dataclasses import dataclass

MEASURES = {
    "mean": "mean",
    "median": "median",
    "q95": "95% quantile",
    "cvar95": "mean of the worst 5%",
    "bound": "bound of the mean",
}
"""Measures of a functional on the test problems, and what else the paper publishes."""

HEADERS = {"mean": "mean", "median": "median", "q95": "q95", "cvar95": "CVaR95"}
"""The same where there is little room."""

CERTIFIED = {
    "mean": "mean",
    "probability": "probability",
    "tail": "tail probability",
    "quantile": "quantile",
    "cvar": "conditional value at risk",
    "distribution": "distribution",
}
"""Measures that a certificate can be about."""

KINDS = {
    "betting": "betting on held-out problems",
    "clopper-pearson": "the exact binomial bound (Clopper and Pearson)",
    "order statistics": "order statistics",
    "berk-jones": "an exact band for the distribution function (Berk and Jones)",
    "kolmogorov-smirnov": "the band of Kolmogorov and Smirnov for the distribution function",
    "occam": "Occam's razor on the problems that the algorithm was chosen on",
    "any-time": "betting that may stop at any time",
    "product": "the product bound",
    "paper": "the theorem of the paper",
    "paper with sharp constant": "the theorem of the paper with the sharp constant",
    "pac-bayes-kl": "the PAC-Bayes-kl bound",
}
"""Methods of bounds, as in "by betting on held-out problems"."""

TARGETS = {"deployed": "the deployed algorithm", "posterior": "the average over the posterior"}

OUTCOMES = {
    "won": "Better than",
    "level": "Not decided against",
    "lost": "Worse than",
    "unmeasured": "Not known for",
}
"""How the learned algorithm fares against a baseline in one cost."""

MARKS = {
    "mean": "mean",
    "median": "median",
    "certificate": "certified mean",
    "paper": "bound of the paper",
    "cap": "cap",
}
"""Lines in a histogram."""


@dataclass(frozen=True)
class Cost:
    """A cost in which algorithms are compared: its name in a sentence, and how an amount of it is read.

    Fields:
        title: as in "beats every baseline in iterations".
        unit: as in "12 iterations on average" or "0.5 ms per problem on average".
        less, more: as in "3 × fewer" and "20% slower".
        counted: whether "20% fewer" means a fifth less, rather than a speed that is a fifth higher.
    """

    title: str
    unit: str
    less: str = "fewer"
    more: str = "more"
    counted: bool = True


COSTS = {
    "stopping_time": Cost("iterations", "iterations"),
    "oracle_calls": Cost("oracle calls", "oracle calls"),
    "milliseconds": Cost("wall-clock time", "ms per problem", "faster", "slower", counted=False),
}
"""Costs by the name of their functional; wall-clock time is measured in milliseconds."""


def kind(name: str) -> str:
    """The method of a bound; one that is not listed is called by its own name."""
    return KINDS.get(name, name)
