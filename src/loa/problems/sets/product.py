"""A constraint for each part of a point."""

from __future__ import annotations

from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Scalar

from ...messages.arguments import shown
from .term import Term


class Product(Term):
    """One set or penalty for each part of a point that is a dictionary, a tuple or another pytree.

    Arguments:
        parts: sets and penalties in the form of a point; None where anything is admissible.

    >>> from loa.problems.sets import Box, Simplex
    >>> both = Product({"weights": Simplex(), "bias": Box(-1.0, 1.0), "free": None})
    >>> point = {"weights": jnp.array([2.0, 0.0]), "bias": jnp.array(3.0), "free": jnp.array(7.0)}
    >>> both.prox(point, 1.0)["bias"].item(), both.violation(point).item()
    (1.0, 2.0)
    """

    parts: Any

    def __check_init__(self):
        parts = jax.tree.leaves(self.parts, is_leaf=_is_part)
        for part in parts:
            if not _is_part(part):
                raise TypeError(
                    f"a part of a Product must be a set or penalty of loa.sets, or None, got {shown(part)}."
                )
        if not any(isinstance(part, Term) for part in parts):
            raise ValueError("a Product needs at least one set or penalty among its parts.")

    def value(self, x: Any) -> Scalar:
        return reduce(jnp.add, [part.value(at) for part, at in self._pairs(x) if part is not None])

    def violation(self, x: Any) -> Scalar:
        return reduce(jnp.maximum, [part.violation(at) for part, at in self._pairs(x) if part is not None])

    def prox(self, x: Any, step_size: Any) -> Any:
        pairs, structure = self._pairs(x), jax.tree.structure(self.parts, is_leaf=_is_part)
        single = jax.tree_util.all_leaves([step_size])
        sizes = [step_size] * len(pairs) if single else structure.flatten_up_to(step_size)
        moved = [at if part is None else part.prox(at, size) for (part, at), size in zip(pairs, sizes, strict=True)]
        return jax.tree.unflatten(structure, moved)

    def _pairs(self, x: Any) -> list[tuple[Term | None, Any]]:
        """Every part, with what a point has there."""
        parts, structure = jax.tree.flatten(self.parts, is_leaf=_is_part)
        try:
            return list(zip(parts, structure.flatten_up_to(x), strict=True))
        except (ValueError, TypeError) as error:
            names = jax.tree.unflatten(structure, [type(part).__name__ for part in parts])
            raise ValueError(
                f"the parts of a Product must have the form of a point, but they are {shown(names)} where a point has "
                f"the shapes {shown(jax.tree.map(jnp.shape, x))}."
            ) from error


def _is_part(node: Any) -> bool:
    return node is None or isinstance(node, Term)
