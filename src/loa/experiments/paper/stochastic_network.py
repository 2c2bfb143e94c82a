"""Training a network of 351 parameters on random polynomials, mini-batches of five (section 6.5)."""

from __future__ import annotations

import jax

from ...algorithms import SGD, Adam
from ...architectures import LearnedStochasticNewton, LearnedStochasticTraining, LowRankCurvature
from ...problems import StochasticNetworkTraining
from ...problems.criterion import loss_below
from ...trajectory.functionals import ContractionFactor, OracleCalls, StoppingTime
from ..experiment import Experiment, LearningSetup, Presentation, Preset, Prior, Recipe, Task
from ..recipes import curvature_near_solutions, trained, tuned
from .fitted_curves import fitted_curves


def experiment() -> Experiment:
    task = Task(
        name="stochastic-network",
        problem_class=StochasticNetworkTraining(),
        criterion=loss_below(0.75),
        horizon=2500,
        functionals=(StoppingTime(), ContractionFactor(cap=1.0), OracleCalls()),
        baselines={
            # by `loa.tune`, see docs/baselines.md
            "Adam, tuned": Adam(0.0065, beta1=0.907, beta2=0.975, stochastic=True),
            "Adam": Adam(0.02, stochastic=True),
            "Adam, published rate": Adam(0.004, stochastic=True),
            "SGD": SGD(0.0002),
        },
    )
    recipe = Recipe(
        learned={"loa": learn, "paper": learn_as_paper},
        sizes={"prior": 500, "posterior": 1000, "test": 250, "validation": 250, "held-out": 4000},
        prior=Prior(at_least=0.85),
        presets={
            "quick": Preset(
                {"prior": 100, "posterior": 500, "held-out": 1000, "test": 100}, effort=0.3, candidates=5, shown=32
            ),
            "paper": Preset({"posterior": 12_000, "held-out": 20_000, "test": 4000}),
            "pretrained": Preset({"posterior": 1000, "held-out": 4000, "test": 250}),
        },
    )
    presentation = Presentation(
        title="Training a network on random polynomials, mini-batches of five",
        shown=100,
        published={
            "stopping_time": {"mean": 1370, "median": 1090, "bound": 1760},
            "contraction_factor": {"mean": 0.989, "bound": 1.079},
        },
        notes=(
            "The start was drawn once and belongs to the class.",
            "The published numbers are for the looser criterion loss < 0.9.",
        ),
        pictures=fitted_curves,
    )
    return Experiment(task, recipe, presentation)


def learn(setup: LearningSetup) -> LearnedStochasticNewton:
    """The curvature of the class as with full batches; steps, decay and averages such that noise does little harm."""
    curvature = LowRankCurvature.of(curvature_near_solutions(setup), rank=96)
    space = {
        "log_step": (-1.4, -0.2),
        "log_decay_time": (4.0, 7.0),
        "log_floor": (-4.0, -0.5),
        "log_damping": (-0.8, 1.0),
        "log_radius": (-2.8, -1.2),
        "momentum": (-1.0, 1.0),
        "averaging": (-0.5, 2.0),
        "step_power": (0.0, 1.0),
        "averaging_power": (0.3, 1.5),
        "damping_power": (0.0, 2.0),
    }
    return tuned(  # pyright: ignore[reportReturnType]
        setup,
        lambda **scalars: LearnedStochasticNewton(curvature, loss_memory=2.6, **scalars),
        space,
        problems=500,
        candidates=48,
        rounds=5,
    )


def learn_as_paper(setup: LearningSetup) -> LearnedStochasticTraining:
    """The paper's architecture, objective and teacher."""
    network = LearnedStochasticTraining(key=jax.random.fold_in(setup.key, 2))
    teacher = Adam(0.02, stochastic=True)
    return trained(  # pyright: ignore[reportReturnType]
        setup, network, teacher, validation=100, steps=20_000, learning_rate=1e-4, imitation_steps=100
    )
