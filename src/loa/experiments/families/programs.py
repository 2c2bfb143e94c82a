"""The families of algorithms that race for a class of quadratic programs."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import numpy as np

from ...algorithms import ProgramADMM
from ...algorithms.algorithm import Algorithm
from ...learning.programs import first_penalties, learn_penalties, learn_warm_start
from ...learning.race import Family
from ...problems.programs.quadratic_programs import QuadraticPrograms
from ...trajectory.evaluation import evaluate
from ...trajectory.kernels import iterates_after
from ..experiment import LearningSetup

SAMPLE = 64
"""Problems on which the penalty is found that training begins with."""

SOLVED = 600
"""Solved problems that a warm start is learned from, at full effort."""

UPDATES = 400
"""Steps of training, at full effort."""

SHORTEST, LONGEST = 10, 100
"""The fewest and the most steps that are unrolled in training."""

GUESSES = (-10.0, -8.0, -6.0, -4.0, -2.0)
"""Logarithms of penalties, relative to the scaled program, among which training begins with the best."""


USUAL, WAITS = 0.9, (25, 100)
"""Learned penalties adapt after the number of steps that this share of problems needs, within these limits."""

IMPATIENT = 0.4
"""Learned penalties adapt if that changes them by more than a factor of 1.5; ADMM without learning waits for 5."""


def for_programs(setup: LearningSetup, problem_class: QuadraticPrograms) -> list[Family]:
    """ADMM with a penalty that is tuned, and with learned penalties for all rows, with and without a warm start."""
    space = {"log_penalty": (-10.0, 2.0), "relaxation": (1.0, 1.95), "log_patience": (0.3, 3.0)}
    start = {"log_penalty": -2.3, "relaxation": 1.6, "log_patience": 1.6}
    penalties = _penalties(setup, problem_class)
    warm = _warm(setup, problem_class, penalties)
    return [
        Family("ADMM, tuned", "tuned", ProgramADMM, space, start),
        Family("ADMM with learned penalties", "learned", lambda: penalties),
        Family("ADMM with learned penalties and start", "learned", lambda: warm),
    ]


def _penalties(setup: LearningSetup, problem_class: QuadraticPrograms) -> ProgramADMM:
    """Penalties that are trained from the best guess, over about twice the steps that it needs."""
    problems, task = setup.problems(SAMPLE), setup.experiment
    guesses = [first_penalties(problem_class, problems, guess) for guess in GUESSES]
    times = [_times(setup, each, problems) for each in guesses]
    best = int(np.argmin([each.mean() for each in times]))
    learned = learn_penalties(
        guesses[best],
        problem_class,
        setup.problems(setup.times(SOLVED)),
        criterion=task.criterion,
        steps=int(np.clip(1.5 * np.median(times[best]), SHORTEST, LONGEST)),
        updates=setup.times(UPDATES),
        key=setup.key,
    )
    return _adapting(setup, learned, setup.problems(setup.times(SOLVED)))


def _adapting(setup: LearningSetup, learned: ProgramADMM, problems: Any) -> ProgramADMM:
    """Penalties that adapt when nine out of ten problems are solved, if this helps the others; else fixed ones.

    A penalty that is right for most problems may be wrong by orders of magnitude for a few, which then remain unsolved.
    """
    fixed = _times(setup, learned, problems)
    interval = int(np.clip(np.quantile(fixed, USUAL), *WAITS))
    adapting = dataclasses.replace(learned, interval=interval, log_patience=IMPATIENT)
    return adapting if _times(setup, adapting, problems).mean() < fixed.mean() else learned


def _times(setup: LearningSetup, algorithm: ProgramADMM, problems: Any) -> np.ndarray:
    task = setup.experiment
    performance = evaluate(
        algorithm, task.problem_class, problems, criterion=task.criterion, horizon=task.horizon, key=setup.key,
        checkpoints=setup.evaluations,
    )  # fmt: skip
    return np.asarray(performance["stopping_time"], float)


def _warm(setup: LearningSetup, problem_class: QuadraticPrograms, penalties: ProgramADMM) -> Algorithm:
    """The same with a start that is learned from solutions."""
    problems, steps = setup.problems(setup.times(SOLVED)), setup.experiment.horizon
    solutions = iterates_after(
        penalties, problem_class, problems, steps=steps, key=setup.key, checkpoints=setup.evaluations
    )
    start = learn_warm_start(problem_class, problems, solutions, key=setup.key)
    return eqx.tree_at(lambda each: each.warm_start, penalties, start, is_leaf=lambda leaf: leaf is None)
