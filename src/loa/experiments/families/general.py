"""The families of algorithms that race for a problem class of which nothing particular is known.

All ranges that are searched are relative to what sample problems show: their curvature, losses and distances.
"""

from __future__ import annotations

from functools import cache, partial

import jax.numpy as jnp
import numpy as np

from ...algorithms import (
    ADMM,
    BFGS,
    FISTA,
    LBFGS,
    SGD,
    Adam,
    AndersonProximalGradient,
    HeavyBall,
    LevenbergMarquardt,
    Newton,
    SemismoothNewton,
)
from ...algorithms.algorithm import Algorithm
from ...architectures import (
    Curvature,
    DenseCurvature,
    LearnedBFGS,
    LearnedProximalNewton,
    LearnedQuasiNewton,
    LearnedSplitting,
    LearnedStochasticNewton,
    ProblemAdaptive,
)
from ...architectures.proximal_newton import factor_of
from ...learning import adapt, first_step
from ...learning.race import Family, Race
from ...learning.tuning import Interval, Space
from ...problems.programs.nonlinear_programs import NonlinearPrograms
from ...problems.programs.quadratic_programs import QuadraticPrograms
from ...problems.role import Role
from ...storage.plain_json import encoded
from ..experiment import LearningSetup
from ..recipes import tuned
from .nonlinear_programs import for_nonlinear_programs
from .programs import for_programs
from .scales import LARGEST_DENSE, TEACHER_STEPS, Sample

TRAINING = 64
"""Problems that a race is run on, at full effort."""

LARGEST_HESSIAN = 150
"""Coordinates up to which a Hessian in every step is tried."""

LARGEST_FACTORED = 1000
"""Coordinates up to which a Hessian at the start is tried."""

LARGEST_NEWTON = 300
"""Coordinates up to which linear equations with all of them are solved in every step."""

SWEEPS = 4
"""How many sweeps of a splitting method make a step: each costs less than a gradient and the checks between steps."""

ADAPTING = 32
"""How many settings at a time are tried to learn which suits which problem, at full effort."""

SHARED = 0.5
"""The spread of the Hessians of a class up to which their average may stand for each of them."""


def learn(setup: LearningSetup) -> Algorithm:
    """The winner of a race among families that fit the class, classical ones included."""
    experiment, problem_class = setup.experiment, setup.experiment.problem_class
    if problem_class.has("stochastic_loss"):
        families = _stochastic(setup)
    elif isinstance(problem_class, QuadraticPrograms):
        families = for_programs(setup, problem_class)
    elif isinstance(problem_class, NonlinearPrograms):
        families = for_nonlinear_programs(setup)
    elif problem_class.has("prox"):
        families = _proximal(setup)
    else:
        families = _smooth(setup)
    classical = [Family.classical(name, each) for name, each in experiment.baselines.items()]
    race = Race(
        problem_class,
        training=setup.problems(setup.times(TRAINING), optimal_losses=True),
        validation=experiment.draw(Role.validation, setup.seed, optimal_losses=True),
        criterion=experiment.criterion,
        horizon=experiment.horizon,
        cost=setup.cost,
        functionals=experiment.functionals,
        key=setup.key,
        effort=2 * setup.effort,
        checkpoints=setup.evaluations,
        report=print if setup.progress else lambda line: None,
    )
    standings = race.run([*classical, *families])
    setup.facts["race"] = encoded([each.to_dict() for each in standings])
    return standings[0].algorithm


def _smooth(setup: LearningSetup) -> list[Family]:
    """Newton's method and its relatives, and a quasi-Newton method in the learned curvature."""
    sample = Sample(setup, LBFGS())
    families = [_quasi_newton(sample, sample.curvature, "learned curvature"), _adaptive_heavy_ball(sample)]
    if sample.has_images:
        families.append(_quasi_newton(sample, sample.cosine_curvature, "learned curvature of images"))
    if sample.dimension <= LARGEST_HESSIAN:
        families.append(Family("Newton", "tuned", Newton, NEWTON))
        families += [_own_bfgs(sample), _learned_bfgs(sample)]
    if sample.dimension <= LARGEST_NEWTON and setup.experiment.problem_class.has("residuals"):
        families.append(Family("Levenberg-Marquardt", "tuned", LevenbergMarquardt, NEWTON))
    return families


NEWTON = {"log_damping": (-14.0, 2.0), "log_shrink": (-4.0, -0.1), "log_grow": (0.5, 4.0), "scaling": (0.0, 1.0)}


