"""How long a run will take, from the pace at which the machine compiles and runs a classical method right now."""

from __future__ import annotations

import inspect
import time
from typing import NamedTuple

from ..algorithms import SGD
from ..experiments.experiment import Experiment, Learn
from ..experiments.families import general
from ..learning.race import LAST, ROUNDS
from ..messages.waiting import duration, waiting_for
from ..problems.problem_class import count_problems
from ..problems.role import Role, own_key
from ..trajectory.evaluation import evaluate

SAMPLE = 64
"""The number of training problems on which the pace is measured."""

PROGRAMS = 25
"""About how many programs of the size of the one that is timed a run compiles, all stages together."""

FIXED = 15.0
"""Seconds for what does not depend on the problems: timings in turn, figures and the report."""


def announced(experiment: Experiment, learn: Learn, seed: int) -> str | None:
    """A sentence that says how long a run will take; none if its way of learning is not the usual race."""
    if inspect.unwrap(learn) is not inspect.unwrap(general.learn):
        return None
    seconds = forecast(experiment, measured_pace(experiment, seed))
    return f"this run will take about {duration(seconds)}, if the machine does not become busier"


class Pace(NamedTuple):
    """Seconds for compiling one evaluation, and for one run of a classical method on one problem of a batch."""

    compiling: float
    running: float


def measured_pace(experiment: Experiment, seed: int) -> Pace:
    """Time the first baseline on a few training problems, twice: the first time it has to be compiled."""
    baselines = list(experiment.baselines.values())
    problems = experiment.draw(Role.training, seed, experiment.problem_class.at_most(SAMPLE))

    def seconds() -> float:
        started = time.perf_counter()
        evaluate(
            baselines[0] if baselines else SGD(0.0),
            experiment.problem_class,
            problems,
            criterion=experiment.criterion,
            horizon=experiment.horizon,
            key=own_key(seed, 0xFACE),
            functionals=experiment.functionals,
        )
        return time.perf_counter() - started

    with waiting_for("a first look at how fast this machine is"):
        first, second = seconds(), seconds()
    return Pace(max(0.0, first - second), second / count_problems(problems))


def runs_ahead(experiment: Experiment) -> float:
    """About how many runs of algorithms on problems there will be, by the sizes of all stages."""
    sizes, candidates, effort = experiment.sizes, experiment.recipe.prior.candidates, experiment.recipe.effort
    settings = sum(max(2, round(2 * effort * number)) * times * part for number, times, part in ROUNDS)
    race = (LAST + 1) * settings * effort * general.TRAINING
    judged = sizes["validation"] * (LAST + 1) + sizes["test"] * (2 + len(experiment.baselines))
    return race + judged + candidates * (sizes["prior"] + sizes["posterior"]) + sizes["held-out"]


def forecast(experiment: Experiment, pace: Pace) -> float:
    """Seconds for a whole run: programs that are compiled, runs on problems, and what is always the same.

    >>> from loa.experiments import get
    >>> quick, slow = (forecast(get("lasso"), Pace(1.0, each)) for each in (1e-5, 1e-3))
    >>> quick < slow
    True
    """
    return FIXED + PROGRAMS * pace.compiling + runs_ahead(experiment) * pace.running
