"""The families of algorithms that race for a class of nonlinear programs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Scalar

from ...algorithms import LBFGS, AugmentedLagrangian, ConjugateGradient, Newton
from ...algorithms.algorithm import Algorithm
from ...learning.race import Family
from ...problems.criterion import Criterion
from ...problems.programs.nonlinear_programs import NonlinearPrograms, stationary_below
from ...problems.programs.quadratic_programs import largest
from ...problems.vector_points import Form
from ..experiment import LearningSetup

LARGEST_HESSIAN = 150
"""Coordinates up to which a Hessian in every step is tried."""

OUTER = {"log_penalty": (-4.0, 9.0), "log_growth": (0.3, 4.0), "log_balance": (-5.0, 1.5)}
"""The first penalty, its growth, and how soon multipliers are updated."""

INNER = {"log_damping": (-14.0, 2.0), "log_shrink": (-4.0, -0.1), "log_grow": (0.5, 4.0)}
"""The damping of Newton's method."""

USUAL = {"log_penalty": 2.3, "log_growth": 2.3, "log_balance": -1.2}


FEASIBLE = 1e-6
"""The least violation that a default criterion asks for."""


def classical_methods(problem_class: NonlinearPrograms) -> dict[str, Algorithm]:
    """Augmented Lagrangian methods as the books have them, by name."""
    key = jax.random.key(0)
    dimension = Form.of(jax.eval_shape(lambda: problem_class.first(problem_class.sample(key), key))).dimension
    found: dict[str, Algorithm] = {
        "augmented Lagrangian, L-BFGS": AugmentedLagrangian(LBFGS()),
        "augmented Lagrangian, CG": AugmentedLagrangian(ConjugateGradient()),
    }
    if dimension <= LARGEST_HESSIAN:
        found["augmented Lagrangian, Newton"] = AugmentedLagrangian(Newton())
    return found


def relative_criterion(problem_class: NonlinearPrograms, reduction: float) -> Criterion:
    """Solved means that slope and violation are small against what they typically are at the start."""
    key = jax.random.key(0)

    def at_start(problem: Any) -> tuple[Scalar, Scalar]:
        x = problem_class.first(problem, key)
        equal, unequal = problem_class.constraints(x, problem)
        slope = jax.grad(problem_class.objective)(x, problem)
        steepest = jnp.max(jnp.stack([jnp.max(jnp.abs(part)) for part in jax.tree.leaves(slope)]))
        return steepest, jnp.maximum(largest(equal), largest(jnp.maximum(unequal, 0.0)))

    slopes, violations = jax.vmap(at_start)(problem_class.draw(key, problem_class.at_most(64)))
    slope, violation = float(np.median(slopes)), float(np.median(violations))
    if not (np.isfinite([slope, violation]).all() and slope > 0):
        raise ValueError(
            f"{type(problem_class).__name__} starts at points where the gradient of the objective is {slope:g} and the "
            f"constraints are violated by {violation:g}, so no criterion can be derived from them: define one in the "
            "file, such as `criterion = loa.stationary_below(1e-6)`."
        )
    return stationary_below(float(f"{reduction * slope:.1e}"), float(f"{max(reduction * violation, FEASIBLE):.1e}"))


def for_nonlinear_programs(setup: LearningSetup) -> list[Family]:
    """Augmented Lagrangian methods with penalties that are tuned, around Newton's method with its damping as well."""

    def around_newton(log_penalty: float, log_growth: float, log_balance: float, **damping: float) -> Algorithm:
        return AugmentedLagrangian(Newton(**damping), log_penalty, log_growth, log_balance)  # pyright: ignore

    def around_cg(**numbers: float) -> Algorithm:
        return AugmentedLagrangian(ConjugateGradient(), **numbers)  # pyright: ignore[reportArgumentType]

    families = [Family("augmented Lagrangian, CG, tuned", "tuned", around_cg, OUTER, USUAL)]
    if "augmented Lagrangian, Newton" in setup.experiment.baselines:
        start = USUAL | {"log_damping": -5.0, "log_shrink": -1.5, "log_grow": 1.5}
        families.append(Family("augmented Lagrangian, Newton, tuned", "tuned", around_newton, OUTER | INNER, start))
    return families
