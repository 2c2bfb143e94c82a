"""How algorithms fare on instances of different sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..problems.logs.log import Log
from ..problems.logs.padding import real_sizes
from ..problems.role import Role
from ..statistics import measures

MOST_GROUPS = 5
"""Where there are more sizes, neighbouring ones are put together."""


def by_size(log: Log, places: np.ndarray, roles: np.ndarray, times: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Mean stopping times by the size of padded instances, of those that nothing was learned from.

    Arguments:
        log: the log, whose instances were padded if their shapes were unequal.
        places: of some instances in the log.
        roles: of these.
        times: their stopping times, by algorithm.

    Returns:
        For each group of sizes, from the smallest: what it is called, how many instances there are, and means with
        intervals by algorithm; nothing if all instances have the same size.
    """
    sizes = real_sizes(log.instances.problems)
    if sizes is None:
        return []
    new = ~np.isin(roles, [Role.training.text, Role.validation.text])
    own = [sizes[place] for place in places[new]]
    return [
        {
            "size": title,
            "instances": len(members),
            "means": {name: _mean(each[new][members]) for name, each in times.items()},
        }
        for title, members in groups(own).items()
    ]


def groups(sizes: Sequence[tuple[int, ...]]) -> dict[str, list[int]]:
    """The places of equal sizes, or of neighbouring ones where there are many sizes, by a title.

    >>> groups([(3, 2), (5, 2), (3, 2)])
    {'3 × 2': [0, 2], '5 × 2': [1]}
    """
    order = sorted(set(sizes), key=lambda size: (int(np.prod(size)), size))
    counts = np.array([sizes.count(size) for size in order])
    if len(order) <= MOST_GROUPS:
        parts = [[size] for size in order]
    else:
        middle = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
        parts = [
            [size for size, share in zip(order, middle, strict=True) if int(share * MOST_GROUPS) == part]
            for part in range(MOST_GROUPS)
        ]
    titles = {_title(part): set(part) for part in parts if part}
    return {title: [place for place, size in enumerate(sizes) if size in part] for title, part in titles.items()}


def _title(part: list[tuple[int, ...]]) -> str:
    first, last = (" × ".join(map(str, size)) for size in (part[0], part[-1]))
    return first if first == last else f"{first} to {last}"


def _mean(times: np.ndarray) -> dict[str, float]:
    number = measures.mean(times)
    return {"mean": float(number), "low": float(number.low), "high": float(number.high)}