def _own_bfgs(sample: Sample) -> Family:
    """BFGS from the Hessian at the start."""

    def make(radius: float, **numbers: float) -> BFGS:
        return BFGS(log_radius=sample.scales.log_distance + radius, **numbers)  # pyright: ignore

    space = {"log_damping": (-14.0, 0.0), "log_step": (-0.7, 0.2), "radius": (-2.0, 3.0)}
    return Family("BFGS from the Hessian at the start", "tuned", make, space, {"log_step": 0.0})


def _learned_bfgs(sample: Sample) -> Family:
    """BFGS from the average curvature."""
    curvature = sample.curvature
    assert isinstance(curvature, DenseCurvature)
    top = float(jnp.log(curvature.spectrum.max() + 1e-30))

    def make(floor: float, radius: float, log_step: float) -> LearnedBFGS:
        return LearnedBFGS(
            log_damping=top + floor,
            log_step=log_step,
            log_radius=sample.scales.log_distance + radius,
            curvature=curvature,
        )

    space = {"floor": (-14.0, 0.0), "log_step": (-0.7, 0.2), "radius": (-2.0, 3.0)}
    return Family("BFGS in learned curvature", "learned", make, space, {"log_step": 0.0})


def _heavy_ball_space(sample: Sample) -> Space:
    steepest = float(np.exp(sample.log_steepest))
    return {"step_size": Interval(1e-3 / steepest, 4.0 / steepest, logarithmic=True), "momentum": (0.0, 0.99)}


def _adaptive_heavy_ball(sample: Sample) -> Family:
    """Heavy ball with step size and momentum for each problem, by a regression that is learned when it is first run."""
    setup, experiment = sample.setup, sample.setup.experiment

    @cache
    def learned() -> ProblemAdaptive:
        return adapt(
            HeavyBall, _heavy_ball_space(sample), experiment.problem_class, setup.problems(setup.times(TRAINING)),
            criterion=experiment.criterion, horizon=experiment.horizon, key=setup.key,
            candidates=setup.times(ADAPTING), checkpoints=setup.evaluations,
        ).algorithm  # fmt: skip

    def make(strength: float, step: float, momentum: float) -> ProblemAdaptive:
        return learned().changed(strength, (step, momentum))

    space = {"strength": (0.0, 1.25), "step": (-0.7, 0.7), "momentum": (-0.1, 0.1)}
    return Family(
        "problem-adaptive heavy ball", "learned", make, space, {"strength": 1.0, "step": 0.0, "momentum": 0.0}
    )


def _quasi_newton(sample: Sample, curvature: Curvature, words: str) -> Family:
    scales = sample.scales
    top = float(jnp.log(curvature.spectrum.max() + 1e-30))

    def make(floor: float, damping: float, power: float, log_step: float, radius: float) -> LearnedQuasiNewton:
        return LearnedQuasiNewton(
            curvature,
            log_floor=top + floor,
            log_damping=top + damping - power * scales.log_loss,
            power=power,
            log_step=log_step,
            log_radius=scales.log_distance + radius,
        )

    space = {
        "floor": (-16.0, -2.0), "damping": (-14.0, 1.0), "power": (0.0, 1.5), "log_step": (-0.7, 0.2),
        "radius": (-2.0, 3.0),
    }  # fmt: skip
    return Family(f"quasi-Newton in {words}", "learned", make, space)


def _proximal(setup: LearningSetup) -> list[Family]:
    """Splitting and semismooth Newton methods, in the curvature of the problem or of the class."""
    sample = Sample(setup, FISTA(restart=True))
    families = [Family("Anderson acceleration", "tuned", AndersonProximalGradient, ANDERSON)]
    if sample.dimension <= LARGEST_FACTORED:
        space = {"log_penalty": (-7.0, 4.0), "relaxation": (1.0, 1.95)}
        families.append(Family("ADMM", "tuned", partial(ADMM, sweeps=SWEEPS), space))
    separable = sample.dimension <= LARGEST_NEWTON and sample.separable
    newton = partial(SemismoothNewton, separable=separable, descent=not sample.quadratic)
    if separable or sample.dimension <= LARGEST_HESSIAN:  # otherwise a step takes too many derivatives of the mapping
        families.append(Family("semismooth Newton", "tuned", partial(newton, frozen=True), SEMISMOOTH))
    if sample.dimension <= LARGEST_HESSIAN and not sample.quadratic:
        families.append(Family("semismooth Newton, new Hessians", "tuned", newton, SEMISMOOTH, CAREFUL))
    if sample.spread <= SHARED:
        families.append(_splitting(sample))
        needed = 2 * sample.dimension + 2
        if sample.dimension <= LARGEST_DENSE // 2 and sample.separable and setup.at_most(needed) == needed:
            families.append(_proximal_newton(setup, sample))
    return families


