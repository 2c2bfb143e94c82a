"""The limited-memory BFGS method."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Scalar

from ..messages.arguments import is_number, shown
from ..problems.oracle import Oracle
from ..problems.problem_class import whole_number
from .algorithm import Algorithm
from .compact_bfgs import by_row, oldest_first, weights_of_gradients, weights_of_steps
from .line_search import SUFFICIENT_DECREASE, Found, dot, inverse, line_search


class Memory(NamedTuple):
    r"""The last m pairs of a change s of the point and the change y of the gradient that came with it.

    Pair number n = 0, 1, … is in row n mod m of S and Y, over the oldest one; rows never written count as oldest. With
    the pairs are kept their inner products with each other, of which \(s_i^\top y_j\) where pair j is not older than i,
    and with the gradient g at the current point. So a step takes two passes over the pairs, one to add them up to
    a direction and one for their products with the new gradient, both of them matrix-vector products.
    """

    S: Float[Array, "m d"]
    Y: Float[Array, "m d"]
    SY: Float[Array, "m m"]
    YY: Float[Array, "m m"]
    Sg: Float[Array, " m"]
    Yg: Float[Array, " m"]
    scale: Scalar
    written: Int[Array, ""]

    @staticmethod
    def empty(size: int, gradient: Float[Array, " d"]) -> Memory:
        rows, square, column = (jnp.zeros((size, *rest), gradient.dtype) for rest in ((gradient.size,), (size,), ()))
        written = jnp.zeros((), jnp.int32)
        return Memory(rows, rows, square, square, column, column, unit_scale(gradient), written)

    def direction(self, gradient: Float[Array, " d"]) -> Float[Array, " d"]:
        r"""\(-Hg\), where H is the BFGS matrix that the pairs make of γI, in its compact representation.

        As \(H_0 = \gamma I\), \(Y^\top H_0 (g - Y u) = \gamma (Y^\top g - Y^\top Y u)\) needs no pass over the pairs.
        """
        size = self.num_rows
        age = oldest_first(self.written, size)
        filled = jnp.arange(size) >= size - self.written
        R = jnp.where(filled, jnp.triu(self.SY[age][:, age]), jnp.eye(size, dtype=gradient.dtype))
        u = weights_of_gradients(R, self.Sg[age])
        w = weights_of_steps(R, u, self.scale * (self.Yg[age] - self.YY[age][:, age] @ u))
        u, w = by_row(u, age), by_row(w, age)
        return -self.scale * (gradient - u @ self.Y) - w @ self.S

    def after(self, s: Float[Array, " d"], y: Float[Array, " d"], gradient: Float[Array, " d"], found: Found) -> Memory:
        """What to remember at the next point: its gradient, and the pair that led there if its curvature is positive.

        Nothing but the gradient if the search failed.
        """
        failed = found.step == 0
        rows = jnp.arange(self.num_rows)
        filled = (rows < self.written) & ~failed
        Sg, Yg = jnp.where(filled, self.S @ gradient, 0.0), jnp.where(filled, self.Y @ gradient, 0.0)
        gain, square = found.step * (found.slope - found.first_slope), dot(y, y)
        good = gain > -jnp.finfo(s.dtype).eps * found.step * found.first_slope
        good &= jnp.isfinite(jnp.sum(Sg + Yg))  # also puts the products before the writing, which is then in place
        new = good & (rows == self.written % rows.size)
        Sy, Yy = jnp.where(new, gain, Sg - self.Sg), jnp.where(new, square, Yg - self.Yg)
        return Memory(
            S=jnp.where(new[:, None], s, self.S),
            Y=jnp.where(new[:, None], y, self.Y),
            SY=jnp.where(new, Sy[:, None], self.SY),
            YY=jnp.where(new, Yy[:, None], jnp.where(new[:, None], Yy, self.YY)),
            Sg=jnp.where(new, found.step * found.slope, Sg),
            Yg=jnp.where(new, dot(y, gradient), Yg),
            scale=jnp.where(good, gain * inverse(square), jnp.where(failed, unit_scale(gradient), self.scale)),
            written=jnp.where(failed, 0, self.written + good),
        )

    @property
    def num_rows(self) -> int:
        return self.SY.shape[0]


class LBFGSState(NamedTuple):
    """The point with its loss and gradient, and what is remembered of earlier steps."""

    x: Float[Array, ...]
    value: Scalar
    gradient: Float[Array, ...]
    memory: Memory


class LBFGS(Algorithm):
    r"""The limited-memory BFGS method, a quasi-Newton method without parameters to learn.

    \(x^{(t+1)} = x^{(t)} - \alpha^{(t)} H^{(t)} \nabla \ell(x^{(t)}, \theta)\), with h empty.

    H is what m updates of the BFGS method make of a multiple γ of the identity, one for each of the last pairs
    \(s = x^{(t+1)} - x^{(t)}\), \(y = \nabla \ell(x^{(t+1)}, \theta) - \nabla \ell(x^{(t)}, \theta)\), oldest first:

    \[ H \leftarrow (I - \rho s y^\top) H (I - \rho y s^\top) + \rho s s^\top, \qquad
       \rho = \frac{1}{\langle s, y \rangle}, \qquad \gamma = \frac{\langle s, y \rangle}{\|y\|^2}
       \text{ of the last pair.} \]

    α satisfies the strong Wolfe conditions; 1 is tried first, so that most steps take one value and one gradient.
    A pair without positive curvature \(\langle s, y \rangle\) is left out. If nothing is found along a direction, the
    point stays, the pairs are forgotten, and the next direction is that of the gradient, as in the first step.

    Arguments:
        memory: m, how many pairs are kept; at least 1.
        flatness: how much of the slope along a direction the line search may leave, the constant \(c_2 < 1\) of the
            Wolfe conditions. A smaller one makes fewer but more expensive steps.

    References: Nocedal, *Updating quasi-Newton matrices with limited storage*, 1980; Byrd, Nocedal and Schnabel,
    *Representations of quasi-Newton matrices and their use in limited memory methods*, 1994.

    >>> import jax, loa
    >>> rosenbrock = loa.problems.Rosenbrock(dimension=2)
    >>> problems = rosenbrock.draw(jax.random.key(0), 3)
    >>> losses = loa.trajectories(LBFGS(), rosenbrock, problems, horizon=100, key=jax.random.key(1)).losses
    >>> bool((losses[..., -1] < 1e-6).all())
    True
    """

    memory: int = eqx.field(static=True, default=10)
    flatness: float = eqx.field(static=True, default=0.9)

    def __check_init__(self):
        whole_number("memory", self.memory)
        if not (is_number(self.flatness) and SUFFICIENT_DECREASE < self.flatness < 1):
            raise ValueError(f"flatness must be between {SUFFICIENT_DECREASE} and 1, got {shown(self.flatness)}.")

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> LBFGSState:
        value, gradient = oracle.value_and_gradient(x0)
        return LBFGSState(x0, value, gradient, Memory.empty(self.memory, gradient.ravel()))

    def step(self, oracle: Oracle, state: LBFGSState, key: Key[Array, ""]) -> LBFGSState:
        x, value, gradient, memory = state
        direction = memory.direction(gradient.ravel()).reshape(x.shape)
        found = line_search(oracle, x, direction, value, gradient, jnp.ones((), x.dtype), self.flatness)
        s, y = (found.step * direction).ravel(), (found.gradient - gradient).ravel()
        return LBFGSState(found.x, found.value, found.gradient, memory.after(s, y, found.gradient.ravel(), found))

    def resumed(self, oracle: Oracle, state: LBFGSState) -> LBFGSState:
        value, gradient = oracle.value_and_gradient(state.x)
        memory, flat = state.memory, gradient.ravel()
        memory = memory._replace(Sg=memory.S @ flat, Yg=memory.Y @ flat)
        return LBFGSState(state.x, value, gradient, memory)

    def iterate(self, state: LBFGSState) -> Float[Array, ...]:
        return state.x

    def known(self, state: LBFGSState) -> tuple[Scalar, Float[Array, ...]]:
        return state.value, state.gradient


def unit_scale(gradient: Float[Array, ...]) -> Scalar:
    """The γ that makes the first direction a unit vector."""
    return inverse(jnp.sqrt(dot(gradient, gradient)))
