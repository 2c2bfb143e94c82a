r"""A line search for the strong Wolfe conditions."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Scalar

from ..problems.oracle import Oracle

SUFFICIENT_DECREASE = 1e-4
"""The constant \\(c_1\\) of the first Wolfe condition."""

MOST_TRIALS = 20
"""A search ends after this number of trials, whatever it has found."""

ROUNDING = 10.0
"""Losses that differ by fewer units of relative precision than this are taken as equal."""


class Trial(NamedTuple):
    r"""A step α, with the value \(\varphi(\alpha) = \ell(x + \alpha d)\) and the slope \(\varphi'(\alpha)\) there."""

    step: Scalar
    value: Scalar
    slope: Scalar


class Found(NamedTuple):
    """Where a search ended: the last trial and the point and gradient there; the slope where it began."""

    step: Scalar
    value: Scalar
    slope: Scalar
    x: Float[Array, ...]
    gradient: Float[Array, ...]
    first_slope: Scalar


class _Search(NamedTuple):
    """Between left, good but too short, and right, too long or infinite, lies a step that is acceptable."""

    left: Trial
    right: Trial
    current: Trial
    gradient: Float[Array, ...]
    next_step: Scalar
    trials: Int[Array, ""]
    accepted: Bool[Array, ""]


def line_search(
    oracle: Oracle,
    x: Float[Array, ...],
    direction: Float[Array, ...],
    value: Scalar,
    gradient: Float[Array, ...],
    first_step: Scalar,
    flatness: float,
) -> Found:
    r"""Find a step α along d from x that satisfies the strong Wolfe conditions,

    \[ \varphi(\alpha) \le \varphi(0) + c_1 \alpha \varphi'(0), \qquad |\varphi'(\alpha)| \le c_2 |\varphi'(0)|. \]

    Where values are equal up to rounding the first one is replaced by \(\varphi'(\alpha) \le (2 c_1 - 1) \varphi'(0)\),
    which is the same on quadratics and can still be decided (Hager and Zhang, 2005).

    Each trial asks for one value and one gradient. A bracket is extended until it holds such a step, then shrunk by
    cubic interpolation; a value that is not a number counts as too long a step. If `MOST_TRIALS` do not suffice, the
    result is the longest step seen that is good but too short, which may be 0: then nothing was found. No trial is
    made from a point where d is no direction of descent.

    Arguments:
        value, gradient: those at x.
        first_step: where to begin, > 0.
        flatness: \(c_2\), between \(c_1\) and 1.
    """
    start = Trial(jnp.zeros((), x.dtype), value, dot(gradient, direction))
    rounding = ROUNDING * jnp.finfo(x.dtype).eps * jnp.abs(value)
    nowhere = Trial(*(jnp.full((), jnp.inf, x.dtype) for _ in Trial._fields))

    def unfinished(search: _Search) -> Bool[Array, ""]:
        return ~search.accepted & (search.trials < MOST_TRIALS) & (start.slope < 0)

    def one_more(search: _Search) -> _Search:
        step = search.next_step
        new_value, new_gradient = oracle.value_and_gradient(x + step * direction)
        trial = Trial(step, new_value, dot(new_gradient, direction))
        decreases = (trial.value <= start.value + SUFFICIENT_DECREASE * step * start.slope) | (
            (trial.value <= start.value + rounding) & (trial.slope <= (2 * SUFFICIENT_DECREASE - 1) * start.slope)
        )
        flat = jnp.abs(trial.slope) <= -flatness * start.slope
        too_short = decreases & (trial.slope < 0) & ~flat
        left, right = _choose(too_short, trial, search.left), _choose(too_short, search.right, trial)
        inside = jnp.where(jnp.isinf(right.step), _beyond(search.left, left), _between(left, right, rounding))
        trials = search.trials + 1
        next_step = jnp.where(trials < MOST_TRIALS - 1, inside, left.step)
        return _Search(left, right, trial, new_gradient, next_step, trials, decreases & flat)

    none_yet = _Search(start, nowhere, start, gradient, first_step, jnp.zeros((), jnp.int32), jnp.zeros((), jnp.bool_))
    last = oracle.while_loop(unfinished, one_more, none_yet)
    return Found(*last.current, x + last.current.step * direction, last.gradient, start.slope)


def dot(a: Float[Array, ...], b: Float[Array, ...]) -> Scalar:
    """Inner product of two arrays of the same shape."""
    return jnp.sum(a * b)


def inverse(number: Scalar) -> Scalar:
    """1/number of a positive number; 1 for any other."""
    return 1.0 / jnp.where(number > 0, number, 1.0)


def _choose(condition: Bool[Array, ""], one: Trial, other: Trial) -> Trial:
    return Trial(*(jnp.where(condition, a, b) for a, b in zip(one, other, strict=True)))


def _beyond(before: Trial, left: Trial) -> Scalar:
    """Where the slope would vanish if it went on as between the last two steps, but not too far."""
    length = left.step - before.step
    wanted = length * left.slope / (before.slope - left.slope)
    return left.step + jnp.clip(jnp.where(wanted > 0, wanted, jnp.inf), 0.5 * length, 9.0 * length)


def _between(left: Trial, right: Trial, rounding: Scalar) -> Scalar:
    """The minimizer of the cubic through two trials, or where the slope vanishes if their values are not telling."""
    length = right.step - left.step
    secant = left.slope / (left.slope - right.slope)
    a = left.slope + right.slope - 3 * (right.value - left.value) / length
    b = jnp.sqrt(jnp.maximum(a * a - left.slope * right.slope, 0.0))
    cubic = 1 - (right.slope + b - a) / (right.slope - left.slope + 2 * b)
    equal = (jnp.abs(right.value - left.value) <= rounding) & (right.slope > 0)
    fraction = jnp.where(equal, secant, cubic)
    return left.step + length * jnp.where(jnp.isfinite(fraction), jnp.clip(fraction, 0.1, 0.9), 0.1)
