r"""The left-continuous quantile of a sample and the mean of what lies beyond it: one definition for all rooms."""

from __future__ import annotations

from typing import Any

import numpy as np


def rank(count: int, level: float) -> int:
    """The rank of the quantile in a sample: the smallest k ≥ 1 with k / count ≥ level.

    The rounding of level · count is forgiven, so that the rank is that of the level as written.

    >>> rank(100, 0.07), rank(10, 0.95)
    (7, 10)
    """
    return max(1, int(np.ceil(level * count * (1 - 4 * np.finfo(float).eps))))


def quantile(values: Any, level: float) -> float:
    r"""The smallest value that at least a share `level` of the sample does not exceed.

    \(q_\beta = \inf\{\alpha : P(\varphi \le \alpha) \ge \beta\}\), the paper's left-continuous quantile.

    Arguments:
        values: a sample of any shape; infinite values are allowed.
        level: β in (0, 1).

    >>> quantile([3.0, 1.0, 2.0, 4.0], 0.5)
    2.0
    """
    ordered = np.sort(values, axis=None)
    return float(ordered[rank(ordered.size, level) - 1])


def beyond_quantile(values: Any, level: float) -> np.ndarray:
    r"""One number per value whose mean is the conditional value at risk, the mean of the worst 1 - level.

    \(q_\beta + (\varphi-q_\beta)_+ / (1-\beta)\) (Rockafellar and Uryasev).

    >>> float(beyond_quantile([1.0, 2.0, 3.0, 4.0], 0.5).mean())
    3.5
    """
    values = np.asarray(values, float)
    threshold = quantile(values, level)
    return threshold + np.maximum(values - threshold, 0.0) / (1.0 - level)