ANDERSON = {"log_step": (0.0, 0.69), "log_progress": (0.0, 2.5), "log_regularization": (-25.0, -5.0)}
SEMISMOOTH = {
    "log_damping": (-14.0, 1.0),
    "log_shrink": (-3.0, 0.0),
    "log_progress": (-0.7, 5.0),
    "log_step": (0.0, 6.0),
}
CAREFUL = {"log_damping": 0.0, "log_shrink": -0.5, "log_progress": 0.0, "log_step": 0.0}


def _splitting(sample: Sample) -> Family:
    curvature = sample.curvature
    mean = float(jnp.log(jnp.mean(curvature.spectrum) + 1e-30))

    def make(penalty: float, **numbers: float) -> LearnedSplitting:
        return LearnedSplitting(curvature, log_penalty=mean + penalty, sweeps=SWEEPS, **numbers)  # pyright: ignore

    space = {"penalty": (-7.0, 4.0), "log_scale": (-0.5, 1.5), "relaxation": (1.0, 1.95)}
    start = {"log_scale": 0.0, "relaxation": 1.6}
    return Family("splitting in learned curvature", "learned", make, space, start)


def _proximal_newton(setup: LearningSetup, sample: Sample) -> Family:
    factor, top = factor_of(sample.matrix), float(np.log(np.linalg.norm(sample.matrix, 2) + 1e-30))
    problems = setup.problems(max(2 * sample.dimension + 2, setup.times(5 * sample.dimension)))
    jump = first_step(
        setup.experiment.problem_class, problems, teacher=sample.teacher, steps=setup.experiment.horizon,
        key=setup.key, checkpoints=setup.evaluations,
    )  # fmt: skip

    def make(floor: float, **numbers: float) -> LearnedProximalNewton:
        return LearnedProximalNewton(factor, log_floor=top + floor, first_step=jump, **numbers)  # pyright: ignore

    space = {
        "floor": (-11.5, -6.0), "log_damping": (-4.0, 3.0), "power": (0.2, 2.0), "log_up": (0.0, 2.0),
        "log_down": (-1.2, 0.0),
    }  # fmt: skip
    return Family("proximal Newton in learned curvature", "learned", make, space)


def _stochastic(setup: LearningSetup) -> list[Family]:
    """Descent with the best step size, and preconditioned momentum in the learned curvature."""
    sample = Sample(setup, LBFGS())
    steepest = float(np.exp(sample.log_steepest))
    steps = {"step_size": Interval(1e-3 / steepest, 4.0 / steepest, logarithmic=True)}
    families = [Family("SGD", "tuned", SGD, steps)]
    if sample.dimension <= LARGEST_DENSE:
        families.append(_stochastic_newton(sample))
    return families


def _stochastic_newton(sample: Sample) -> Family:
    scales, curvature = sample.scales, sample.curvature
    top = float(jnp.log(curvature.spectrum.max() + 1e-30))

    def make(floor: float, damping: float, radius: float, **numbers: float) -> LearnedStochasticNewton:
        return LearnedStochasticNewton(
            curvature,
            log_floor=top + floor,
            log_damping=top + damping - scales.log_loss,
            log_radius=scales.log_distance + radius,
            loss_memory=2.6,
            **numbers,  # pyright: ignore[reportArgumentType]
        )

    space = {
        "floor": (-14.0, -2.0), "damping": (-12.0, 1.0), "radius": (-6.0, 0.0), "log_step": (-3.0, 0.0),
        "log_decay_time": (2.0, 7.0), "momentum": (-1.0, 2.0), "averaging": (-0.5, 3.0), "step_power": (0.0, 1.0),
        "averaging_power": (0.3, 1.5), "damping_power": (0.0, 2.0),
    }  # fmt: skip
    return Family("momentum in learned curvature", "learned", make, space)


def tuned_heavy_ball(setup: LearningSetup) -> Algorithm:
    """Heavy ball with the best step size and momentum."""
    return tuned(setup, HeavyBall, _heavy_ball_space(Sample(setup, LBFGS())), problems=64, candidates=32)


def tuned_adam(setup: LearningSetup) -> Algorithm:
    """Mini-batch Adam with the best learning rate and momentum."""
    rate = float(np.exp(Sample(setup, LBFGS()).scales.log_distance)) / TEACHER_STEPS
    space = {"learning_rate": Interval(1e-3 * rate, 10.0 * rate, logarithmic=True), "beta1": (0.5, 0.99)}
    return tuned(setup, lambda **numbers: Adam(stochastic=True, **numbers), space, problems=64, candidates=32)
