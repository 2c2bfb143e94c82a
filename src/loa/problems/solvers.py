"""Two solvers that run until a proof of accuracy stops them, for problem classes that know how far they are.

They serve `loa.problems.with_optimal_losses`. As algorithms to be compared, use those of `loa.algorithms`: these here
count no oracle calls, look at the class directly, and go to the limits of floating-point numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Scalar

from .problem_class import ProblemClass

STEPS_PER_CHECK = 50
"""How many steps are made before accuracy is looked at, which may cost more than a step."""

MAX_CHECKS = 400
"""After 20 000 steps a solver gives up."""

MEMORY = 8
"""How many pairs L-BFGS keeps."""

TRIALS = 30
"""The most steps that a line search tries."""


def attainable_accuracy(loss: Any) -> Any:
    r"""How closely a minimum can be asked for: 500 units in the last place of \(\max(1, |\ell|)\)."""
    return 500 * jnp.finfo(jnp.result_type(loss)).eps * jnp.maximum(1.0, jnp.abs(loss))


def solve(problem_class: Any, problems: Any) -> tuple[Float[Array, "problem ..."], Float[Array, " problem"]]:
    """Points at which `suboptimality` of each problem is as small as floats allow, or the best seen; and what it is.

    Accelerated proximal gradient for a class with a `prox`; else L-BFGS, which also brings the norm of the gradient
    below \\(64 \\sqrt{\\epsilon}\\), 1e-6 in float64.
    """
    method = LBFGS if type(problem_class).prox is ProblemClass.prox else AcceleratedProximalGradient
    x0 = jax.vmap(lambda problem: problem_class.start(problem, jax.random.key(0)))(problems)

    def check(x: Array, problem: Any) -> tuple[Scalar, Bool[Array, ""]]:
        error = problem_class.suboptimality(x, problem)
        solved = error <= attainable_accuracy(problem_class.loss(x, problem))
        if method is LBFGS:
            gradient = problem_class.gradient(x, problem)
            solved &= _inner(gradient, gradient) <= 64.0**2 * jnp.finfo(x.dtype).eps
        return error, ~solved

    def steps(carry: Any) -> Any:
        states, best, errors, unsolved, checks = carry

        def step(index: Int[Array, ""], states: Any) -> Any:
            def one(problem: Any, state: Any, unsolved: Bool[Array, ""]) -> Any:
                return method.step(problem_class, problem, state, unsolved, index % MEMORY)

            return jax.vmap(one)(problems, states, unsolved)

        first = checks * STEPS_PER_CHECK
        states = jax.lax.fori_loop(first, first + STEPS_PER_CHECK, step, states)
        new_errors, still = jax.vmap(check)(states.x, problems)
        better = unsolved & (~still | (new_errors < errors))
        best = jax.vmap(jnp.where)(better, states.x, best)
        return states, best, jnp.where(better, new_errors, errors), unsolved & still, checks + 1

    def unfinished(carry: Any) -> Bool[Array, ""]:
        return jnp.any(carry[3]) & (carry[4] < MAX_CHECKS)

    states = jax.vmap(lambda problem, x: method.begin(problem_class, problem, x))(problems, x0)
    size = x0.shape[:1]
    carry = (states, x0, jnp.full(size, jnp.inf, x0.dtype), jnp.ones(size, bool), jnp.zeros((), jnp.int32))
    return jax.lax.while_loop(unfinished, steps, carry)[1:3]


class AcceleratedProximalGradient(NamedTuple):
    """FISTA with step 1/L whose momentum starts afresh when it points uphill (O'Donoghue and Candès, 2015)."""

    x: Array
    ahead: Array
    t: Scalar

    @staticmethod
    def begin(problem_class: Any, problem: Any, x: Array) -> AcceleratedProximalGradient:
        return AcceleratedProximalGradient(x, x, jnp.ones((), x.dtype))

    @staticmethod
    def step(
        problem_class: Any, problem: Any, state: AcceleratedProximalGradient, unsolved: Any, slot: Any
    ) -> AcceleratedProximalGradient:
        x, ahead, t = state
        step_size = 1.0 / problem_class.smoothness(problem)
        new = problem_class.prox(ahead - step_size * problem_class.gradient(ahead, problem), step_size, problem)
        restart = _inner(ahead - new, new - x) > 0
        t = jnp.where(restart, 1.0, t)
        new_t = 0.5 * (1.0 + jnp.sqrt(1.0 + 4.0 * t * t))
        momentum = jnp.where(restart, 0.0, (t - 1.0) / new_t)
        return AcceleratedProximalGradient(new, new + momentum * (new - x), new_t)


class LBFGS(NamedTuple):
    """L-BFGS for convex losses, whose line search looks at slopes, which rounding spoils later than values.

    `moves` and `changes` (S and Y) are the last steps and what they did to the gradient; `moves_changes` and
    `changes_changes` hold their inner products (of moves with later changes), so that a step reads S and Y only twice.
    """

    x: Array
    value: Scalar
    gradient: Array
    direction: Array
    moves: Float[Array, "memory d"]
    changes: Float[Array, "memory d"]
    moves_changes: Float[Array, "memory memory"]
    changes_changes: Float[Array, "memory memory"]

    @staticmethod
    def begin(problem_class: Any, problem: Any, x: Array) -> LBFGS:
        value, gradient = problem_class.loss(x, problem), problem_class.gradient(x, problem)
        direction = -gradient / jnp.maximum(1.0, jnp.sqrt(_inner(gradient, gradient)))
        history, products = jnp.zeros((MEMORY, x.size), x.dtype), jnp.zeros((MEMORY, MEMORY), x.dtype)
        return LBFGS(x, value, gradient, direction, history, history, products, products)

    @staticmethod
    def step(problem_class: Any, problem: Any, state: LBFGS, unsolved: Any, slot: Any) -> LBFGS:
        """One step; the oldest pair, which is in `slot`, makes room for the new one."""
        x, value, gradient = _line_search(problem_class, problem, state, jnp.where(unsolved, state.direction, 0.0))
        new = jnp.stack([gradient - state.gradient, gradient]).reshape(2, -1)
        moves = jax.lax.dynamic_update_index_in_dim(state.moves, (x - state.x).ravel(), slot, 0)
        changes = jax.lax.dynamic_update_index_in_dim(state.changes, new[0], slot, 0)
        with_moves, with_changes = moves @ new.T, changes @ new.T
        moves_changes = state.moves_changes.at[:, slot].set(with_moves[:, 0])
        changes_changes = state.changes_changes.at[:, slot].set(with_changes[:, 0]).at[slot].set(with_changes[:, 0])
        own, s, y = _inverse_hessian(moves_changes, changes_changes, with_moves[:, 1], with_changes[:, 1], slot)
        direction = -(own * gradient + (s @ moves + y @ changes).reshape(x.shape))
        direction = jnp.where(_inner(direction, gradient) < 0, direction, -gradient)
        return LBFGS(x, value, gradient, direction, moves, changes, moves_changes, changes_changes)


def _inverse_hessian(sy: Array, yy: Array, s_gradient: Array, y_gradient: Array, slot: Any) -> tuple[Any, Any, Any]:
    r"""The approximate inverse Hessian times the gradient g, as coefficients of g and of the rows of S and Y.

    \(H g = \gamma g + S^\top R^{-\top} ((D + \gamma Y Y^\top) p - \gamma Y g) - \gamma Y^\top p\) with
    \(p = R^{-1} S g\), R and D the upper triangle and the diagonal of \(S Y^\top\), oldest pair first, and
    \(\gamma = \langle s, y \rangle / \|y\|^2\) of the newest pair (Byrd, Nocedal and Schnabel, 1994).
    """
    order = (slot + 1 + jnp.arange(MEMORY)) % MEMORY
    sy, yy, s_gradient, y_gradient = sy[order][:, order], yy[order][:, order], s_gradient[order], y_gradient[order]
    usable = jnp.diagonal(sy) > 0
    both = usable[:, None] & usable
    upper, yy = jnp.where(both, jnp.triu(sy), jnp.eye(MEMORY, dtype=sy.dtype)), jnp.where(both, yy, 0.0)
    s_gradient, y_gradient = jnp.where(usable, s_gradient, 0.0), jnp.where(usable, y_gradient, 0.0)
    gamma = jnp.where(usable[-1], sy[-1, -1] / jnp.where(usable[-1], yy[-1, -1], 1.0), 1.0)
    p = jax.scipy.linalg.solve_triangular(upper, s_gradient)
    inner = jnp.diagonal(upper) * p + gamma * (yy @ p - y_gradient)
    s = jax.scipy.linalg.solve_triangular(upper, inner, trans=1)
    back = (jnp.arange(MEMORY) - slot - 1) % MEMORY
    return gamma, jnp.where(usable, s, 0.0)[back], (-gamma * p)[back]


def _line_search(problem_class: Any, problem: Any, state: LBFGS, direction: Array) -> tuple[Array, Scalar, Array]:
    """Bisection for a step at which the slope has fallen to at most 0.8 of what it was, and the value has not risen.

    Returns the new point, with value and gradient; the old one if there is no such step.
    """
    slope = _inner(direction, state.gradient)
    highest = state.value + attainable_accuracy(state.value)

    def attempt(carry: Any) -> Any:
        low, high, length, *_, trials = carry
        x = state.x + length * direction
        value, gradient = problem_class.loss(x, problem), problem_class.gradient(x, problem)
        new_slope = _inner(direction, gradient)
        too_long = ~((new_slope <= -0.8 * slope) & (value <= highest))
        too_short = ~too_long & (new_slope < 0.9 * slope)
        low, high = jnp.where(too_short, length, low), jnp.where(too_long, length, high)
        longer = jnp.where(jnp.isinf(high), 2.0 * length, 0.5 * (low + high))
        return low, high, longer, (x, value, gradient), too_long, too_long | too_short, trials + 1

    here = (state.x, state.value, state.gradient)
    one, yes = jnp.ones((), direction.dtype), jnp.asarray(True)
    carry = jax.lax.while_loop(
        lambda carry: carry[5] & (carry[6] < TRIALS), attempt, (0.0 * one, jnp.inf * one, one, here, yes, yes, 0)
    )
    return jax.tree.map(lambda old, new: jnp.where(carry[4], old, new), here, carry[3])


def _inner(left: Array, right: Array) -> Scalar:
    return jnp.sum(left * right)
