"""Instances of unequal sizes, filled up to the largest one, with masks that say which entries are real."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

LISTED = 3
"""The number of different sizes that a message lists."""

MASK = "_mask"
"""What is appended to the name of a field for the field that says which of its entries are real."""


def padded(instances: dict[str, Any]) -> dict[str, Any]:
    """Fill up the fields of unequal shapes with zeros; `field_mask` is True where the entries of `field` are real.

    >>> found = padded({"short": {"b": np.ones(2)}, "long": {"b": np.ones(3)}})
    >>> found["short"]["b"].tolist(), found["short"]["b_mask"].tolist()
    ([1.0, 1.0, 0.0], [True, True, False])
    """
    examples = list(instances.values())
    if len({tuple(leaf.shape for leaf in jax.tree.leaves(each)) for each in examples}) <= 1:
        return instances
    if not all(
        isinstance(each, dict) and all(isinstance(leaf, np.ndarray) for leaf in each.values()) for each in examples
    ):
        raise ValueError("only instances with named fields can be padded, because their masks need names as well.")
    shapes = {field: [each[field].shape for each in examples] for field in examples[0]}
    for field, found in shapes.items():
        if len({len(shape) for shape in found}) > 1:
            raise ValueError(f"the field {field!r} has arrays with different numbers of axes, which cannot be padded.")
    largest = {field: tuple(np.max(found, axis=0)) for field, found in shapes.items() if len(set(found)) > 1}
    clash = [field for field in largest if f"{field}{MASK}" in shapes]
    if clash:
        raise ValueError(
            f"the mask of {clash[0]!r} would be called {clash[0]}{MASK}, which is a field already: rename it."
        )
    return {name: _filled(each, largest) for name, each in instances.items()}


def _filled(instance: dict[str, np.ndarray], largest: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    found = dict(instance)
    for field, shape in largest.items():
        missing = [(0, most - own) for most, own in zip(shape, instance[field].shape, strict=True)]
        found[field] = np.pad(instance[field], missing)
        found[f"{field}{MASK}"] = np.pad(np.ones(instance[field].shape, bool), missing)
    return found


def real_sizes(problems: Any) -> list[tuple[int, ...]] | None:
    """The real shape of each padded instance, the shapes of its fields one after the other; None if none is padded.

    >>> real_sizes({"b": np.zeros((2, 3)), "b_mask": np.array([[True, True, False], [True, True, True]])})
    [(2,), (3,)]
    """
    if not isinstance(problems, dict):
        return None
    masks = [
        np.asarray(leaf) for field, leaf in problems.items() if field.endswith(MASK) and field[: -len(MASK)] in problems
    ]
    shapes = [[_real_shape(mask) for mask in each] for each in zip(*masks, strict=True)]
    return [tuple(length for shape in each for length in shape) for each in shapes] or None


def _real_shape(mask: np.ndarray) -> tuple[int, ...]:
    """Along each axis, how many entries there are up to the last real one."""
    return tuple(
        int(np.max(np.flatnonzero(mask.any(axis=tuple(set(range(mask.ndim)) - {axis}))), initial=-1)) + 1
        for axis in range(mask.ndim)
    )


def sizes_in_words(instances: Iterable[Any]) -> str:
    """The most common shapes of the fields in which instances differ, with how many have them."""
    shapes = [
        {
            jax.tree_util.keystr(path, simple=True, separator="."): leaf.shape
            for path, leaf in jax.tree_util.tree_leaves_with_path(each)
        }
        for each in instances
    ]
    unequal = [field for field in shapes[0] if len({each[field] for each in shapes}) > 1]
    counts = Counter(tuple(each[field] for field in unequal) for each in shapes)
    words = [
        f"{' and '.join(f'{field} {shape}'.strip() for field, shape in zip(unequal, found, strict=True))} in {count}"
        for found, count in counts.most_common(LISTED)
    ]
    more = [f"{len(counts) - LISTED} more sizes"] if len(counts) > LISTED else []
    return ", ".join([*words, *more])
