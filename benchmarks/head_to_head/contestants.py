"""What loa brings: classical methods as they come, and its own, learned from sample problems of the class."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
from generators import NewMatrix

import loa
from loa.architectures import DenseCurvature, LearnedProximalNewton, LearnedSplitting
from loa.architectures.proximal_newton import factor_of
from loa.experiments.families.general import ANDERSON, SEMISMOOTH
from loa.learning import average_curvature, first_step

KEY = jax.random.key(23)
CLASSICAL = {"ISTA": loa.ProximalGradient(), "FISTA": loa.FISTA(restart=False), "FISTA with restart": loa.FISTA()}

NEWTON = {
    "log_floor": (-9.0, -5.0),
    "log_damping": (-3.0, 3.0),
    "power": (0.5, 2.5),
    "log_up": (0.0, 2.0),
    "log_down": (-1.2, 0.0),
    "log_penalty": (-7.0, 2.0),
    "relaxation": (1.0, 1.95),
}
SPLITTING = {"log_penalty": (-9.0, 3.0), "log_scale": (-0.5, 1.5), "relaxation": (1.0, 1.95)}


def of_shared_curvature(problem_class: Any, training: Any, tuning: int, accuracy: float, most: int) -> dict[str, Any]:
    """For classes whose problems have one Hessian. The first step is learned where there are enough problems."""
    search = _search(problem_class, _first(training, tuning), accuracy, most)
    fista = loa.FISTA()
    matrix = average_curvature(problem_class, _first(training, 1), teacher=fista, times=[0], key=KEY)
    jump, count = None, len(jax.tree.leaves(training)[0])
    if count > 2 * matrix.shape[0]:
        jump = first_step(problem_class, training, teacher=fista, steps=1000, key=KEY)
    newton = partial(LearnedProximalNewton, factor_of(matrix), first_step=jump, sweeps=2)
    splitting = partial(LearnedSplitting, DenseCurvature.of(matrix))
    return {
        "Newton in learned curvature": search(newton, NEWTON),
        "splitting in learned curvature": search(splitting, SPLITTING),
    }


def of_own_curvature(problem_class: Any, training: Any, tuning: int, accuracy: float, most: int) -> dict[str, Any]:
    """For classes whose problems have each a Hessian of their own."""
    search = _search(problem_class, _first(training, tuning), accuracy, most)
    frozen = isinstance(problem_class, NewMatrix)  # the Hessian is the same at all points
    newton = partial(loa.SemismoothNewton, frozen=frozen, separable=True)
    return {
        "semismooth Newton, tuned": search(newton, SEMISMOOTH),
        "Anderson acceleration, tuned": search(loa.AndersonProximalGradient, ANDERSON),
    }


def _search(problem_class: Any, problems: Any, accuracy: float, most: int) -> Any:
    """Tuning to the smallest mean number of steps."""

    def search(make: Any, space: dict[str, Any]) -> Any:
        found = loa.tune(
            make, space, problem_class, problems, criterion=loa.prox_residual_below(accuracy), horizon=most, key=KEY,
            candidates=32, rounds=3,
        )  # fmt: skip
        return found.algorithm

    return search


def _first(problems: Any, count: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[: min(count, len(leaf))], problems)
