"""Problems that coincide although they should be independent draws: a sign of a `sample` that ignores its key."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

EXAMINED = 64
"""How many problems of a stack are compared. Among few, not even numbers in single precision coincide by chance."""

FEWEST = 8
"""A stack with fewer problems says nothing."""


def distinct(problems: Any) -> tuple[int, int]:
    """How many of the first problems of a stack are distinct, and how many were compared; none while JAX traces."""
    leaves = jax.tree.leaves(problems)
    if not leaves or any(isinstance(leaf, Tracer) for leaf in leaves):
        return 0, 0
    rows = [_data(leaf)[:EXAMINED] for leaf in leaves]
    compared = len(rows[0])
    return len({b"".join(row[index].tobytes() for row in rows) for index in range(compared)}), compared


def explained(name: str, problems: Any) -> str | None:
    """A sentence about problems that coincide, or None where at most a few do.

    Arguments:
        name: of the problem class.
        problems: a stack of problems that should be independent draws.
    """
    different, compared = distinct(problems)
    if compared < FEWEST or compared - different <= compared // 8:
        return None
    many = "the same problem" if different == 1 else f"only {different} different problems"
    return (
        f"{name}.sample gives {many} in {compared} draws: draw every problem from the key, as in "
        "`jax.random.normal(key, (3,))`, and not "
        "with np.random, whose numbers stay fixed once JAX has traced the function; if there are only finitely many "
        f"problems, say `finite = True` in {name}."
    )


def _data(leaf: Any) -> np.ndarray:
    is_key = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)
