"""What a non-smooth part of a loss is: its value, its proximal mapping, and how far a point is outside."""

from __future__ import annotations

from abc import abstractmethod
from functools import reduce
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Scalar

from ...messages.arguments import array_of_numbers


class Term(eqx.Module):
    r"""The non-smooth part g of a loss: the indicator of a set, a norm, or a combination of such.

    A problem class that has `smooth` and says `constraint = ...` with a term has the loss smooth + g, and the proximal
    mapping of g. Derivatives of `prox`, by `jax.jvp` or `jax.grad`, are the true ones: the mapping knows which parts
    are active.
    """

    separable: ClassVar[bool] = False
    """Whether each coordinate is treated independently of the others, so that each may have a step size."""

    @abstractmethod
    def value(self, x: Any) -> Scalar:
        """The value g(x), infinite at points that are not admissible."""

    @abstractmethod
    def prox(self, x: Any, step_size: Any) -> Any:
        r"""The proximal mapping of g.

        \(\mathrm{prox}_{\alpha g}(x) = \arg\min_z g(z) + \frac{1}{2 \alpha} \|z - x\|^2\).
        """

    def violation(self, x: Any) -> Scalar:
        """How far a point is outside; 0 everywhere for a penalty."""
        return jnp.zeros((), jnp.result_type(*jax.tree.leaves(x)))

    def at(self, x: Any) -> Term:
        """What this term says about points of the form of x: a separable one says it of every array of a pytree."""
        return EveryPart(self) if self.separable and not jax.tree_util.all_leaves([x]) else self


class EveryPart(Term):
    """The same separable term for every array of a point that is a dictionary, a tuple or another pytree."""

    term: Term

    def value(self, x: Any) -> Scalar:
        return reduce(jnp.add, map(self.term.value, jax.tree.leaves(x)))

    def violation(self, x: Any) -> Scalar:
        return reduce(jnp.maximum, map(self.term.violation, jax.tree.leaves(x)))

    def prox(self, x: Any, step_size: Any) -> Any:
        single = jax.tree_util.all_leaves([step_size])
        sizes = jax.tree.map(lambda _: step_size, x) if single else step_size
        return jax.tree.map(self.term.prox, x, sizes)


class Set(Term):
    """A closed convex set C of arrays; as a part of a loss, it is 0 in C and infinite outside.

    A point is inside if its violation is at most a rounding error, \\(\\epsilon^{3/4} \\max(1, \\|x\\|_\\infty)\\).
    """

    @abstractmethod
    def project(self, x: Float[Array, ...]) -> Float[Array, ...]:
        """The nearest point of the set."""

    @abstractmethod
    def violation(self, x: Float[Array, ...]) -> Scalar:
        """How far a point is outside: the largest amount by which a condition of the set fails, 0 inside."""

    def value(self, x: Float[Array, ...]) -> Scalar:
        array_point(self, x)
        scale = jnp.maximum(1.0, jnp.max(jnp.abs(x), initial=0.0))
        inside = self.violation(x) <= jnp.finfo(x.dtype).eps ** 0.75 * scale
        return jnp.where(inside, 0.0, jnp.inf).astype(x.dtype)

    def prox(self, x: Float[Array, ...], step_size: Any) -> Float[Array, ...]:
        if not self.separable:
            one_step_size(self, step_size)
        return self.project(x)


def one_step_size(term: Term, step_size: Any) -> None:
    """Refuse a step size for every coordinate where the coordinates depend on each other."""
    if jax.tree_util.tree_leaves(step_size)[1:] or np.ndim(step_size):
        name = type(term).__name__
        raise ValueError(f"{name} mixes coordinates, so its proximal mapping takes one step size, not one for each.")


def numbers(name: str) -> Any:
    """The converter of a field of numbers, which may be infinite; those that JAX computes are taken unchanged."""

    def convert(value: Any) -> Any:
        if isinstance(value, jax.Array):
            return value
        array = array_of_numbers(name, value).astype(float)
        if np.isnan(array).any():
            raise ValueError(f"{name} must be a number or an array of numbers, but there is NaN in it.")
        return array

    return convert


def positive(name: str, *, zero: bool = False) -> Any:
    """The converter of a field of positive finite numbers; with `zero`, 0 is one too."""

    def convert(value: Any) -> Any:
        array = numbers(name)(value)
        if is_known(array) and not (np.all(array >= 0 if zero else array > 0) and np.isfinite(array).all()):
            wanted = "non-negative" if zero else "positive"
            raise ValueError(f"{name} must be {wanted} and finite, got {np.asarray(array).min():g}.")
        return array

    return convert


def is_known(*arrays: Any) -> bool:
    """Whether the numbers are there, rather than traced by JAX."""
    return not any(isinstance(array, Tracer) for array in arrays)


def fitted(term: Term, name: str, value: Any, x: Any) -> Array:
    """A field of a term in the precision of a point, refused where it does not fit the shape of that point."""
    array_point(term, x)
    try:
        fits = np.broadcast_shapes(np.shape(value), x.shape) == x.shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"{name} of {type(term).__name__} has shape {np.shape(value)}, which does not fit points of shape "
            f"{x.shape}: make it a number or an array of that shape."
        )
    return jnp.asarray(value, x.dtype)


def array_point(term: Term, x: Any) -> None:
    """Refuse a point that is not a single array."""
    if not hasattr(x, "shape"):
        raise ValueError(
            f"{type(term).__name__} is about points that are arrays, got a {type(x).__name__}: say what holds for each "
            "of its parts by loa.sets.Product."
        )
