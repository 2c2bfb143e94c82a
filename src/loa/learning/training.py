"""Training: learn the parameters of an algorithm from sample problems (section 4)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
import optax
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass, check_key, count_problems, whole_number
from ..storage.checkpoint import Checkpoint, fingerprint, recognizable
from ..trajectory.evaluation import evaluate
from ..trajectory.functionals import Functional, Indicator, StoppingTime
from ..trajectory.kernels import in_precision_of_problems
from ..trajectory.progress import printed
from .checks import Check, Glance, History, LossChange, Report
from .learner import Learner, Recipe, Tally, advance
from .objective import Imitation, Objective, OneStepContraction, OverSegments

CLIPPED_ADAM = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam())

PATIENCE = 3
"""So many set-backs in a row without a better point end the training."""


class Trained(NamedTuple):
    """The best algorithm that training came across, and what was seen at each check."""

    algorithm: Algorithm
    history: tuple[Check, ...]

    @property
    def best(self) -> Check:
        """The check at which the algorithm was found."""
        return next(check for check in reversed(self.history) if check.best)


def train(
    algorithm: Algorithm,
    problem_class: ProblemClass,
    *,
    criterion: Criterion,
    horizon: int,
    key: Key[Array, ""],
    problems: Any = None,
    validation: Any = 250,
    objective: Objective | Functional | None = None,
    steps: int = 20_000,
    batch: int = 32,
    learning_rate: float = 1e-3,
    optimizer: optax.GradientTransformation | None = None,
    averaging: float = 0.99,
    restart: float | None = None,
    constraint: Functional | None = None,
    at_least: float = 0.95,
    checks: int = 20,
    pool: int = 2048,
    checkpoint: Path | str | None = None,
    progress: bool | Report = False,
) -> Trained:
    r"""Minimize an objective over short segments of trajectories, on many problems in parallel.

    Each of `batch` problems is advanced by a segment; the gradient of the mean objective moves the parameters; problems
    that are solved, have diverged, or with probability `restart` per step, give place to new ones. At each check the
    algorithm is evaluated on the validation problems, and the best one seen is returned: that with the smallest mean
    stopping time among those that satisfy the constraint, or the one closest to satisfying it.

    Arguments:
        criterion, horizon: as in `loa.evaluate`.
        problems: a stack to learn from. If not given, fresh ones are drawn from the class all the time.
        validation: a stack of problems for the checks, or how many to draw.
        objective: an `Objective`, or a functional to minimize over single steps; the paper's one-step contraction if
            not given.
        learning_rate: at the beginning; it falls to a hundredth of this along a cosine.
        optimizer: any optax transformation, without a rate; Adam behind a clip of the gradient's norm if not given.
        averaging: the checks see a running mean of the parameters with this memory; 0 for the last parameters.
        restart: 1/horizon if not given.
        constraint: an indicator of a trajectory property that must hold with probability `at_least`; whether the
            problem is solved within the horizon if not given.
        checks: how often to look. Training can be interrupted and resumed between checks.
        pool: how many fresh problems are drawn between two checks.
        checkpoint: a file. If it exists training goes on from there, to the same result as without interruption.
        progress: whether to print a line per check, or a function that is given each `Check`.
    """
    check_key(key)
    steps, checks = whole_number("steps", steps), whole_number("checks", checks)
    if steps < checks:
        raise ValueError(f"there cannot be more checks than steps, got {checks} checks of {steps} steps.")
    if not (learning_rate > 0 and np.isfinite(learning_rate)):
        raise ValueError(f"learning_rate must be positive and finite, got {learning_rate}.")
    for name, share in (("averaging", averaging), ("restart", restart), ("at_least", at_least)):
        if share is not None and not 0 <= share <= 1 - (name == "averaging") * 1e-9:
            raise ValueError(f"{name} must be between 0 and 1, got {share}.")
    objective = as_objective(objective)
    key, validation_key, run_key = (jax.random.fold_in(key, number) for number in range(3))
    if isinstance(validation, (int, np.integer)):
        validation = problem_class.draw(validation_key, int(validation))
    algorithm = in_precision_of_problems(algorithm, problem_class, validation)
    parameters, form = eqx.partition(algorithm, eqx.is_inexact_array)
    recipe = Recipe(
        form,
        problem_class,
        criterion,
        objective,
        optimizer or CLIPPED_ADAM,
        optax.cosine_decay_schedule(learning_rate, steps, alpha=0.01),
        whole_number("batch", batch),
        (1.0 / horizon if restart is None else restart) * objective.length,
        averaging,
    )
    constraint = constraint or Indicator("solved", lambda tau: tau <= horizon)

    def examine(parameters: Any, step: int, objective: float | None) -> Check:
        """A look at the algorithm with these parameters, on the validation problems."""
        performance = evaluate(
            recipe.algorithm(parameters),
            problem_class,
            validation,
            criterion=criterion,
            horizon=horizon,
            key=run_key,
            functionals=[StoppingTime(), constraint, LossChange()],
        )
        times, solved = performance["stopping_time"], float((performance.outcome == "solved").mean())
        holds, change = float(performance[constraint.name].mean()), float(np.median(performance["loss_change"]))
        return Check(step, objective, float(times.mean()), float(np.median(times)), solved, holds, change)

    def problems_for(block: int) -> Any:
        if problems is not None:
            return problems
        return problem_class.draw(jax.random.fold_in(jax.random.fold_in(key, 0xD7A3), block), pool)

    if problems is not None:
        count_problems(problems)
    settings = (steps, checks, batch, learning_rate, averaging, recipe.restart, at_least, pool, horizon)

    def identity(learner: Learner) -> str | None:
        program = recipe.program(learner, problems_for(0), key, constraint)
        if not recognizable(program):
            warnings.warn(
                "this training calls functions of Python, so that no checkpoint could be recognized as its own: "
                "none is kept.",
                stacklevel=5,
            )
            return None
        return fingerprint(recipe, parameters, problems, validation, jax.random.key_data(key), settings, program)

    with printed(progress, "training", steps) as report:
        course = Course(recipe, examine, problems_for, steps, checks, at_least, key, report)
        return course.run(parameters, checkpoint, identity)


class Course(NamedTuple):
    """A course of training: stretches of steps, a check after each, and what to do about what it shows."""

    recipe: Recipe
    examine: Callable[[Any, int, float | None], Check]
    problems_for: Callable[[int], Any]
    steps: int
    checks: int
    at_least: float
    key: Key[Array, ""]
    report: Report

    def run(self, parameters: Any, path: Path | str | None, identity: Callable[[Learner], str | None]) -> Trained:
        learner = self.recipe.begin(parameters, self.problems_for(0), self.key)
        best = parameters
        own = None if path is None else identity(learner)
        checkpoint = None if path is None or own is None else Checkpoint(path, own)
        if checkpoint and checkpoint.exists:
            (learner, best), note = checkpoint.load(lambda note: (learner, best))
            history = History.from_json(note["history"])
        else:
            history = History((self.examine(parameters, 0, None)._replace(best=True),))
        while len(history) <= self.checks and history.setbacks < PATIENCE:
            started = time.perf_counter()
            learner, best, check = self._stretch(learner, best, history)
            history = history.after(check, seconds=time.perf_counter() - started)
            if checkpoint:
                checkpoint.save((learner, best), {"history": history.to_json()})
            self.report(history.checks[-1])
        if history.setbacks >= PATIENCE:
            warnings.warn(
                f"training ended after {len(history) - 1} of {self.checks} checks: set back {PATIENCE} times in a row "
                "without finding a better point; a smaller learning rate may help.",
                stacklevel=4,
            )
        return Trained(self.recipe.algorithm(best), history.checks)

    def _stretch(self, learner: Learner, best: Any, history: History) -> tuple[Learner, Any, Check]:
        """Train for a while, look, keep what is best, and go back to it if training went astray."""
        pool = self.problems_for(len(history))
        stretch = self.steps * len(history) // self.checks - int(learner.step)
        learner, tally = advance((self.recipe, pool, self.key), learner, stretch)
        candidate = learner.average if self.recipe.averaging else learner.parameters
        check = self.examine(candidate, int(learner.step), float(tally.value / max(int(tally.steps), 1)))
        check = check._replace(setback=_went_astray(tally, stretch, check, history.best))
        if history.is_best(check, self.at_least):
            best, check = candidate, check._replace(best=True)
        elif check.setback:
            learner = self.recipe.again(learner, best, pool, self.key)
        return learner, best, check


def imitate(
    algorithm: Algorithm,
    teacher: Algorithm,
    problem_class: ProblemClass,
    *,
    criterion: Criterion,
    horizon: int,
    key: Key[Array, ""],
    problems: Any = None,
    length: int = 5,
    steps: int = 1000,
    batch: int = 32,
    learning_rate: float = 1e-3,
    pool: int = 256,
    progress: bool | Callable[[Glance], None] = False,
) -> Algorithm:
    """Teach an algorithm to do as another one does: where to begin before training.

    Over segments of `length` steps, on its own trajectories, each of which ends with probability 1/horizon per step.
    `progress` says whether to print how far from its teacher it is, or is a function that is given each `Glance`.
    """
    check_key(key)
    steps = whole_number("steps", steps)
    if problems is None:
        problems = problem_class.draw(jax.random.fold_in(key, 0), whole_number("pool", pool))
    algorithm, teacher = (in_precision_of_problems(one, problem_class, problems) for one in (algorithm, teacher))
    parameters, form = eqx.partition(algorithm, eqx.is_inexact_array)
    recipe = Recipe(
        form,
        problem_class,
        criterion,
        Imitation(teacher, length=whole_number("length", length)),
        CLIPPED_ADAM,
        optax.cosine_decay_schedule(learning_rate, steps, alpha=0.01),
        whole_number("batch", batch),
        length / horizon,
        0.0,
    )
    learner = recipe.begin(parameters, problems, jax.random.fold_in(key, 1))
    glances = next(number for number in range(10, 0, -1) if steps % number == 0)
    started = time.perf_counter()
    with printed(progress, "imitation", steps) as report:
        for _ in range(glances):
            learner, tally = advance((recipe, problems, jax.random.fold_in(key, 2)), learner, steps // glances)
            distance = float(tally.value / tally.steps)  # NaN if no step could be used
            report(Glance(int(learner.step), distance, time.perf_counter() - started))
    return recipe.algorithm(learner.parameters)


def as_objective(objective: Objective | Functional | None) -> Objective:
    """An objective from what was given: a functional over as many steps as it needs, the paper's for nothing."""
    if objective is None:
        objective = OneStepContraction()
    if isinstance(objective, Functional):
        objective = OverSegments(objective, length=max(1, objective.steps))
    if not isinstance(objective, Objective):
        raise TypeError(f"objective must be an Objective or a Functional, got {objective!r}.")
    return objective


def _went_astray(tally: Tally, steps: int, check: Check, best: Check) -> str:
    """What is wrong, in a word, if training cannot be expected to recover by itself."""
    if tally.moved < 0.01 * steps or tally.silent > 0.99 * steps:
        return "dead"
    uphill = check.change > 0 >= best.change
    if uphill or tally.left_out > 0.5 * steps or check.solved < best.solved - 0.5:
        return "diverged"
    return ""
