"""The figure of the running example: trajectories with their solution regions, and the stopping times they yield."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...algorithms.gradient_descent import GradientDescent
from ...problems.examples.running_example import RunningExample
from ...trajectory.kernels import trajectories
from . import theory as theory

COLORS = ("#0072B2", "#E69F00", "#009E73")
MARKERS = ("o", "s", "^")


def draw(problem_class: RunningExample, step_size: float, tolerance: float, stopping_times: np.ndarray) -> Figure:
    """Left: three trajectories and where they enter their regions. Right: the distribution of the stopping time.

    `tolerance` is that of the left panel, wide enough to be seen; `stopping_times` were measured with the same one.
    """
    figure = Figure(figsize=(9.6, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    spread = np.array([0.03, 0.22, 0.92])
    curvatures = problem_class.smallest + spread * (problem_class.largest - problem_class.smallest)
    _draw_trajectories(left, problem_class, curvatures, step_size, tolerance)
    _draw_distribution(right, problem_class, step_size, tolerance, stopping_times)
    return figure


def _draw_trajectories(
    axes: Axes, problem_class: RunningExample, curvatures: np.ndarray, step_size: float, tolerance: float
) -> None:
    algorithm = GradientDescent(step_size)
    times = theory.stopping_time(curvatures, step_size, tolerance).astype(int)
    horizon = int(times.max()) + 2
    paths = trajectories(
        algorithm, problem_class, jnp.asarray(curvatures), horizon=horizon, key=jax.random.key(0)
    ).iterates
    for path, curvature, time, color, marker in zip(paths[:, 0], curvatures, times, COLORS, MARKERS, strict=True):
        steps = np.arange(horizon + 1)
        axes.axhspan(1 / curvature - tolerance, 1 / curvature + tolerance, color=color, alpha=0.18, lw=0)
        axes.plot(steps[: time + 1], path[: time + 1], color=color, marker=marker, ms=4.5, lw=1.4,
                  label=rf"$\theta={curvature:.1f}$")  # fmt: skip
        axes.plot(steps[time:], path[time:], color=color, lw=1.0, ls=":")
        axes.plot(time, path[time], marker="x", color="#D00000", ms=10, mew=2.4, ls="none", zorder=5)
    axes.plot([], [], marker="x", color="#D00000", ms=8, mew=2.2, ls="none", label=r"stopped at $\tau$")
    axes.set(xlabel="$t$", ylabel="$x^{(t)}$", title=r"Trajectories and solution regions $\mathcal{C}_\theta$")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, loc="center right", bbox_to_anchor=(1.0, 0.62), fontsize=9)


def _draw_distribution(
    axes: Axes, problem_class: RunningExample, step_size: float, tolerance: float, stopping_times: np.ndarray
) -> None:
    values = np.arange(int(stopping_times.max()) + 1)
    observed = np.bincount(stopping_times, minlength=values.size) / stopping_times.size
    cells = np.linspace(problem_class.smallest, problem_class.largest, 1_000_001)
    exact_times = theory.stopping_time(0.5 * (cells[1:] + cells[:-1]), step_size, tolerance).astype(int)
    exact = np.bincount(exact_times, minlength=values.size)[: values.size] / exact_times.size
    axes.bar(values, observed, color="#56B4E9", width=0.85, label=f"measured on {stopping_times.size:,} problems")
    axes.plot(values, exact, ls="none", marker="_", ms=11, mew=2, color="black", label="closed form")
    axes.axvline(stopping_times.mean(), color="#D55E00", ls="--", lw=1.6, label=f"mean {stopping_times.mean():.2f}")
    median = np.sort(stopping_times)[(stopping_times.size - 1) // 2]
    axes.axvline(median, color="#D55E00", ls=":", lw=1.8, label=f"median {median}")
    axes.set(xlabel=r"$\tau$", ylabel="probability", title=r"Distribution of the stopping time $\tau$")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, fontsize=9)
