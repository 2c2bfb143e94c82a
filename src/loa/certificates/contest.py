r"""Which of two algorithms needs less on average, decided from pairs or not at all.

A difference of means is bounded from both sides by betting (`difference_bound`), each side with half of the failure
probability. If the interval excludes zero, the contest is decided. Otherwise it is not, and the betting game tells
about how many problems would be enough: on problems like these the logarithm of the gambler's wealth grows by
\(g = \max_\lambda \frac1N\sum_i\log(1+\lambda(B_i-A_i))\) per problem, and he needs \(\log\frac1\delta\).

Assumptions: as for `difference_bound`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .bounds.inputs import Array, check_fraction
from .bounds.paired import difference_bound, pairs
from .bounds.rounding import number_down, percent_down

STAKES = np.concatenate([np.geomspace(1e-4, 0.5, 24), 1 - np.geomspace(0.4, 1e-3, 12)])
"""Values of λ at which the growth of the gambler's wealth is tried."""
CAUTION = 1.25
"""The bets find out as they go which λ would have been best, which takes this many times as many problems."""
MOST = 10_000_000
"""A larger number of problems that would be needed is not worth telling."""


class Decision(NamedTuple):
    """What pairs say about the means of two algorithms.

    Fields:
        outcome: "better" if the first needs less on average, "worse" if it needs more, else "not decided".
        saved: by how much less the first needs, on average on these problems.
        low, high: the bounds of that difference on all problems, which hold together with the confidence.
        confidence: of this decision alone.
        problems: how many there are.
        more: about how many more would decide; None if it is decided, or if no number of them is likely to.
    """

    outcome: str
    saved: float
    low: float
    high: float
    confidence: float
    problems: int
    more: int | None = None

    def sentence(self, first: str, other: str, unit: str = "") -> str:
        """The decision in plain words.

        >>> Decision("not decided", 2.0, -1.0, 5.0, 0.95, 100, 300).sentence("learned", "FISTA", "steps")
        'Not decided whether learned needs fewer steps than FISTA: about 300 more problems would decide.'
        >>> Decision("better", 2.0, 1.04, 5.0, 0.95, 100).sentence("learned", "FISTA", "steps")
        'With 95% confidence, learned needs fewer steps than FISTA on average, by at least 1.04.'
        """
        sure, amount = f"With {percent_down(self.confidence)} confidence", f" {unit}" if unit else ""
        if self.outcome == "not decided":
            return f"Not decided whether {first} needs fewer{amount} than {other}: {self.remedy()}."
        word, least = ("fewer", self.low) if self.outcome == "better" else ("more", -self.high)
        return f"{sure}, {first} needs {word}{amount} than {other} on average, by at least {number_down(least)}."

    def remedy(self) -> str:
        """What would settle the question."""
        if self.more is None:
            return "no number of problems is likely to decide"
        return f"about {self.more} more problems would decide"


def decide(
    values: Any, baseline: Any, delta: float, cap: float, *, at_most: Any = None, baseline_at_most: Any = None
) -> Decision:
    """Decide whether an algorithm needs less on average than another one on the same problems.

    Arguments:
        values: on problems that neither algorithm has seen, one per problem, or (problem, replicate).
        baseline: values of the other algorithm on the same problems.
        delta: the probability of a wrong decision allowed, in (0, 1).
        cap: the largest possible value.
        at_most, baseline_at_most: where runs were stopped early, so that `values` and `baseline` are only what was
            counted until then, the largest values that they can have; the same as these by default.

    Returns:
        The decision. It is wrong with a probability of at most delta, and so is either bound.

    >>> baseline = np.tile([100.0, 300.0, 200.0, 250.0], 100)
    >>> decide(0.9 * baseline, baseline, delta=0.05, cap=500.0).outcome
    'better'
    >>> decide(0.9 * baseline[:40], baseline[:40], delta=0.05, cap=500.0)[::6]
    ('not decided', 72)
    """
    check_fraction("delta", delta)
    first, second = pairs(values, baseline, cap)
    most, most_of_second = pairs(
        values if at_most is None else at_most, baseline if baseline_at_most is None else baseline_at_most, cap
    )
    low = -difference_bound(most, second, delta / 2, 1.0) * cap
    high = difference_bound(most_of_second, first, delta / 2, 1.0) * cap
    outcome = "better" if low > 0 else "worse" if high < 0 else "not decided"
    more = more_problems(first - second, delta / 2) if outcome == "not decided" else None
    saved = float((second - first).mean() * cap)
    return Decision(outcome, saved, float(low), float(high), round(1 - delta, 12), len(first), more)


def more_problems(differences: Array, delta: float) -> int | None:
    """About how many more problems like these would decide the sign of the mean; None if far too many.

    Arguments:
        differences: in [-1, 1], one per problem.
        delta: the failure probability of one side.
    """
    gains = np.sign(differences.mean()) * differences
    growth = max(float(np.log1p(stake * gains).mean()) for stake in STAKES)
    if growth <= 0:
        return None
    needed = CAUTION * -math.log(delta) / growth - len(differences)
    if needed > MOST:
        return None
    digits = 10 ** max(math.floor(math.log10(max(needed, 1))) - 1, 0)
    return max(math.ceil(needed / digits) * digits, 10)
