"""What a certificate remembers of its sample, by which the sample is recognized if it comes back as fresh.

Independent samples can coincide by chance: all problems solved looks like all problems solved. So a sample counts as
recognized only if what it has in common with the other would be very improbable for independent ones.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import special

BLOCK = 16
"""Values in a block, by which a part of a sample is recognized, wherever it begins."""
MOST = 64
"""Blocks and values that are remembered."""
BY_CHANCE = 1e-6
"""The largest probability with which an independent sample is taken for a known one."""
FEWEST_SHARED = 5
"""The number of equal values with many digits by which a sample is recognized, at least."""
GRAIN = 2.0**20
"""A multiple of one over this has few digits."""

Memory = Mapping[str, tuple[str, ...]]


def remembered(values: Any) -> dict[str, tuple[str, ...]]:
    """Hashes of a sample: of its sorted values, of its first blocks, and of some of its values if all are different.

    >>> {name: len(hashes) for name, hashes in remembered(np.sqrt(np.arange(2.0, 102.0))).items()}
    {'sorted': 1, 'blocks': 6, 'values': 64}
    """
    items = _items(values)
    blocks = [_hash(items[start : start + BLOCK]) for start in range(0, len(items) - BLOCK + 1, BLOCK)]
    return {
        "sorted": (_hash(sorted(items)),),
        "blocks": tuple(blocks[:MOST]),
        "values": tuple(sorted(_hash([item]) for item in items)[:MOST]) if _are_different(items) else (),
    }


def recognized(memory: Memory, values: Any) -> str | None:
    """How a sample is known already, in words; None if it may be fresh.

    >>> values = np.random.default_rng(0).integers(0, 50, size=200)
    >>> memory = remembered(values)
    >>> recognized(memory, values[::-1]), recognized(memory, values[37:90])
    ('the same values in another order', 'some of the same values')
    >>> recognized(memory, np.random.default_rng(1).integers(0, 50, size=200)) is None
    True
    """
    if np.size(values) == 0 or np.ndim(values) == 0:
        return None  # refused elsewhere
    items = _items(values)
    counts = np.array(list(Counter(items).values()), float)
    if memory.get("sorted") == (_hash(sorted(items)),) and _log_probability(counts) < math.log(BY_CHANCE):
        return "the same values in another order"
    blocks = set(memory.get("blocks", ()))
    starts = range(len(items) - BLOCK + 1)
    coincidences = len(starts) * len(blocks) * float(((counts / len(items)) ** 2).sum()) ** BLOCK
    if coincidences < BY_CHANCE and any(_hash(items[start : start + BLOCK]) in blocks for start in starts):
        return "some of the same values"
    known = set(memory.get("values", ()))
    if known and _are_different(items) and sum(_hash([item]) in known for item in items) >= FEWEST_SHARED:
        return "some of the same values"
    return None


def _items(values: Any) -> list[bytes]:
    """The values on each problem as bytes."""
    table = np.ascontiguousarray(np.reshape(values, (len(values), -1)), dtype="<f8")
    return [row.tobytes() for row in table]


def _are_different(items: list[bytes]) -> bool:
    """Whether nearly all values are different and have many digits, so that none comes again by chance."""
    numbers = GRAIN * np.frombuffer(b"".join(items))
    return len(set(items)) > 0.9 * len(items) and float((numbers == np.floor(numbers)).mean()) < 0.1


def _hash(items: list[bytes]) -> str:
    return hashlib.blake2b(b"".join(items), digest_size=8).hexdigest()


def _log_probability(counts: np.ndarray) -> float:
    """The logarithm of the probability that values are drawn with these frequencies again, in any order."""
    total = counts.sum()
    arrangements = special.gammaln(total + 1) - special.gammaln(counts + 1).sum()
    return float(arrangements + (counts * np.log(counts / total)).sum())
