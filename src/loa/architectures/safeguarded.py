"""A learned algorithm that hands over to a classical one when it stops making progress."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, Scalar

from ..algorithms.algorithm import Algorithm, Aside, Stack, initial_state, stack
from ..messages.arguments import check_type
from ..problems.gaps import norm, prox_residual
from ..problems.oracle import Calls, Oracle
from ..problems.problem_class import whole_number
from ..problems.remembered import Remembered, loss_and_gradient
from .known_answers import Asked, KnownAnswers

PATIENCE = 25
"""Steps without a milestone after which the fallback takes over, unless the learned algorithm has worked for long."""

SHRINKS = 0.99
"""A milestone is a residual, or a loss, that is at most this multiple of the smallest one so far."""

FALLS = 0.7
"""What each deadline asks for: residual or loss is at most this multiple of what the deadline before asks for."""

HALVINGS = 3
"""How often residual or loss must about have been halved by default, each time within twice the patience."""

EXPLODES = 1e6
"""A loss that is larger than the first one by this multiple of it, with a larger gradient, is not waited for."""

EVERY = 4
"""Steps from one look to the next at a residual that the learned algorithm does not ask for itself."""

IN_NOISE = 10
"""How many times longer these steps, and patience, are where gradients are those of mini-batches."""


class Mark(NamedTuple):
    """A point, its loss, and its residual; or the last milestone, with the smallest loss and residual so far."""

    x: Any
    value: Scalar
    residual: Scalar


class Guard(NamedTuple):
    """What a guard remembers: the last milestone, loss and gradient norm at the start, and whether it still trusts."""

    best: Mark
    first_value: Scalar
    first_slope: Scalar
    first_residual: Scalar
    waited: Int[Array, ""]
    time: Int[Array, ""]
    trusted: Bool[Array, ""]


def shrunk(best: Mark, first_residual: Scalar, first_value: Scalar) -> Scalar:
    """Residual or loss at the milestones as a share of what it was at the start, whichever is smaller.

    A loss that was or has become negative says nothing here.
    """
    flatter, lower = best.residual / first_residual, jnp.where(best.value >= 0, best.value / first_value, jnp.inf)
    smallest = jnp.minimum(jnp.nan_to_num(flatter, nan=jnp.inf), jnp.nan_to_num(lower, nan=jnp.inf))
    return jnp.where(smallest < 0, jnp.inf, smallest)


class GuardedState(NamedTuple):
    """The state of the learned algorithm; and beside it the iterate, the guard, and the state of the fallback."""

    learned: Any
    beside: Aside

    @property
    def x(self) -> Any:
        return self.beside.content[0]

    @property
    def guard(self) -> Guard:
        return self.beside.content[1]

    @property
    def fallback(self) -> Any:
        return self.beside.content[2]


class Safeguarded(Algorithm):
    r"""A learned algorithm under a guard: once it stops making progress, a fallback continues from its best point.

    Let r(x) be the norm of the gradient or, for a loss with a non-smooth part, of the proximal residual; for programs,
    ℓ and r are both the larger one of primal and dual residual. An iterate is a **milestone** if
    \(r(x^{(t)}) \le 0.99\, r^*\), or if \(\ell(x^{(t)}) < \ell^* - 0.01 |\ell^*|\), where r* and ℓ* are the smallest
    values so far. If the loss is smooth, that of a milestone must not be above that of the start, which is the first
    milestone. The learned algorithm is in
    control, and its iterates are exactly what they would be without a guard, as long as

    1. the last milestone is at most max(`patience`, t/4) steps ago,
    2. r or ℓ, at the milestones so far, is at most 0.7ᵏ of what it was at the start, for each k whose deadline has
       passed (not with mini-batches), and
    3. iterate, loss and gradient are finite (a loss with a non-smooth part may be +∞), and loss and gradient are not
       both larger than at the start, the loss by a million times its size there.

    When one of these fails, the fallback starts at the last milestone, in the same step, and keeps control. What the
    learned algorithm has in its state by then, infinite numbers included, is never used again.

    **It converges where the fallback does.** Suppose that losses are non-negative, as everywhere in the paper, and that
    the fallback converges from every milestone; for smooth losses, the loss there is not above that of the start. If
    the fallback takes over, it starts at a milestone, after finitely many steps. If it never does, there is no last
    milestone: by 1., each time t ≥ 4 `patience` is followed by one before 4t/3 + 1. Each of them multiplies r* or ℓ* by
    at most 0.99, so that one of the two tends to 0: the milestones become stationary, or optimal.

    **How many steps are lost.** Let D_k be the k-th deadline, and suppose that the fallback takes over when r or ℓ has
    fallen to 0.7ᵏ. By 2., that is at most one step after D_{k+1}. So if the fallback, on its own, needs T steps, T_k of
    them to fall to 0.7ᵏ, and if from a milestone there it needs no more than the T − T_k that it needs from its own,
    then all takes at most T + (D_{k+1} − T_k) + 1 steps. `loa.learning.guard` chooses deadlines such that this is T and
    a tenth on most sample problems. No guard that leaves the iterates alone can promise that on every single problem:
    that the fallback would have been faster on this one shows only by running it.

    **What it costs.** Losses and gradients at the iterate are those that the run looks at anyway, and the learned
    algorithm is charged for what it asks. Further calls are counted: a proximal mapping every 4 steps where there is a
    non-smooth part; a gradient every 4 steps if the learned algorithm asks for none at its iterate; with mini-batches,
    a loss every 40 steps, and patience is 10 times longer. A loss that the learned algorithm does not ask for makes a
    milestone with mini-batches only. As long as the guard has not stepped in, no step of the fallback is computed, not
    in a batch either; a batch in which it has, for one trajectory, computes them for all.

    Arguments:
        learned: the algorithm that is in control first.
        fallback: a classical algorithm, whose convergence can be relied on.
        patience: steps without a milestone that are always tolerated, at least 1.
        deadlines: the numbers of steps, ascending, by which r or ℓ must have fallen to 0.7, 0.7², and so on; by default
            to about a half, a quarter and an eighth, after 2, 4 and 6 times the patience.
    """

    learned: Algorithm
    fallback: Algorithm
    patience: int = eqx.field(static=True, default=PATIENCE)
    deadlines: tuple[int, ...] | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        whole_number("patience", self.patience)
        for each in self.deadlines or ():
            whole_number("a deadline", each)
        if sorted(self.deadlines or ()) != list(self.deadlines or ()):
            raise ValueError(f"deadlines must be ascending, got {self.deadlines}.")

    @property
    def on_vectors(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.learned.on_vectors

    def init(self, oracle: Oracle, x0: Any, key: Key[Array, ""] | None = None) -> GuardedState:
        key = jax.random.key(0) if key is None else key
        if self.fallback.on_vectors and x0.ndim != 1:
            raise TypeError(
                f"{type(self.fallback).__name__} works on vectors and cannot take over from "
                f"{type(self.learned).__name__}, which works on arrays of shape {x0.shape}: choose another fallback."
            )
        learned = initial_state(self.learned, oracle, x0, key)
        uncounted = Oracle(oracle.problem_class, oracle.problem)
        form = eqx.filter_eval_shape(lambda: initial_state(self.fallback, uncounted, x0, key))
        idle = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), form)
        x, zero, none = self.learned.iterate(learned), jnp.zeros((), jnp.int32), jnp.full((), jnp.inf, x0.dtype)
        guard = Guard(Mark(x, none, none), none, none, none, zero, zero, jnp.asarray(True))
        return GuardedState(learned, Aside((x, guard, idle)))

    def step(self, oracle: Oracle, state: GuardedState, key: Key[Array, ""]) -> GuardedState:
        value, gradient = _look(oracle, state.x)
        learned, asked = self._learned_step(oracle, state, value, gradient, key)
        x = self.learned.iterate(learned)
        guard = self._judged(oracle, state, value, gradient, asked)
        guard = guard._replace(trusted=guard.trusted & jnp.isfinite(jnp.sum(x)))
        x, fallback = self._rescued(oracle, state, guard, x, key)
        return GuardedState(learned, Aside((x, guard, fallback)))

    def iterate(self, state: GuardedState) -> Any:
        return state.x

    def recovers(self, state: GuardedState) -> Bool[Array, ""]:
        return state.guard.trusted

    @property
    def _deadlines(self) -> np.ndarray:
        usual = [2 * self.patience * number for number in range(1, HALVINGS + 1) for _ in range(2)]
        return np.asarray(usual if self.deadlines is None else self.deadlines, np.int32)

    def _learned_step(
        self, oracle: Oracle, state: GuardedState, value: Scalar, gradient: Any, key: Key[Array, ""]
    ) -> tuple[Any, Asked]:
        """A step of the learned algorithm, and what it asked for at its iterate.

        It is computed whoever is in control, since a choice would cost a pass over its state, but counted only if it
        matters.
        """
        asked, here, answering = Asked(), self.learned.iterate(state.learned), oracle.problem_class
        if not _is_program(oracle):
            answering = KnownAnswers(answering, here, oracle.problem, value, gradient, asked)
        trusted = state.guard.trusted
        inner = Oracle(answering, oracle.problem, oracle.calls, running=jnp.asarray(oracle.running) & trusted)
        learned = self.learned.step(inner, state.learned, key)
        pairs = zip(inner.calls, oracle.calls, strict=True)
        oracle.calls = Calls(*(jnp.where(trusted, new, old) for new, old in pairs))
        return learned, Asked(value=True, gradient=True) if self.learned.known(state.learned) is not None else asked

    def _judged(self, oracle: Oracle, state: GuardedState, value: Scalar, gradient: Any, asked: Asked) -> Guard:
        """The guard after looking at the iterate: whether it is a milestone, and whether there is reason to wait."""
        guard, slope = state.guard, jnp.zeros_like(value) if gradient is None else norm(gradient)
        first = guard.time == 0
        first_value = jnp.where(first, value, guard.first_value)
        first_slope = jnp.where(first, slope, guard.first_slope)
        residual, seen = self._residual(oracle, state, gradient, slope, asked)
        prox = oracle.problem_class.has("prox")
        level = (value <= first_value) | prox
        flatter = jnp.isfinite(residual) & (residual <= SHRINKS * guard.best.residual) & level
        least = guard.best.value
        lower = seen & (value < jnp.where(jnp.isinf(least), least, least - (1 - SHRINKS) * jnp.abs(least)))
        reached = guard.trusted & (first | flatter | lower)
        best = Mark(
            jnp.where(reached, state.x, guard.best.x),
            jnp.where(reached, jnp.minimum(value, guard.best.value), guard.best.value),
            jnp.where(reached, jnp.minimum(residual, guard.best.residual), guard.best.residual),
        )
        waited = jnp.where(reached, 0, guard.waited + 1)
        patience = self.patience * (IN_NOISE if _is_noisy(oracle) else 1)
        progress = waited <= jnp.maximum(patience, guard.time // 4)
        first_residual = jnp.where(jnp.isinf(guard.first_residual), best.residual, guard.first_residual)
        if gradient is not None:
            wanted = FALLS ** jnp.sum(guard.time >= self._deadlines)
            progress &= shrunk(best, first_residual, first_value) <= wanted
        small = value <= first_value + EXPLODES * jnp.abs(first_value)
        small |= (prox & jnp.isposinf(value)) | (slope < first_slope)
        sound = jnp.isfinite(slope) & ~jnp.isnan(value) & (prox | jnp.isfinite(value)) & small
        trusted = guard.trusted & progress & sound
        return Guard(best, first_value, first_slope, first_residual, waited, guard.time + 1, trusted)

    def _residual(
        self, oracle: Oracle, state: GuardedState, gradient: Any, slope: Scalar, asked: Asked
    ) -> tuple[Scalar, Bool[Array, ""]]:
        """The residual, infinite where it is not due, and whether the loss may be used; both are counted."""
        prox, calls, none = oracle.problem_class.has("prox"), oracle.calls, jnp.full_like(slope, jnp.inf)
        every = EVERY * (IN_NOISE if _is_noisy(oracle) else 1)
        due, seen = state.guard.trusted & (state.guard.time % every == 0), jnp.asarray(asked.value)
        if gradient is None:
            oracle.calls = calls._replace(value=calls.value + (due & ~seen))
            return none, seen | due
        if not prox and asked.gradient:
            return slope, seen
        remembering = Remembered(oracle.problem_class, state.x, oracle.problem, slope, gradient)
        oracle.calls = calls._replace(
            prox=calls.prox + (due & prox), gradient=calls.gradient + (due & (not asked.gradient))
        )
        if not prox:
            return jnp.where(due, slope, none), seen
        residual = prox_residual(
            remembering, state.x, oracle.problem
        )  # the same as that of the criterion, if that has one
        return jnp.where(due, residual, none), seen

    def _rescued(
        self, oracle: Oracle, state: GuardedState, guard: Guard, x: Any, key: Key[Array, ""]
    ) -> tuple[Any, Any]:
        """The iterate and the state of the fallback after a step of it, if that is in control; else both unchanged."""
        fresh = state.guard.trusted & ~guard.trusted

        def begun(oracle: Oracle, carry: tuple[Any, Any]) -> tuple[Any, Any]:
            x, idle = carry
            return x, _like(idle, initial_state(self.fallback, oracle, x, jax.random.fold_in(key, 1)))

        def advanced(oracle: Oracle, carry: tuple[Any, Any]) -> tuple[Any, Any]:
            _, before = oracle.if_needed(fresh, begun, carry)
            after = _like(before, self.fallback.step(oracle, before, key))
            return self.fallback.iterate(after), after

        carry = (jnp.where(guard.trusted, x, guard.best.x), state.fallback)
        return oracle.if_needed(~guard.trusted, advanced, carry)


def safeguard(
    learned: Any, fallback: Any, *, patience: int = PATIENCE, deadlines: tuple[int, ...] | None = None
) -> Any:
    """Guard a learned algorithm by a classical one, which takes over when the learned one stops making progress.

    Arguments:
        learned: an algorithm, or a stack of them, each of which is then guarded in the same way.
        fallback: the classical algorithm.
        patience: steps without progress that are always tolerated, at least 1.
        deadlines: numbers of steps by which residual or loss must have fallen to 0.7, 0.7², and so on, of what it was
            at the start. To choose them and the patience for a class, use `loa.learning.guard`.

    Returns:
        A `loa.architectures.Safeguarded` algorithm, where the rule and its proof are stated; a stack for a stack; the
        algorithm itself if it is its own fallback.

    >>> import loa
    >>> reckless, problem_class = loa.GradientDescent(1.0), loa.problems.Quadratics(dimension=5)
    >>> problems = problem_class.draw(jax.random.key(0), 4)
    >>> guarded = safeguard(reckless, loa.ConjugateGradient())
    >>> setting = dict(criterion=loa.gradient_norm_below(1e-3), horizon=50, key=jax.random.key(1))
    >>> [float((loa.evaluate(each, problem_class, problems, **setting).outcome == "solved").mean())
    ...  for each in (reckless, guarded)]
    [0.0, 1.0]
    """
    check_type("learned", learned, Algorithm | Stack, "a loa.Algorithm or a stack of them")
    check_type("fallback", fallback, Algorithm, "one loa.Algorithm")
    if isinstance(learned, Stack):
        setting: Any = dict(patience=patience, deadlines=deadlines)
        return stack((safeguard(learned[k], fallback, **setting) for k in range(len(learned))), learned.weights)
    if bool(eqx.tree_equal(learned, fallback)):
        return learned
    return Safeguarded(learned, fallback, patience, deadlines)


def _look(oracle: Oracle, x: Any) -> tuple[Scalar, Any]:
    """Loss and gradient at an iterate, which a run looks at anyway; no gradient where mini-batches are used."""
    if _is_noisy(oracle):
        return oracle.problem_class.loss(x, oracle.problem), None
    if _is_program(oracle):
        gap = oracle.problem_class.merit()  # pyright: ignore[reportAttributeAccessIssue]
        merit = gap(oracle.problem_class, x, oracle.problem)
        return merit, merit
    return loss_and_gradient(oracle.problem_class, x, oracle.problem)


def _like(form: Any, state: Any) -> Any:
    """A state with the types that it begins with."""
    return jax.tree.map(lambda leaf, new: jnp.asarray(new, leaf.dtype), form, state)


def _is_program(oracle: Oracle) -> bool:
    """Whether the loss is a Lagrangian, which has no minimum, so that the class has a merit to compare points by."""
    return hasattr(oracle.problem_class, "merit")


def _is_noisy(oracle: Oracle) -> bool:
    return oracle.problem_class.has("stochastic_loss")
