"""A growing sample that tells where a number stands in it, in microseconds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import chain

import numpy as np

LONGEST = 512
"""Different values in a block; a longer one is split."""


class Ranks:
    """Numbers in sorted blocks of different values with their counts.

    >>> ranks = Ranks([1.0, 2.0, 2.0, 5.0])
    >>> ranks.place(2.0)  # one is smaller, two are equal
    (1, 2)
    >>> ranks.add(0.0)
    >>> ranks.place(2.0), ranks.size
    ((2, 2), 5)
    """

    def __init__(self, values: Iterable[float] = (), counts: Iterable[int] | None = None):
        different, found = np.unique(np.asarray(list(values), float), return_counts=True)
        found = found if counts is None else np.asarray(list(counts), int)
        cuts = range(0, max(len(different), 1), LONGEST)
        self._values = [different[cut : cut + LONGEST].tolist() for cut in cuts]
        self._counts = [found[cut : cut + LONGEST].tolist() for cut in cuts]
        self._index()

    def _index(self) -> None:
        self._tops = [block[-1] if block else np.inf for block in self._values]
        self._totals = np.array([sum(block) for block in self._counts], int)
        self.size = int(self._totals.sum())

    def place(self, value: float) -> tuple[int, int]:
        """How many of the numbers are smaller, and how many are equal."""
        block, index = self._find(value)
        values, counts = self._values[block], self._counts[block]
        smaller = int(self._totals[:block].sum()) + sum(counts[:index])
        return smaller, counts[index] if index < len(values) and values[index] == value else 0

    def add(self, value: float) -> None:
        """One more number."""
        block, index = self._find(value)
        values, counts = self._values[block], self._counts[block]
        if index < len(values) and values[index] == value:
            counts[index] += 1
        else:
            values.insert(index, value)
            counts.insert(index, 1)
            self._tops[block] = values[-1]
        self._totals[block] += 1
        self.size += 1
        if len(values) > LONGEST:
            half = len(values) // 2
            self._values[block : block + 1] = [values[:half], values[half:]]
            self._counts[block : block + 1] = [counts[:half], counts[half:]]
            self._index()

    def different(self) -> tuple[np.ndarray, np.ndarray]:
        """The different values in order, and how often each is there."""
        return np.array([*chain(*self._values)], float), np.array([*chain(*self._counts)], int)

    def _find(self, value: float) -> tuple[int, int]:
        block = min(bisect_left(self._tops, value), len(self._tops) - 1)
        return block, bisect_left(self._values[block], value)
