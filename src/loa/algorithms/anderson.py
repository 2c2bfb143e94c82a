"""The proximal gradient method with Anderson acceleration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Scalar

from ..messages.arguments import parameter
from ..problems.gaps import norm
from ..problems.oracle import Oracle
from ..problems.problem_class import whole_number
from .algorithm import Algorithm
from .line_search import dot


class History(NamedTuple):
    """The last m changes of residuals, those of residuals and points together, and the products of the former.

    The newest comes first. Each is an array of its own, and each product a number: XLA then computes with all of them
    in one pass, which takes three quarters of the time that matrices take.
    """

    changes: tuple[Float[Array, ...], ...]
    joint: tuple[Float[Array, ...], ...]
    products: tuple[tuple[Scalar, ...], ...]

    @staticmethod
    def none(memory: int, like: Float[Array, ...]) -> History:
        rows, zero = (jnp.zeros_like(like),) * memory, jnp.zeros((), like.dtype)
        return History(rows, rows, ((zero,) * memory,) * memory)

    def added(self, move: Float[Array, ...], change: Float[Array, ...]) -> History:
        """With one more difference, in the place of the oldest."""
        changes = (change, *self.changes[:-1])
        new = tuple(dot(change, each) for each in changes)
        older = zip(new[1:], self.products, strict=False)
        products = (new, *((product, *row[:-1]) for product, row in older))
        return History(changes, (move + change, *self.joint[:-1]), products)


class Accelerated(NamedTuple):
    """The points before and after the proximal mapping, what came before them, and what to fall back to."""

    y: Float[Array, ...]
    x: Float[Array, ...]
    previous_y: Float[Array, ...]
    previous_residual: Float[Array, ...]
    history: History
    reached: Scalar
    back: Float[Array, ...]


class AndersonProximalGradient(Algorithm):
    r"""The proximal gradient method for a loss f + g, extrapolated from its last m steps.

    The method looks for a fixed point of \(G(y) = x - \beta \nabla f(x)\), where \(x = \mathrm{prox}_{\beta g}(y)\) and
    \(\beta = e^s / L\). With the residuals \(r = G(y) - y\) and the differences \(\Delta y, \Delta r\) of the last m
    steps,

    \[ y^{(t+1)} = G(y^{(t)}) - \sum_i \gamma_i (\Delta y_i + \Delta r_i), \qquad
       \gamma = \arg\min_\gamma \big\| r^{(t)} - \sum_i \gamma_i \Delta r_i \big\|^2
       + \eta \sum_i \gamma_i^2 \|\Delta r_i\|^2. \]

    If \(\|r\|\) is then more than `progress` times the smallest so far, the extrapolation is taken back, and a proximal
    gradient step is made from the point with the smallest. Such a step never increases \(\|r\|\). With progress 1 the
    method is at worst half as fast as the proximal gradient method; in practice a larger progress is faster.

    A step takes one gradient and one proximal mapping, and m d operations more. It needs no second derivatives, so it
    suits problems with many unknowns. h = (s, log η, log progress).

    Arguments:
        log_step: s; the method converges for \(e^s < 2\).
        log_regularization: log η.
        log_progress: the logarithm of the progress, the factor by which the residual may exceed the smallest so far.
        memory: m, a whole number of at least 1.

    Reference: Mai and Johansson, *Anderson acceleration of proximal gradient methods*, 2020.

    >>> import jax, loa
    >>> lasso = loa.problems.Lasso(rows=6, columns=9)
    >>> problems = lasso.draw(jax.random.key(0), 3)
    >>> losses = loa.trajectories(AndersonProximalGradient(), lasso, problems, horizon=20, key=jax.random.key(1)).losses
    >>> bool((losses[..., -1] < losses[..., 0]).all())
    True
    """

    log_step: Float[Array, ""] = eqx.field(converter=parameter("log_step"), default=0.0)
    log_regularization: Float[Array, ""] = eqx.field(converter=parameter("log_regularization"), default=-18.0)
    log_progress: Float[Array, ""] = eqx.field(converter=parameter("log_progress"), default=0.7)
    memory: int = eqx.field(static=True, default=4)

    def __check_init__(self):
        whole_number("memory", self.memory)

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> Accelerated:
        history = History.none(self.memory, x0)
        return Accelerated(x0, x0, x0, jnp.zeros_like(x0), history, jnp.full((), jnp.inf, x0.dtype), x0)

    def step(self, oracle: Oracle, state: Accelerated, key: Key[Array, ""]) -> Accelerated:
        y, x, beta = state.y, state.x, jnp.exp(self.log_step) / oracle.smoothness()
        forward = x - beta * oracle.gradient(x)
        residual = forward - y
        length = norm(residual)
        better = length <= jnp.exp(self.log_progress) * state.reached
        begun = jnp.where(jnp.isinf(state.reached), 0.0, 1.0).astype(x.dtype)  # there is no difference at first
        history = state.history.added(begun * (y - state.previous_y), begun * (residual - state.previous_residual))
        right = [dot(change, residual) for change in history.changes]
        shares = _solved(history.products, right, jnp.exp(self.log_regularization))
        ahead = forward - sum(share * each for share, each in zip(shares, history.joint, strict=True))
        back = jnp.where(length <= state.reached, forward, state.back)
        ahead = jnp.where(better & jnp.isfinite(sum(shares)), ahead, back)
        return Accelerated(
            y=ahead,
            x=oracle.prox(ahead, beta),
            previous_y=y,
            previous_residual=residual,
            history=history,
            reached=jnp.minimum(length, state.reached),
            back=back,
        )

    def iterate(self, state: Accelerated) -> Float[Array, ...]:
        return state.x


def _solved(products: Sequence[Sequence[Scalar]], right: Sequence[Scalar], ridge: Scalar) -> list[Scalar]:
    """The solution of a few regularized normal equations, by elimination; rows without content get zero."""
    rows, right, size = [list(row) for row in products], list(right), len(right)
    for i in range(size):
        rows[i][i] = jnp.where(rows[i][i] > 0, rows[i][i] * (1.0 + ridge), 1.0)
    for i in range(size):
        for j in range(i + 1, size):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [below - factor * above for below, above in zip(rows[j], rows[i], strict=True)]
            right[j] = right[j] - factor * right[i]
    shares: list[Scalar] = []
    for i in reversed(range(size)):
        known = sum(each * share for each, share in zip(rows[i][i + 1 :], shares, strict=True))
        shares.insert(0, (right[i] - known) / rows[i][i])
    return shares
