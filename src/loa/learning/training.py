"""Training: learn the parameters of an algorithm from sample problems (section 4)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
import optax
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm
from ..messages.arguments import check_type, positive_number, share, shown
from ..messages.warning import warn
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass, check_stack, count_problems, whole_number
from ..storage.checkpoint import fingerprint, recognizable
from ..storage.resuming import forget_evaluations
from ..trajectory.checks import check_algorithm, check_setting
from ..trajectory.evaluation import evaluate
from ..trajectory.functionals import Functional, StoppingTime
from ..trajectory.kernels import in_precision_of_problems
from ..trajectory.progress import printed
from .checks import Check, History, LossChange, Report
from .learner import CLIPPED_ADAM, Learner, Recipe, Tally, decaying, no_steps, solved_within
from .objective import Objective, as_objective
from .resumable_training import Progress, Saving, advanced

PATIENCE = 3
"""The number of consecutive setbacks without a better point after which training ends."""


class Trained(NamedTuple):
    """The best algorithm found by training, and the history of all checks."""

    algorithm: Algorithm
    history: tuple[Check, ...]

    @property
    def best(self) -> Check:
        """The check of the best algorithm."""
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
    """Train the parameters of an algorithm on sample problems.

    Training minimizes an objective over short segments of trajectories, on many problems in parallel (section 4 of the
    paper). Each step advances a batch of problems by one segment and moves the parameters along the gradient of the
    mean objective. Problems that are solved or have diverged are replaced by new ones, and so is any other problem with
    probability `restart` per step. Each check evaluates the algorithm on the validation problems. Training returns the
    best algorithm seen: the one with the smallest mean stopping time among those that satisfy the constraint, or, if
    none does, the one closest to satisfying it.

    Arguments:
        algorithm: the algorithm to begin with. Its floating-point arrays are trained.
        problem_class: the class of the problems.
        criterion: when a problem counts as solved.
        horizon: the largest number of steps of a trajectory in a check.
        key: a PRNG key. The same key gives the same result.
        problems: a stack of problems to learn from; by default new problems are drawn throughout.
        validation: a stack of problems for the checks, or how many to draw.
        objective: an `Objective`, or a functional to minimize over single steps; by default the paper's one-step
            contraction.
        steps: the number of steps of training, at least `checks`.
        batch: the number of problems that are advanced in parallel.
        learning_rate: the initial rate > 0, which decays along a cosine to a hundredth of itself.
        optimizer: any optax transformation without a learning rate; by default Adam after clipping the gradient's norm.
        averaging: the memory in [0, 1) of the running mean of the parameters that is checked; 0 checks the last ones.
        restart: a probability; by default 1/horizon.
        constraint: an indicator of a trajectory property that must hold with probability `at_least`; by default that
            the problem is solved within the horizon.
        at_least: in [0, 1].
        checks: the number of checks, at least 1.
        pool: the number of new problems drawn between two checks.
        checkpoint: a file in which progress is saved after each check and every few seconds between; the same call
            resumes from it, with the same result as without interruption.
        progress: whether to print a line per check, or a function that is called with each `Check`.

    Returns:
        The best algorithm, and the history of all checks.

    The page docs/learning.md has an example.
    """
    check_algorithm("algorithm", algorithm)
    check_setting(problem_class, criterion, horizon, key)
    steps, checks = whole_number("steps", steps), whole_number("checks", checks)
    batch, pool = whole_number("batch", batch), whole_number("pool", pool)
    if steps < checks:
        raise ValueError(f"there cannot be more checks than steps, got {checks} checks of {steps} steps.")
    positive_number("learning_rate", learning_rate)
    if share("averaging", averaging) == 1:
        raise ValueError("averaging must be below 1, because with 1 nothing would ever be learned.")
    share("restart", 0.0 if restart is None else restart)
    share("at_least", at_least)
    if constraint is not None:
        check_type("constraint", constraint, Functional, "a functional such as loa.Indicator('fast', …)")
    if not (optimizer is None or (hasattr(optimizer, "init") and hasattr(optimizer, "update"))):
        raise TypeError(f"optimizer must be an optax transformation without a learning rate, got {shown(optimizer)}.")
    objective = as_objective(objective)
    key, validation_key, run_key = (jax.random.fold_in(key, number) for number in range(3))
    if problems is not None:
        count_problems(problems)
    if jax.tree.structure(validation) == jax.tree.structure(0) and np.ndim(validation) == 0:
        wanted = whole_number("validation", validation)
        validation = problem_class.draw(validation_key, problem_class.at_most(wanted))
    else:
        check_stack("validation", validation)
    algorithm = in_precision_of_problems(algorithm, problem_class, validation)
    parameters, form = eqx.partition(algorithm, eqx.is_inexact_array)
    recipe = Recipe(
        form,
        problem_class,
        criterion,
        objective,
        optimizer or CLIPPED_ADAM,
        decaying(float(learning_rate), steps),
        batch,
        (1.0 / horizon if restart is None else restart) * objective.length,
        averaging,
    )
    constraint = constraint or solved_within(int(horizon))
    checkpoints = None if checkpoint is None else Path(checkpoint).with_suffix(".checks")

    def examine(parameters: Any, step: int, objective: float | None) -> Check:
        """Evaluate the algorithm with these parameters on the validation problems."""
        performance = evaluate(
            recipe.algorithm(parameters),
            problem_class,
            validation,
            criterion=criterion,
            horizon=horizon,
            key=run_key,
            functionals=[StoppingTime(), constraint, LossChange()],
            checkpoints=checkpoints,
        )
        times, solved = performance["stopping_time"], float((performance.outcome == "solved").mean())
        holds, change = float(performance[constraint.name].mean()), float(np.median(performance["loss_change"]))
        return Check(step, objective, float(times.mean()), float(np.median(times)), solved, holds, change)

    def problems_for(block: int) -> Any:
        if problems is not None:
            return problems
        return problem_class.draw(
            jax.random.fold_in(jax.random.fold_in(key, 0xD7A3), block), problem_class.at_most(pool)
        )

    settings = (steps, checks, batch, learning_rate, averaging, recipe.restart, at_least, pool, horizon)

    def identity(learner: Learner) -> str | None:
        program = recipe.program(learner, problems_for(0), key, constraint)
        if not recognizable(program):
            warn(
                "this training calls Python functions, so it cannot be fingerprinted, and no checkpoint is saved.",
            )
            return None
        return fingerprint(recipe, parameters, problems, validation, jax.random.key_data(key), settings, program)

    with printed(progress, "training", steps) as report:
        course = Course(recipe, examine, problems_for, steps, checks, at_least, key, report, checkpoints)
        return course.run(parameters, checkpoint, identity)


class Course(NamedTuple):
    """A course of training: rounds of steps, each followed by a check and a reaction to its result."""

    recipe: Recipe
    examine: Callable[[Any, int, float | None], Check]
    problems_for: Callable[[int], Any]
    steps: int
    checks: int
    at_least: float
    key: Key[Array, ""]
    report: Report
    checkpoints: Path | None

    def run(self, parameters: Any, path: Path | str | None, identity: Callable[[Learner], str | None]) -> Trained:
        first = Progress.begin(self.recipe.begin(parameters, self.problems_for(0), self.key))
        saving = Saving(path, lambda: identity(first.learner))
        progress = saving.load(first) or first
        if not saving.note:
            saving.note = {"history": History((self.examine(parameters, 0, None)._replace(best=True),)).to_json()}
        history = History.from_json(saving.note["history"])
        while len(history) <= self.checks and history.setbacks < PATIENCE:
            progress, check = self._stretch(progress, history, saving)
            history = history.after(check, seconds=saving.seconds - history.checks[-1].seconds)
            saving.note = {"history": history.to_json()}
            saving.now(progress)
            if self.checkpoints is not None:
                forget_evaluations(self.checkpoints)
            self.report(history.checks[-1])
        if history.setbacks >= PATIENCE:
            warn(
                f"training was set back {PATIENCE} times in a row without finding a better point, and ended after "
                f"{len(history) - 1} of {self.checks} checks; a smaller learning rate may help.",
            )
        return Trained(self.recipe.algorithm(progress.best), history.checks)

    def _stretch(self, progress: Progress, history: History, saving: Saving) -> tuple[Progress, Check]:
        """Train for a round, check, keep the best point, and return to it if training went wrong."""
        pool = self.problems_for(len(history))
        begin, end = (self.steps * number // self.checks for number in (len(history) - 1, len(history)))
        learner, tally, best = advanced((self.recipe, pool, self.key), progress, end, saving)
        candidate = learner.average if self.recipe.averaging else learner.parameters
        check = self.examine(candidate, end, float(tally.value / max(int(tally.steps), 1)))
        check = check._replace(setback=_went_astray(tally, end - begin, check, history.best))
        if history.is_best(check, self.at_least):
            best, check = candidate, check._replace(best=True)
        elif check.setback:
            learner = self.recipe.again(learner, best, pool, self.key)
        return Progress(learner, no_steps(), best), check


def _went_astray(tally: Tally, steps: int, check: Check, best: Check) -> str:
    """What went wrong, in one word, if training is not expected to recover; otherwise empty."""
    if tally.moved < 0.01 * steps or tally.silent > 0.99 * steps:
        return "dead"
    uphill = check.change > 0 >= best.change
    if uphill or tally.left_out > 0.5 * steps or check.solved < best.solved - 0.5:
        return "diverged"
    return ""
