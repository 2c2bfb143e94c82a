"""What an algorithm is to be good at: a measure of a functional, or the time it takes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..statistics import measures

WORDS = {"steps": "stopping_time", "calls": "oracle_calls", "seconds": "seconds"}
"""What users call the usual costs."""

FORM = re.compile(r"(?:(?P<measure>mean|q|cvar)(?P<level>\d+(?:\.\d+)?)?\((?P<inner>[\w-]+)\)|(?P<name>[\w-]+))")
TAIL = re.compile(r"P\((?P<name>[\w-]+)\s*>\s*(?P<threshold>[\d.eE+-]+)\)")


@dataclass(frozen=True)
class Cost:
    """What is to be made small on new problems, as in `loa run --minimize`.

    Fields:
        functional: its name, such as "stopping_time"; or "seconds", the time per problem in a large batch.
        measure: "mean", "quantile", "cvar" or "tail", the probability of exceeding the threshold.
        level: of the quantile or of the CVaR, in (0, 1).
        threshold: of the tail.

    >>> Cost.parse("steps")
    Cost(functional='stopping_time', measure='mean', level=None, threshold=None)
    >>> Cost.parse("cvar95(calls)").of(np.arange(100))
    97.0
    >>> str(Cost.parse("P(steps > 50)"))
    'P(steps > 50)'
    """

    functional: str = "stopping_time"
    measure: str = "mean"
    level: float | None = None
    threshold: float | None = None

    @staticmethod
    def parse(text: str) -> Cost:
        """A cost from words: steps, calls, seconds, any functional, q95(steps), cvar95(calls) or P(steps > 50)."""
        text = text.strip() if isinstance(text, str) else ""
        if found := TAIL.fullmatch(text):
            return Cost(_functional(found["name"]), "tail", threshold=float(found["threshold"]))
        found = FORM.fullmatch(text)
        level = float(found["level"]) / 100 if found and found["level"] else None
        measure = {"q": "quantile", None: "mean"}.get(found["measure"], found["measure"]) if found else ""
        if found is None or (measure == "mean") != (level is None) or not 0 < (0.5 if level is None else level) < 1:
            raise ValueError(
                f"what is minimized must be steps, calls, seconds, the name of a functional, or a measure of one such "
                f"as q95(steps), cvar95(calls) or P(steps > 50), got {text!r}."
            )
        cost = Cost(_functional(found["inner"] or found["name"]), measure, level)
        if cost.by_clock and measure != "mean":
            raise ValueError(
                "of seconds only the mean can be minimized: a batch has one time, not one for each problem."
            )
        return cost

    @property
    def by_clock(self) -> bool:
        """Whether it is time that counts."""
        return self.functional == "seconds"

    @property
    def weighed_by(self) -> str:
        """The functional to compare settings of one algorithm by: their time is in proportion to their steps."""
        return "stopping_time" if self.by_clock else self.functional

    def of(self, values: Any) -> float:
        """The measure of values of the functional, one for each problem."""
        values = np.asarray(values, float).ravel()
        if self.measure == "tail":
            return float((values > self.threshold).mean())
        if self.level is not None:
            return float(getattr(measures, self.measure)(values, self.level))
        return float(values.mean())

    def per_solved(self, cost: float, solved: float) -> float:
        """The cost for each problem that is solved, where giving up would be cheap: for time and oracle calls.

        A run that is not solved has the largest number of steps, but one with cheap steps has neither the most calls
        nor the most time.
        """
        if self.functional not in ("seconds", "oracle_calls") or self.measure == "tail":
            return cost
        return cost / solved if solved > 0 else math.inf

    def knee(self, values: Any) -> float | None:
        """Where `losses` bends: at the threshold of a tail, at the quantile of these values, nowhere for a mean."""
        if self.measure == "mean":
            return None
        return self.threshold if self.level is None else float(measures.quantile(np.ravel(values), self.level))

    def losses(self, values: Any, knee: float | None) -> np.ndarray:
        r"""Numbers whose mean is the cost, because prior and posterior weigh candidates by means.

        The values themselves for a mean; the indicator of exceeding the knee q for a tail or a quantile; and
        \(q + (x - q)_+ / (1 - \alpha)\) for the CVaR, whose mean is smallest at the quantile and is the CVaR there.
        """
        values = np.asarray(values, float)
        if knee is None:
            return values
        if self.measure != "cvar":
            return (values > knee).astype(float)
        assert self.level is not None
        return knee + np.maximum(values - knee, 0.0) / (1.0 - self.level)

    def __str__(self) -> str:
        name = next((word for word, functional in WORDS.items() if functional == self.functional), self.functional)
        if self.measure == "tail":
            return f"P({name} > {self.threshold:g})"
        if self.level is None:
            return name
        return f"{'q' if self.measure == 'quantile' else self.measure}{100 * self.level:g}({name})"


def _functional(word: str) -> str:
    return WORDS.get(word, word)


STEPS = Cost()
"""The mean number of steps, which is minimized unless something else is wanted."""
