"""What loa brings: classical methods as they come, and its own, learned from sample problems of the class."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax

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


LARGEST_NEWTON = 150
"""Coefficients up to which linear equations with all of them are solved in every step."""


def of_shared_curvature(problem_class: Any, training: Any, search: Search) -> dict[str, Any]:
    """For classes whose problems have one Hessian. The first step is learned where there are enough problems."""
    matrix = average_curvature(problem_class, first(training, 1), teacher=loa.FISTA(), times=[0], key=KEY)
    splitting = partial(LearnedSplitting, DenseCurvature.of(matrix))
    found = {"splitting in learned curvature": search(splitting, SPLITTING)}
    if problem_class.columns > LARGEST_NEWTON:
        return found
    jump, count = None, len(jax.tree.leaves(training)[0])
    if count > 2 * matrix.shape[0]:
        jump = first_step(problem_class, training, teacher=loa.FISTA(), steps=1000, key=KEY)
    newton = partial(LearnedProximalNewton, factor_of(matrix), first_step=jump, sweeps=2)
    return {"Newton in learned curvature": search(newton, NEWTON), **found}


def of_own_curvature(problem_class: Any, training: Any, search: Search) -> dict[str, Any]:
    """For classes whose problems have each a Hessian of their own."""
    found = {"Anderson acceleration, tuned": search(loa.AndersonProximalGradient, ANDERSON)}
    if problem_class.columns > LARGEST_NEWTON:
        return {"ADMM, tuned": search(loa.ADMM, {"log_penalty": (-6.0, 3.0), "relaxation": (1.0, 1.9)}), **found}
    return {"semismooth Newton, tuned": search(partial(loa.SemismoothNewton, separable=True), SEMISMOOTH), **found}


class Search(NamedTuple):
    """Tuning to the smallest mean number of steps until the proximal residual is small."""

    problem_class: Any
    problems: Any
    accuracy: float
    horizon: int
    candidates: int

    def __call__(self, make: Any, space: dict[str, Any]) -> Any:
        found = loa.tune(
            make, space, self.problem_class, self.problems, criterion=loa.prox_residual_below(self.accuracy),
            horizon=self.horizon, key=KEY, candidates=self.candidates, rounds=3,
        )  # fmt: skip
        return found.algorithm


def first(problems: Any, count: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[: min(count, len(leaf))], problems)
