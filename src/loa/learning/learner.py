"""The inner loop of training: many problems advanced in parallel, one gradient step on what a segment cost them."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Int, Key, Num, Scalar

from ..algorithms.algorithm import Algorithm
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass, count_problems
from ..trajectory.functionals import Functional, Indicator
from ..trajectory.job import is_sound, where
from ..trajectory.walk import Walk
from .objective import Objective, OverSegments, Segment, Slot

CLIPPED_ADAM = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam())
"""How steps of training descend, unless told otherwise."""


@functools.cache  # functions are compared by identity: with others, the same training would be compiled again
def decaying(learning_rate: float, steps: int) -> optax.Schedule:
    """A learning rate that decays along a cosine to a hundredth of itself."""
    return optax.cosine_decay_schedule(learning_rate, steps, alpha=0.01)


@functools.cache
def solved_within(horizon: int) -> Indicator:
    """The property that a problem is solved within the horizon."""
    return Indicator("solved", lambda tau: tau <= horizon)


class Learner(NamedTuple):
    """Everything that changes while training, and so everything a checkpoint holds."""

    parameters: Any
    average: Any
    optimizer_state: Any
    slots: Slot
    step: Int[Array, ""]
    caution: Scalar


class Tally(NamedTuple):
    """Sums over some training steps: the objective, steps that counted, gradients left out and zero, problems moved."""

    value: Scalar
    steps: Int[Array, ""]
    left_out: Int[Array, ""]
    silent: Int[Array, ""]
    moved: Scalar


class Recipe(eqx.Module):
    """Everything that stays fixed while training."""

    form: Algorithm
    problem_class: ProblemClass
    criterion: Criterion
    objective: Objective
    optimizer: optax.GradientTransformation = eqx.field(static=True)
    schedule: optax.Schedule = eqx.field(static=True)
    batch: int = eqx.field(static=True)
    restart: float = eqx.field(static=True)
    averaging: float = eqx.field(static=True)

    def algorithm(self, parameters: Any) -> Algorithm:
        return eqx.combine(parameters, self.form)

    def begin(self, parameters: Any, pool: Any, key: Key[Array, ""]) -> Learner:
        """A learner that has not learned anything yet."""
        step = jnp.zeros((), jnp.int32)
        slots = self._fresh_slots(parameters, pool, jax.random.fold_in(key, 0xF1257))
        return Learner(parameters, parameters, self.optimizer.init(parameters), slots, step, jnp.ones(()))

    def again(self, learner: Learner, parameters: Any, pool: Any, key: Key[Array, ""]) -> Learner:
        """A learner set back to earlier parameters, more careful than before."""
        fresh = self.begin(parameters, pool, jax.random.fold_in(key, learner.step))
        return fresh._replace(step=learner.step, caution=learner.caution / 2)

    def step(self, learner: Learner, pool: Any, key: Key[Array, ""]) -> tuple[Learner, Tally]:
        """One segment on every slot, one step of the optimizer, and new problems for the slots that are done."""
        key = jax.random.fold_in(key, learner.step)
        segment_keys = jax.random.split(jax.random.fold_in(key, 0), self.batch)

        def cost(parameters: Any) -> tuple[Scalar, Segment]:
            algorithm = self.algorithm(parameters)

            def one(slot: Slot, key: Key[Array, ""]) -> Segment:
                return self.objective(algorithm, self.problem_class, self.criterion, slot, key)

            segments = jax.vmap(one)(learner.slots, segment_keys)
            return _mean(segments.value, segments.counts), segments

        gradient, segments = jax.grad(cost, has_aux=True)(learner.parameters)
        finite = segments.counts & jnp.isfinite(segments.value)
        size = optax.tree.norm(gradient)
        usable, silent = jnp.isfinite(size), size == 0
        parameters, optimizer_state = self._descend(learner, gradient, usable)
        average = jax.tree.map(
            lambda mean, new: self.averaging * mean + (1 - self.averaging) * new, learner.average, parameters
        )
        slots, moved = self._refill(learner.slots, segments.state, parameters, pool, jax.random.fold_in(key, 1))
        steps, left_out, silent = (flag.astype(jnp.int32) for flag in (usable, ~usable, silent))
        tally = Tally(jnp.where(usable, _mean(segments.value, finite), 0.0), steps, left_out, silent, moved)
        return Learner(parameters, average, optimizer_state, slots, learner.step + 1, learner.caution), tally

    def program(self, learner: Learner, pool: Any, key: Key[Array, ""], constraint: Functional) -> str:
        """The text of what is computed in a step of training and for the constraint, apart from the arrays in it.

        It tells one run from another, whatever functions algorithm, problems, objective and optimizer are made of.
        """

        def one(parameters: Any, slots: Slot) -> Segment:
            slot = jax.tree.map(lambda leaf: leaf[0], slots)
            measured = OverSegments(constraint)
            return measured(self.algorithm(parameters), self.problem_class, self.criterion, slot, key)

        training: Any = advance
        texts = (
            training.lower((self, pool, key), learner, 1).as_text(),
            eqx.filter_jit(one).lower(learner.parameters, learner.slots).as_text(),  # pyright: ignore
        )
        return "".join(texts)

    def _descend(self, learner: Learner, gradient: Any, usable: Bool[Array, ""]) -> tuple[Any, Any]:
        """A step of the optimizer; none if the gradient is not finite."""
        updates, optimizer_state = self.optimizer.update(gradient, learner.optimizer_state, learner.parameters)
        rate = learner.caution * self.schedule(learner.step)
        parameters = jax.tree.map(lambda p, u: (p - rate * u).astype(p.dtype), learner.parameters, updates)
        return where(usable, (parameters, optimizer_state), (learner.parameters, learner.optimizer_state))

    def _refill(self, slots: Slot, states: Any, parameters: Any, pool: Any, key: Key[Array, ""]) -> tuple[Slot, Scalar]:
        """The slots after their segment, with new problems where they are solved, diverged, or by chance."""
        algorithm = self.algorithm(parameters)

        def point(state: Any, problem: Any) -> Any:
            return Walk(algorithm, self.problem_class, problem).point(state)

        before, after = (jax.vmap(point)(each, slots.problem) for each in (slots.state, states))
        finite = jax.vmap(lambda x, problem: is_sound(self.problem_class.loss(x, problem), x))(after, slots.problem)
        solved = jax.vmap(lambda x, problem: self.criterion(self.problem_class, x, problem))(after, slots.problem)
        by_chance = jax.random.bernoulli(jax.random.fold_in(key, 0), self.restart, (self.batch,))
        done = solved | ~finite | by_chance
        old = Slot(slots.problem, states, slots.time + self.objective.length)
        moved = jnp.mean(jax.vmap(_differ)(before, after))

        def refill() -> Slot:
            fresh = self._fresh_slots(parameters, pool, jax.random.fold_in(key, 1))
            return jax.vmap(where)(done, fresh, old)

        return jax.lax.cond(jnp.any(done), refill, lambda: old), moved

    def _fresh_slots(self, parameters: Any, pool: Any, key: Key[Array, ""]) -> Slot:
        algorithm = self.algorithm(parameters)
        chosen = jax.random.randint(jax.random.fold_in(key, 0), (self.batch,), 0, count_problems(pool))
        problems = jax.tree.map(lambda leaf: leaf[chosen], pool)

        def one(problem: Any, key: Key[Array, ""]) -> Slot:
            begun = Walk(algorithm, self.problem_class, problem).begin(key)
            return Slot(problem, begun.state, begun.time)

        return jax.vmap(one)(problems, jax.random.split(jax.random.fold_in(key, 1), self.batch))


@eqx.filter_jit
def advance(
    fixed: tuple[Recipe, Any, Key[Array, ""]], learner: Learner, steps: Any, tally: Tally | None = None
) -> tuple[Learner, Tally]:
    """A stretch of training steps in one compiled loop, whose sums are added to a tally.

    If `steps` is an array, the compiled loop serves for any number of steps.
    """
    recipe, pool, key = fixed

    def body(_: Any, carry: tuple[Learner, Tally]) -> tuple[Learner, Tally]:
        learner, tally = carry
        learner, new = recipe.step(learner, pool, key)
        return learner, jax.tree.map(jnp.add, tally, new)

    return jax.lax.fori_loop(0, steps, body, (learner, no_steps() if tally is None else tally))


def no_steps() -> Tally:
    """The tally before the first step."""
    zero, none = jnp.zeros(()), jnp.zeros((), jnp.int32)
    return Tally(zero, none, none, none, zero)


def _differ(x: Any, y: Any) -> Bool[Array, ""]:
    parts = zip(jax.tree.leaves(x), jax.tree.leaves(y), strict=True)
    return functools.reduce(jnp.logical_or, [jnp.any(part != other) for part, other in parts])


def _mean(values: Num[Array, " slot"], counts: Bool[Array, " slot"]) -> Scalar:
    """The mean of the values that count."""
    return jnp.sum(jnp.where(counts, values, 0.0)) / jnp.maximum(jnp.sum(counts), 1)
