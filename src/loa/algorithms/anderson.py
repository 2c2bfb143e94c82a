"""The proximal gradient method with Anderson acceleration."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Scalar

from ..messages.arguments import parameter
from ..problems.gaps import norm
from ..problems.oracle import Oracle
from .algorithm import Algorithm


class History(NamedTuple):
    """The last m differences of points and of residuals, the products of the latter, and the next row to replace."""

    moves: Float[Array, "m d"]
    changes: Float[Array, "m d"]
    products: Float[Array, "m m"]
    row: Int[Array, ""]

    @staticmethod
    def none(memory: int, like: Float[Array, " d"]) -> History:
        rows = jnp.zeros((memory, like.size), like.dtype)
        return History(rows, rows, jnp.zeros((memory, memory), like.dtype), jnp.zeros((), jnp.int32))

    def added(self, move: Float[Array, " d"], change: Float[Array, " d"]) -> History:
        """With one more difference, in the place of the oldest."""
        here = jnp.arange(len(self.moves)) == self.row
        changes = jnp.where(here[:, None], change, self.changes)
        products = changes @ change
        table = jnp.where(here[:, None], products, jnp.where(here[None, :], products[:, None], self.products))
        moves = jnp.where(here[:, None], move, self.moves)
        return History(moves, changes, table, (self.row + 1) % len(self.moves))


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
    memory: int = eqx.field(static=True, default=3)

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> Accelerated:
        nothing, history = jnp.zeros_like(x0), History.none(self.memory, x0.ravel())
        return Accelerated(x0, x0, x0, nothing, history, jnp.full((), jnp.inf, x0.dtype), x0)

    def step(self, oracle: Oracle, state: Accelerated, key: Key[Array, ""]) -> Accelerated:
        y, x, beta = state.y, state.x, jnp.exp(self.log_step) / oracle.smoothness()
        forward = x - beta * oracle.gradient(x)
        residual = forward - y
        length = norm(residual)
        better = length <= jnp.exp(self.log_progress) * state.reached
        changed = state.history.added((y - state.previous_y).ravel(), (residual - state.previous_residual).ravel())
        first = jnp.isinf(state.reached)
        history = History(*(jnp.where(first, old, new) for old, new in zip(state.history, changed, strict=True)))
        shares = _solved(history.products, history.changes @ residual.ravel(), jnp.exp(self.log_regularization))
        ahead = forward - (shares @ (history.moves + history.changes)).reshape(y.shape)
        back = jnp.where(length <= state.reached, forward, state.back)
        ahead = jnp.where(better & jnp.all(jnp.isfinite(ahead)), ahead, back)
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


def _solved(matrix: Float[Array, "m m"], right: Float[Array, " m"], ridge: Scalar) -> Float[Array, " m"]:
    """The solution of a few regularized normal equations, by elimination; rows without content get zero."""
    size = jnp.diagonal(matrix)
    scale = jnp.where(size > 0, 1.0 / jnp.sqrt(jnp.where(size > 0, size, 1.0)), 0.0)
    table = jnp.concatenate([matrix * scale[:, None] * scale, (right * scale)[:, None]], axis=1)
    table = table + jnp.eye(len(size), len(size) + 1, dtype=table.dtype) * jnp.where(size > 0, ridge, 1.0)[:, None]
    for row in range(len(size)):
        pivot = table[row] / table[row, row]
        table = (table - table[:, row, None] * pivot).at[row].set(pivot)
    return scale * table[:, -1]
