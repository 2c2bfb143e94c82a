"""Total variation in one dimension, which makes a signal piecewise constant."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Scalar

from .term import Term, array_point, one_step_size, positive


class TotalVariation(Term):
    r"""The sum of the absolute differences between neighbours, with a weight.

    \(g(x) = w \sum_i |x_{i+1} - x_i|\) for a vector x. The proximal mapping is exact: it finds the jumps by the direct
    algorithm of Condat, which takes one pass over the signal in most cases, and then the levels between them.

    Arguments:
        weight: w ≥ 0.

    Reference: Condat, *A direct algorithm for 1D total variation denoising*, 2013.

    >>> TotalVariation(1.0).prox(jnp.array([0.0, 1.0, 7.0, 8.0]), 1.0).tolist()
    [1.0, 1.0, 7.0, 7.0]
    """

    weight: Any = eqx.field(converter=positive("weight", zero=True), default=1.0)

    def value(self, x: Float[Array, " d"]) -> Scalar:
        _is_vector(self, x)
        return jnp.asarray(self.weight, x.dtype) * jnp.sum(jnp.abs(jnp.diff(x)))

    def prox(self, x: Float[Array, " d"], step_size: Any) -> Float[Array, " d"]:
        _is_vector(self, x)
        one_step_size(self, step_size)
        threshold = jnp.asarray(step_size * self.weight, x.dtype)
        jumps = _jumps(jax.lax.stop_gradient(x), jax.lax.stop_gradient(threshold))
        pulled = x - threshold * -jnp.diff(jumps, prepend=0.0)
        piece = jnp.cumsum(jumps != 0) - (jumps != 0)
        sums = jax.ops.segment_sum(pulled, piece, num_segments=x.size)
        sizes = jax.ops.segment_sum(jnp.ones_like(x), piece, num_segments=x.size)
        return (sums / jnp.maximum(sizes, 1.0))[piece]


def _is_vector(term: Term, x: Any) -> None:
    array_point(term, x)
    if x.ndim != 1:
        raise ValueError(f"TotalVariation is about vectors, but points have shape {x.shape}.")


class _Search(NamedTuple):
    """The piece that begins at `first` is extended to `last`.

    Its level lies between `low` and `high`. The dual variables of these two levels at `last` are `from_low` and
    `from_high`; `low_end` and `high_end` are where they last touched a bound, and where the piece may end.
    """

    first: Int[Array, ""]
    last: Int[Array, ""]
    low_end: Int[Array, ""]
    high_end: Int[Array, ""]
    low: Scalar
    high: Scalar
    from_low: Scalar
    from_high: Scalar
    jumps: Float[Array, " d"]
    done: Bool[Array, ""]


def _jumps(x: Float[Array, " d"], threshold: Scalar) -> Float[Array, " d"]:
    """At each coordinate the sign of the jump behind it in the solution, or 0."""
    end = x.size - 1
    zero = jnp.zeros((), jnp.int32)
    begin = _Search(
        zero, zero, zero, zero, x[0] - threshold, x[0] + threshold, threshold, -threshold, jnp.zeros_like(x),
        jnp.asarray(False),
    )  # fmt: skip

    def body(state: _Search) -> _Search:
        at_end = state.last == end
        ahead = x[jnp.minimum(state.last + 1, end)]
        from_low = jnp.where(at_end, state.from_low, state.from_low + ahead - state.low)
        from_high = jnp.where(at_end, state.from_high, state.from_high + ahead - state.high)
        down = from_low < jnp.where(at_end, 0.0, -threshold)
        up = ~down & (from_high > jnp.where(at_end, 0.0, threshold))
        cut = _after_jump(x, threshold, state, down, at_end)
        longer = _extended(threshold, state, from_low, from_high)._replace(done=at_end)
        return jax.tree.map(lambda one, other: jnp.where(down | up, one, other), cut, longer)

    return jax.lax.while_loop(lambda state: ~state.done, body, begin).jumps


def _after_jump(
    x: Float[Array, " d"], threshold: Scalar, state: _Search, down: Bool[Array, ""], at_end: Bool[Array, ""]
) -> _Search:
    """The piece has ended with a jump, and the next one begins."""
    last = jnp.where(down, state.low_end, state.high_end)
    first = jnp.minimum(last + 1, x.size - 1)
    jumps = state.jumps.at[last].set(jnp.where(down, -1.0, 1.0).astype(x.dtype))
    value = x[first]
    low = jnp.where(down, value, value - 2 * threshold)
    high = jnp.where(down, value + 2 * threshold, value)
    low, high = jnp.where(at_end & ~down, state.low, low), jnp.where(at_end & down, state.high, high)
    from_low = jnp.where(at_end & ~down, value - threshold - state.low, threshold)
    from_high = jnp.where(at_end & down, value + threshold - state.high, -threshold)
    low_end = jnp.where(at_end & ~down, state.low_end, first)
    high_end = jnp.where(at_end & down, state.high_end, first)
    return _Search(first, first, low_end, high_end, low, high, from_low, from_high, jumps, jnp.asarray(False))


def _extended(threshold: Scalar, state: _Search, from_low: Scalar, from_high: Scalar) -> _Search:
    """The piece with one more coordinate; a bound on its level moves where its dual variable would leave its range."""
    last = state.last + 1
    size = (last - state.first + 1).astype(from_low.dtype)
    raised, lowered = from_low >= threshold, from_high <= -threshold
    return state._replace(
        last=last,
        low=jnp.where(raised, state.low + (from_low - threshold) / size, state.low),
        high=jnp.where(lowered, state.high + (from_high + threshold) / size, state.high),
        low_end=jnp.where(raised, last, state.low_end),
        high_end=jnp.where(lowered, last, state.high_end),
        from_low=jnp.where(raised, threshold, from_low),
        from_high=jnp.where(lowered, -threshold, from_high),
    )
