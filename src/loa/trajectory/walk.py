r"""One walk: how a trajectory starts, steps and is recorded, and with which random keys.

Everything in loa that runs an algorithm on a problem does it through this module: the engine, the kernels, tuning
and training. With the same key all of them therefore see the same trajectory.

The keys of one trajectory all come from its own key, by numbers that no two of them share:

    key of the trajectory    folded from the numbers of problem and replicate
    key of the start         number 0
    key of the first state   the largest number
    key of step t → t + 1    number t + 1

No two of these keys are the same, so noise in the steps is independent of where and how the trajectory starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key, Scalar

from ..algorithms.algorithm import Algorithm, initial_state
from ..problems.oracle import Calls, Oracle
from ..problems.per_problem import smoothness_once
from ..problems.problem_class import ProblemClass
from ..problems.programs.quadratic_programs import Program, program_once
from ..problems.remembered import remembered
from ..problems.vector_points import Form, VectorPoints, form_of_points
from .functionals import Record


def trajectory_key(key: Key[Array, ""], problem: Any, replicate: Any = 0) -> Key[Array, ""]:
    """The key of one trajectory, which depends on the numbers of its problem and replicate and on nothing else.

    All algorithms get the same one, so that comparisons between them are paired. The number that is folded in first
    keeps it apart from the keys that `problem_class.draw` makes of the same key.
    """
    return jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(key, 0x10A), problem), replicate)


def start_key(key: Key[Array, ""]) -> Key[Array, ""]:
    """The key of the start of the trajectory with this key."""
    return jax.random.fold_in(key, 0)


def state_key(key: Key[Array, ""]) -> Key[Array, ""]:
    """The key of the initial state, given the start, of the trajectory with this key."""
    return jax.random.fold_in(key, 0xFFFF_FFFF)


def step_key(key: Key[Array, ""], time: Any) -> Key[Array, ""]:
    """The key of the step from this time to the next, in the trajectory with this key."""
    return jax.random.fold_in(key, time + 1)


def segment_step_key(key: Key[Array, ""], time: Any) -> Key[Array, ""]:
    """The key of a step in a segment of training; `time` counts the steps of the segment.

    A segment has a key of its own and begins where an earlier one ended. No trajectory starts with the key of a
    segment, so the number 0 is free for its first step.
    """
    return jax.random.fold_in(key, time)


class Moment(NamedTuple):
    """Where a trajectory is: the number of steps made, the state after them, and the oracle calls they took."""

    time: Int[Array, ""]
    state: Any
    calls: Calls

    @staticmethod
    def beginning(state: Any, calls: Calls | None = None) -> Moment:
        """Time 0, with this state."""
        return Moment(jnp.zeros((), jnp.int32), state, Calls.none() if calls is None else calls)


class Walk(eqx.Module):
    r"""An algorithm at work on one problem: samples \(s^{(0)}\), and \(s^{(t+1)}\) given \(s^{(t)}\).

    >>> from loa import GradientDescent
    >>> from loa.problems import RunningExample
    >>> example, key = RunningExample(), trajectory_key(jax.random.key(0), 0)
    >>> walk = Walk(GradientDescent(0.1), example, example.sample(jax.random.key(1)))
    >>> moment = walk.step(walk.begin(key), key)
    >>> int(moment.time), int(moment.calls.gradient)
    (1, 1)
    """

    algorithm: Algorithm
    problem_class: ProblemClass
    problem: Any
    form: Form | None = eqx.field(static=True)
    """The form of a point, where the algorithm sees a vector instead; None where it sees the same array."""

    def __init__(self, algorithm: Algorithm, problem_class: ProblemClass, problem: Any):
        self.algorithm, self.problem_class, self.problem = algorithm, problem_class, problem
        form = form_of_points(problem_class, problem)
        self.form = None if form.is_vector or (form.is_array and not algorithm.on_vectors) else form

    @property
    def asked(self) -> ProblemClass:
        """The problem class as the algorithm sees it."""
        return self.problem_class if self.form is None else VectorPoints(self.problem_class, self.form)

    def point(self, state: Any) -> Any:
        """The point that a state stands for, in the form of the problem class."""
        x = self.algorithm.iterate(state)
        return x if self.form is None else self.form.point(x)

    def knowing(self, smoothness: Scalar | None = None) -> Walk:
        """The same walk, where the smoothness constant of the problem is known, rather than computed at every step."""
        known = smoothness_once(self.problem_class, self.problem, smoothness)
        return Walk(self.algorithm, known, self.problem)

    def knowing_program(self, own: Program | None = None) -> Walk:
        """The same walk, where the arrays of a quadratic program are known; `own` as for `program_once`."""
        return Walk(self.algorithm, program_once(self.problem_class, self.problem, own), self.problem)

    def begin(self, key: Key[Array, ""]) -> Moment:
        """Sample the initial state of the trajectory with this key."""
        return self.begin_at(self.problem_class.start(self.problem, start_key(key)), key)

    def begin_at(self, x0: Any, key: Key[Array, ""]) -> Moment:
        """The initial state at a given point, of the trajectory with this key."""
        oracle = Oracle(self.asked, self.problem)
        x0 = jnp.asarray(x0) if self.form is None else self.form.vector(x0)
        state = initial_state(self.algorithm, oracle, x0, state_key(key))
        return Moment.beginning(state, oracle.calls)

    def step(self, moment: Moment, key: Key[Array, ""], *, record: Record | None = None, running: Any = True) -> Moment:
        """The next step of the trajectory with this key. `record` and `running` as in `move`."""
        return self.move(moment, step_key(key, moment.time), record=record, running=running)

    def move(self, moment: Moment, key: Key[Array, ""], *, record: Record | None = None, running: Any = True) -> Moment:
        """One step with a key of its own, from the transition kernel γ.

        Arguments:
            moment: where the trajectory is.
            key: the key of this step.
            record: the result of `look` at this moment, if there is one: the step then uses what was computed for it.
                An algorithm that knows loss and gradient from its state asks the problem class itself.
            running: whether the trajectory is still running; loops of the algorithm end immediately if not.
        """
        asked = self.asked
        if record is not None and record.asked is not None and self.algorithm.known(moment.state) is None:
            asked = record.asked
        oracle = Oracle(asked, self.problem, moment.calls, running=running)
        state = self.algorithm.step(oracle, moment.state, key)
        return Moment(moment.time + 1, state, oracle.calls)

    def after(self, moment: Moment, steps: Any, key: Key[Array, ""]) -> Moment:
        """The moment after some more steps of the trajectory with this key."""
        return jax.lax.fori_loop(0, steps, lambda _, moment: self.step(moment, key), moment)

    def along(self, key: Key[Array, ""], steps: int, note: Callable[[Record], Any]) -> Any:
        """What is noted of the trajectory with this key at the times 0 … steps, stacked along a new leading axis."""

        def body(moment: Moment, _: None) -> tuple[Moment, Any]:
            return self.step(moment, key), note(self.record(moment))

        last, before = jax.lax.scan(body, self.begin(key), length=steps)
        end = note(self.record(last))
        return jax.tree.map(lambda many, one: jnp.concatenate([many, jnp.asarray(one)[None]]), before, end)

    def record(self, moment: Moment) -> Record:
        """What functionals see at this moment."""
        x = self.point(moment.state)
        return Record(moment.time, x, moment.state, self.problem, self.problem_class, moment.calls)

    def look(self, moment: Moment) -> Record:
        """The same record, whose problem class remembers loss and gradient at the iterate.

        Many may then ask for them at the cost of one; an algorithm that has them in its state computes neither.
        """
        x, known = self.algorithm.iterate(moment.state), self.algorithm.known(moment.state)
        asked = remembered(self.asked, x, self.problem, known)
        point, seen = x, asked
        if self.form is not None:
            point = self.form.point(x)
            seen = asked.translated(self.problem_class, point, self.form.point)
        return Record(moment.time, point, moment.state, self.problem, seen, moment.calls, asked)
