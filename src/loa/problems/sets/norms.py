"""Penalties that make coordinates, or groups of coordinates, exactly zero."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Scalar

from .term import Term, array_point, fitted, one_step_size, positive


class L1Norm(Term):
    r"""The weighted sum of the absolute values of the coordinates.

    \(g(x) = \sum_i w_i |x_i|\).

    Arguments:
        weight: w ≥ 0, a number or an array of the shape of a point.

    >>> L1Norm(0.5).prox(jnp.array([2.0, -0.2]), 1.0).tolist()
    [1.5, 0.0]
    """

    separable: ClassVar[bool] = True

    weight: Any = eqx.field(converter=positive("weight", zero=True), default=1.0)

    def value(self, x: Float[Array, ...]) -> Scalar:
        return jnp.sum(fitted(self, "weight", self.weight, x) * jnp.abs(x))

    def prox(self, x: Float[Array, ...], step_size: Any) -> Float[Array, ...]:
        threshold = step_size * fitted(self, "weight", self.weight, x)
        return jnp.where(jnp.abs(x) > threshold, x - jnp.sign(x) * threshold, 0.0)


class GroupNorm(Term):
    r"""The weighted sum of the Euclidean norms of groups of coordinates.

    \(g(x) = \sum_k w_k \|x_{G_k}\|\), for groups \(G_1, \dots, G_K\) that do not overlap.

    Arguments:
        weight: w ≥ 0, a number or one for each group.
        groups: the number of coordinates in a group, if the groups are consecutive and of equal size; or an array of
            the shape of a point that holds the number 0 … K-1 of the group of each coordinate.

    >>> GroupNorm(1.0, groups=2).prox(jnp.array([3.0, 4.0, 0.1, 0.2]), 1.0).round(3).tolist()
    [2.4, 3.2, 0.0, 0.0]
    """

    weight: Any = eqx.field(converter=positive("weight", zero=True))
    groups: tuple[int, ...] | int = eqx.field(static=True)
    shape: tuple[int, ...] = eqx.field(static=True, repr=False)

    def __init__(self, weight: Any = 1.0, *, groups: Any):
        self.weight = weight
        try:
            labels = np.asarray(groups)
        except ValueError:  # lists of unequal lengths
            labels = np.asarray(None)
        if labels.dtype.kind not in "iu" or labels.min(initial=0) < 0 or (labels.ndim == 0 and labels < 1):
            raise ValueError(
                "groups must be the size of a group, or an array with the number 0, 1, … of the group of each "
                f"coordinate, got {groups!r}."
            )
        self.shape = labels.shape
        self.groups = int(labels) if labels.ndim == 0 else tuple(labels.ravel().tolist())
        if np.ndim(self.weight) and isinstance(self.groups, tuple) and np.shape(self.weight) != (max(self.groups) + 1,):
            raise ValueError(f"weight must be one number, or one for each of the {max(self.groups) + 1} groups.")

    def value(self, x: Float[Array, ...]) -> Scalar:
        labels, count = self._labels(x)
        squares = self._squares(x, labels, count)
        norms = jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1.0)), 0.0)
        return jnp.sum(jnp.asarray(self.weight, x.dtype) * norms)

    def prox(self, x: Float[Array, ...], step_size: Any) -> Float[Array, ...]:
        one_step_size(self, step_size)
        labels, count = self._labels(x)
        squares = self._squares(x, labels, count)
        threshold = jnp.broadcast_to(step_size * jnp.asarray(self.weight, x.dtype), (count,))
        kept = squares > threshold**2
        share = jnp.where(kept, 1.0 - threshold / jnp.sqrt(jnp.where(kept, squares, 1.0)), 0.0)
        return share[labels].reshape(x.shape) * x

    def _squares(self, x: Float[Array, ...], labels: np.ndarray, count: int) -> Float[Array, " k"]:
        return jax.ops.segment_sum(x.ravel() ** 2, labels, num_segments=count)

    def _labels(self, x: Float[Array, ...]) -> tuple[np.ndarray, int]:
        """The number of the group of every coordinate, and how many groups there are."""
        array_point(self, x)
        size = self.groups
        if x.size % size if isinstance(size, int) else self.shape not in (x.shape, (x.size,)):
            held = f"groups of {size}" if isinstance(size, int) else f"numbers of groups in the shape {self.shape}"
            raise ValueError(f"GroupNorm has {held}, which does not fit points of shape {x.shape}.")
        labels = np.repeat(np.arange(x.size // size), size) if isinstance(size, int) else np.asarray(size)
        return labels, int(labels.max()) + 1
