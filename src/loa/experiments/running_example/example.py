"""The running example of section 3: gradient descent on one-dimensional quadratics."""

from __future__ import annotations

from ...algorithms.algorithm import Algorithm
from ...algorithms.gradient_descent import GradientDescent
from ...problems.criterion import distance_below
from ...problems.examples.running_example import RunningExample
from ...problems.gaps import distance
from ...trajectory.functionals import ContractionFactor, OracleCalls, StoppingTime
from ..experiment import Experiment, LearningSetup, Presentation, Prior, Recipe, Task
from ..recipes import tuned
from . import theory
from .claims import TOLERANCE
from .confirmation import check_claims


def experiment() -> Experiment:
    """Gradient descent on one-dimensional quadratics with curvature uniform on [1, 10]."""
    problem_class = RunningExample(smallest=1.0, largest=10.0)
    smallest, largest = problem_class.smallest, problem_class.largest
    steps = {
        "worst-case": theory.worst_case_step(smallest, largest),
        "expected-squared": theory.best_step_squared(smallest, largest),
        "expected-absolute": theory.best_step_absolute(smallest, largest),
    }
    task = Task(
        name="running-example",
        problem_class=problem_class,
        criterion=distance_below(TOLERANCE),
        horizon=200,
        functionals=(StoppingTime(), ContractionFactor(cap=1.0, gap=distance), OracleCalls()),
        baselines={name: GradientDescent(step) for name, step in steps.items()},
        gap=distance,
    )
    recipe = Recipe(
        learned={"loa": learn},
        sizes={"prior": 1000, "posterior": 1000, "test": 10_000, "validation": 250, "held-out": 4000},
        prior=Prior(candidates=20),
        guarded=False,  # theory speaks of the bare method
    )
    title, files = "One-dimensional quadratics, the running example", ("trajectories.png", "trajectories.pdf")
    presentation = Presentation(title=title, afterwards=check_claims, files=files)
    return Experiment(task, recipe, presentation)


def learn(setup: LearningSetup) -> Algorithm:
    """The step with the smallest mean stopping time on a sample of problems."""
    problem_class = setup.experiment.problem_class
    assert isinstance(problem_class, RunningExample)
    worst_case = theory.worst_case_step(problem_class.smallest, problem_class.largest)
    space = {"step_size": (0.2 * worst_case, 1.1 * worst_case)}
    return tuned(setup, GradientDescent, space, problems=1000, candidates=1000)
