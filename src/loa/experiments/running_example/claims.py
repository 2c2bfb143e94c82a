"""The claims of the paper about its running example, each measured with loa and set beside theory."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, Scalar

from ...algorithms.algorithm import Stack
from ...algorithms.gradient_descent import GradientDescent
from ...problems.criterion import distance_below
from ...problems.examples.running_example import OutlierMixture, RunningExample
from ...problems.gaps import distance
from ...problems.problem_class import ProblemClass
from ...statistics import measures
from ...trajectory.evaluation import Performance, evaluate
from ...trajectory.functionals import Gap, Indicator
from ..experiment import Experiment
from . import theory

TOLERANCE = 1e-3
CONFIDENCE = 1 - 1e-6
"""Of the interval in which a measured mean must agree with theory: a false alarm in a million claims."""
HORIZONS = (1, 2, 5, 10, 20, 50, 100)


class Claim(NamedTuple):
    """A statement of the paper: what theory says, what was measured, and how far apart they may be."""

    statement: str
    theory: float
    measured: float
    tolerance: float

    @property
    def holds(self) -> bool:
        return abs(self.measured - self.theory) <= self.tolerance


def relative_squared_error(problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
    r"""\((e^{(t)} / e^{(0)})^2\), for a start at 0."""
    solution = problem_class.solution(problem)
    return ((x - solution) / solution) ** 2


def relative_error(problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
    r"""\(|e^{(t)} / e^{(0)}|\), for a start at 0."""
    return jnp.sqrt(relative_squared_error(problem_class, x, problem))


def squared_error(problem_class: ProblemClass, x: Any, problem: Any) -> Scalar:
    r"""\((e^{(t)})^2\)."""
    return (x - problem_class.solution(problem)) ** 2


def step_sizes(values: Any) -> Stack:
    """Gradient descent with each of these step sizes."""
    return Stack(GradientDescent(jnp.asarray(values)))


def measured_claims(setting: Experiment, key: Key[Array, ""]) -> list[Claim]:
    """Every claim of the paper about the running example."""
    stopping_key, outlier_key = jax.random.split(key)
    return [
        *_stopping_time_claims(setting, stopping_key),
        *_optimal_step_claims(setting),
        *_outlier_claims(outlier_key),
    ]


def _stopping_time_claims(setting: Experiment, key: Key[Array, ""]) -> list[Claim]:
    problem_class, horizon = setting.problem_class, setting.horizon
    assert isinstance(problem_class, RunningExample)
    draw_key, run_key = jax.random.split(key)
    problems = problem_class.draw(draw_key, setting.sizes["test"])
    found = []
    for name, algorithm in setting.baselines.items():
        assert isinstance(algorithm, GradientDescent)
        step = float(algorithm.step_size)
        result = evaluate(algorithm, problem_class, problems, criterion=setting.criterion, horizon=horizon, key=run_key)
        times = result["stopping_time"][:, 0]
        exact = np.minimum(theory.stopping_time(np.asarray(problems), step, TOLERANCE), horizon)
        agreement = float((times == exact).mean())
        expected = theory.expected_stopping_time(
            step, problem_class.smallest, problem_class.largest, TOLERANCE, horizon
        )
        estimate = measures.mean(times, confidence=CONFIDENCE)
        found += [
            Claim(f"τ = closed form (share), {name}", 1.0, agreement, 0.0),
            Claim(f"expected τ, {name}", expected, estimate, estimate.high - float(estimate)),
        ]
    return found


def _optimal_step_claims(setting: Experiment, num_problems: int = 2000, num_steps: int = 801) -> list[Claim]:
    """Best steps, found by trying many on problems that cover [m, L] evenly, so that means are integrals."""
    problem_class = setting.problem_class
    assert isinstance(problem_class, RunningExample)
    smallest, largest = problem_class.smallest, problem_class.largest
    worst_case = theory.worst_case_step(smallest, largest)
    grid = np.linspace(0.6, 1.6, num_steps) * worst_case
    cells = np.linspace(smallest, largest, num_problems + 1)
    functionals = [
        *(Gap(step=step, gap=relative_squared_error, name=f"squared_{step}") for step in HORIZONS),
        *(Gap(step=step, gap=relative_error, name=f"absolute_{step}") for step in (1, HORIZONS[-1])),
        Gap(step=1, gap=squared_error, name="from_zero_1"),
    ]
    result = evaluate(
        step_sizes(grid),
        problem_class,
        0.5 * (cells[1:] + cells[:-1]),
        criterion=setting.criterion,
        horizon=max(HORIZONS),
        key=jax.random.key(0),
        functionals=functionals,
    )

    def best(name: str) -> float:
        return float(grid[result[name].mean(axis=(1, 2)).argmin()])

    spacing = 2.0 * (grid[1] - grid[0])
    at_worst_case = result["squared_1"].mean(axis=(1, 2))[np.abs(grid - worst_case).argmin()]
    error = theory.expected_squared_error(grid[np.abs(grid - worst_case).argmin()], 1, smallest, largest)
    horizons = [
        Claim(
            f"best step after t = {t}", theory.best_step_at_horizon(t, smallest, largest), best(f"squared_{t}"), spacing
        )
        for t in HORIZONS[1:]
    ]
    return [
        Claim("squared error at t = 1, worst-case step", error, float(at_worst_case), 1e-6),
        Claim(
            "best step, expected squared error", theory.best_step_squared(smallest, largest), best("squared_1"), spacing
        ),
        Claim(
            "best step, expected absolute error",
            theory.best_step_absolute(smallest, largest),
            best("absolute_1"),
            spacing,
        ),
        Claim(
            "best step, plain squared error from 0",
            theory.best_step_squared_from_zero(smallest, largest),
            best("from_zero_1"),
            spacing,
        ),
        *horizons,
        Claim("… which tends to the worst-case step", worst_case, best(f"squared_{HORIZONS[-1]}"), 0.02 * worst_case),
        Claim(
            f"best step, expected absolute error after t = {HORIZONS[-1]}, which tends to the worst-case step",
            worst_case,
            best(f"absolute_{HORIZONS[-1]}"),
            0.02 * worst_case,
        ),
        *_limits(result, grid, smallest, largest),
    ]


def _limits(result: Performance, grid: np.ndarray, smallest: float, largest: float) -> list[Claim]:
    """The norms of the contraction in Lᵖ tend to its supremum over the problems, from below."""
    place, last = int(np.abs(grid - theory.worst_case_step(smallest, largest)).argmin()), HORIZONS[-1]
    supremum = theory.largest_contraction(grid[place], smallest, largest)
    found = []
    for words, name, power in (("squared", "squared", 2), ("absolute", "absolute", 1)):
        norm = float(result[f"{name}_{last}"][place].mean()) ** (1 / (power * last))
        exact = theory.norm_of_contraction(grid[place], power * last, smallest, largest)
        found += [
            Claim(f"(expected {words} error)^(1/{power}t), t = {last}", exact, norm, 1e-3 * exact),
            Claim("… which tends to the worst case sup |1 - αθ|", supremum, norm, supremum - exact + 1e-3 * exact),
        ]
    return found


def _outlier_claims(key: Key[Array, ""], num_problems: int = 100_000) -> list[Claim]:
    """One step with α = 1/m solves 99% of the outlier mixture; with the worst-case step far fewer."""
    mixture = OutlierMixture()
    draw_key, run_key = jax.random.split(key)
    problems = mixture.draw(draw_key, num_problems)
    curvatures = {mixture.curvature: 1 - mixture.outlier_probability, mixture.outlier: mixture.outlier_probability}
    steps = {
        "step 1/m": 1.0 / mixture.curvature,
        "worst-case step": theory.worst_case_step(mixture.curvature, mixture.outlier),
    }
    success = Indicator("success", lambda gap: gap < TOLERANCE, of=Gap(step=1, gap=distance))
    criterion = distance_below(TOLERANCE)
    found = []
    for name, step in steps.items():
        result = evaluate(
            GradientDescent(step), mixture, problems, criterion=criterion, horizon=1, key=run_key, functionals=[success]
        )
        solved = measures.probability(result["success"], confidence=CONFIDENCE)
        exact = theory.one_step_success(step, curvatures, TOLERANCE)
        margin = max(solved.high - float(solved), float(solved) - solved.low)
        found.append(Claim(f"solved after one step, {name}", exact, solved, margin))
    return found
