"""The nuclear norm of a matrix, which makes it one of low rank."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Scalar

from .term import Term, array_point, one_step_size, positive


class NuclearNorm(Term):
    r"""The sum of the singular values of a matrix, with a weight.

    \(g(X) = w \sum_i \sigma_i(X)\).

    Arguments:
        weight: w ≥ 0.

    >>> NuclearNorm(1.0).prox(jnp.diag(jnp.array([3.0, 0.5])), 1.0).round(3).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """

    weight: Any = eqx.field(converter=positive("weight", zero=True), default=1.0)

    def value(self, x: Float[Array, "m n"]) -> Scalar:
        _is_matrix(self, x)
        return jnp.asarray(self.weight, x.dtype) * jnp.sum(jnp.linalg.svd(x, compute_uv=False))

    def prox(self, x: Float[Array, "m n"], step_size: Any) -> Float[Array, "m n"]:
        _is_matrix(self, x)
        one_step_size(self, step_size)
        threshold = jnp.asarray(step_size * self.weight, x.dtype)
        return _shrunk(x, threshold) if x.shape[0] >= x.shape[1] else _shrunk(x.T, threshold).T


def _is_matrix(term: Term, x: Any) -> None:
    array_point(term, x)
    if x.ndim != 2:
        raise ValueError(f"NuclearNorm is a norm of matrices, but points have shape {x.shape}.")


@jax.custom_jvp
def _shrunk(x: Float[Array, "m n"], threshold: Scalar) -> Float[Array, "m n"]:
    """The matrix with all singular values reduced by a threshold, down to 0."""
    left, values, right = jnp.linalg.svd(x, full_matrices=False)
    return (left * jnp.maximum(values - threshold, 0.0)) @ right


@_shrunk.defjvp
def _derivative(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """By divided differences of the shrinking function, which stay finite where singular values coincide."""
    (x, threshold), (move, rise) = primals, tangents
    left, values, right = jnp.linalg.svd(x, full_matrices=False)
    shrunk, active = jnp.maximum(values - threshold, 0.0), (values > threshold).astype(x.dtype)
    inner = left.T @ move @ right.T
    even = _quotient(shrunk[:, None] - shrunk, values[:, None] - values, (active[:, None] + active) / 2)
    odd = _quotient(shrunk[:, None] + shrunk, values[:, None] + values, 0.0)
    middle = even * (inner + inner.T) / 2 + odd * (inner - inner.T) / 2 - jnp.diag(active * rise)
    outside = (move @ right.T - left @ inner) * _quotient(shrunk, values, 0.0)
    return (left * shrunk) @ right, (left @ middle + outside) @ right


def _quotient(above: Array, below: Array, otherwise: Any) -> Array:
    """The quotient, or something else where numerator and denominator are lost in rounding."""
    small = jnp.abs(below) <= jnp.finfo(below.dtype).eps * jnp.maximum(jnp.max(jnp.abs(below)), 1e-300)
    return jnp.where(small, otherwise, above / jnp.where(small, 1.0, below))
