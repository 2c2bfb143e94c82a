"""A safeguard for a class: when to hand over to the fallback, chosen on sample problems."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from ..algorithms.algorithm import Algorithm
from ..architectures.safeguarded import FALLS, IN_NOISE, PATIENCE, GuardedState, Safeguarded, safeguard, shrunk
from ..problems.criterion import Criterion
from ..problems.oracle import Oracle
from ..problems.problem_class import ProblemClass, count_problems
from ..storage.resuming import Evaluations, as_evaluations
from ..trajectory.checks import check_algorithm, check_arguments
from ..trajectory.devices import run_job
from ..trajectory.functionals import End, Functional, Record, StoppingTime
from ..trajectory.job import Job
from ..trajectory.kernels import in_precision_of_problems

LEVELS = 60
"""How many deadlines there are at most."""

SLACK = 0.1
"""How far the learned algorithm may fall behind the fallback, as a share of the steps that the fallback needs."""

FAST = 0.1
"""The fallback is this much of the time faster than what counts as its steps."""

MARGIN = 2.0
"""How much later than on the sample problems a good trajectory may be on a new problem: one in n + 1 is the latest."""

NEVER = 10**6
"""A patience that no trajectory exhausts."""


def guard(
    learned: Algorithm,
    fallback: Algorithm,
    problem_class: ProblemClass,
    problems: Any,
    *,
    criterion: Criterion,
    horizon: int,
    key: Key[Array, ""],
    checkpoints: Evaluations | Path | str | None = None,
) -> Algorithm:
    r"""Guard a learned algorithm by a classical one, as strictly as it allows on sample problems.

    Both algorithms are run on the problems. Let T be the steps that the fallback needs at least on 90% of them, and
    \(T_k\) those until its residual or loss has fallen to \(0.7^k\) of what it was at the start. Deadline k + 1 is
    \(T_k + T/10 - 1\): whoever is later has lost more than a tenth of the steps of the fallback. Where the learned
    algorithm is the faster one in the end, though it was slower before, it is not interrupted: deadlines, and the
    patience, are extended until none of these trajectories would be interrupted if it took twice as long. A wait
    of T/10 is always tolerated. What the guard does then is stated by `loa.architectures.Safeguarded`.

    Arguments:
        learned: the algorithm to be guarded.
        fallback: a classical algorithm.
        problem_class: the class of the problems.
        problems: a stack of sample problems, which no certificate may use.
        criterion, horizon, key: as for `loa.evaluate`.
        checkpoints: a directory, as in `loa.evaluate`.

    Returns:
        The guarded algorithm; the learned one itself if it is its own fallback.

    >>> import loa
    >>> problem_class = loa.problems.Quadratics(dimension=5)
    >>> found = guard(loa.LBFGS(), loa.GradientDescent(1e-4), problem_class, problem_class.draw(jax.random.key(0), 20),
    ...               criterion=loa.loss_below(1e-3), horizon=300, key=jax.random.key(1))
    >>> found.patience, len(found.deadlines) > 10
    (30, True)
    """
    check_algorithm("learned", learned)
    if safeguard(learned, fallback) is learned:
        return learned
    setting = problem_class, problems, criterion, horizon, key, as_evaluations(checkpoints)
    ours, theirs = _paces(learned, *setting), _paces(fallback, *setting)
    usual = float(np.quantile(theirs.steps, FAST, method="lower"))
    good = ours.solved & (ours.steps <= (1 + SLACK) * theirs.steps + 1)
    fallen = np.quantile(theirs.fallen, FAST, axis=0, method="lower")
    allowed = np.concatenate([[0.0], fallen[:-1]]) + SLACK * usual - 1
    needed = np.max(MARGIN * np.minimum(ours.fallen, ours.steps[:, None])[good], axis=0, initial=1)
    deadlines = np.maximum.accumulate(np.maximum(np.floor(allowed), np.ceil(needed)))
    deadlines = tuple(int(each) for each in deadlines[fallen <= usual])
    longer = IN_NOISE if problem_class.has("stochastic_loss") else 1
    waited = max(MARGIN * np.max(ours.waited[good]), SLACK * usual) / longer if good.any() else PATIENCE
    patience = max(1, math.ceil(waited))
    return safeguard(learned, fallback, patience=patience, deadlines=deadlines)


class _Pace(Functional):
    """When residual or loss of a guarded algorithm has fallen to 0.7, 0.7², …, and its longest wait."""

    name: str = eqx.field(static=True, kw_only=True, default="pace")
    is_number: ClassVar[bool] = False

    def init(self, record: Record) -> tuple[Array, Array]:
        return jnp.full(LEVELS, jnp.inf), jnp.zeros((), jnp.int32)

    def update(self, carry: tuple[Array, Array], record: Record) -> tuple[Array, Array]:
        fallen, waited = carry
        state: GuardedState = record.state
        share = shrunk(state.guard.best, state.guard.first_residual, state.guard.first_value)
        below = share <= FALLS ** jnp.arange(1, LEVELS + 1)
        looked = record.time - 1  # the guard has seen all points but the last one
        return jnp.where(jnp.isinf(fallen) & below, looked, fallen), jnp.maximum(waited, state.guard.waited)

    def result(self, carry: tuple[Array, Array], end: End) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return carry


class _Nobody(Algorithm):
    """The fallback of a guard that never steps in."""

    def init(self, oracle: Oracle, x0: Any) -> Any:
        return x0

    def step(self, oracle: Oracle, state: Any, key: Key[Array, ""]) -> Any:
        return state


class _Paces(NamedTuple):
    """What a run on the sample problems has shown."""

    fallen: Float[np.ndarray, "problem level"]
    waited: Int[np.ndarray, " problem"]
    steps: Float[np.ndarray, " problem"]
    solved: Any


def _paces(
    algorithm: Algorithm, problem_class: ProblemClass, problems: Any, criterion: Criterion,
    horizon: int, key: Key[Array, ""], evaluations: Evaluations | None,
) -> _Paces:  # fmt: skip
    """How an algorithm proceeds, seen by a guard that never steps in."""
    watched = Safeguarded(algorithm, _Nobody(), NEVER, ())
    functionals, devices = check_arguments(
        watched, problem_class, problems, criterion, horizon, key, [_Pace(), StoppingTime()], 1, None, None
    )
    job = Job(
        in_precision_of_problems(watched, problem_class, problems), None, problem_class,
        jax.tree.map(jnp.asarray, problems), jnp.arange(count_problems(problems), dtype=jnp.int32), key, criterion,
        functionals, int(horizon), None, 1,
    )  # fmt: skip
    _, ended, _ = run_job(job, None, devices, evaluations, False)
    (fallen, waited), steps = jax.tree.map(lambda leaf: np.asarray(leaf[0, :, 0]), ended.values)
    return _Paces(fallen, waited, steps.astype(float), ended.words[0, :, 0] == "solved")
