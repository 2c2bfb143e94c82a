"""Names for the arrays in a pytree, as columns of files have them."""

from __future__ import annotations

from typing import Any

import jax


def names_of_leaves(tree: Any) -> dict[str, Any]:
    """The arrays by their keys, fields or indices, joined by dots; the name of a single array is empty.

    >>> names_of_leaves({"a": 1.0, "b": (2.0, 3.0)})
    {'a': 1.0, 'b.0': 2.0, 'b.1': 3.0}
    """
    return {".".join(map(_step, path)): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def _step(step: Any) -> str:
    return str(next(getattr(step, name) for name in ("key", "name", "idx") if hasattr(step, name)))
