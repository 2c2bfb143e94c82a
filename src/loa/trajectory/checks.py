"""Checks of arguments made before any trajectory runs, and warnings of what is likely to be a slip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Scalar

from ..algorithms.algorithm import Algorithm, Stack
from ..messages.arguments import check_type, shown
from ..messages.warning import warn
from ..problems import gaps
from ..problems.criterion import Criterion, at_levels
from ..problems.problem_class import ProblemClass, check_key, count_problems, whole_number
from .functionals import Functional, Indicator
from .job import Job
from .walk import start_key, trajectory_key


def check_arguments(
    algorithm: Any,
    problem_class: Any,
    problems: Any,
    criterion: Any,
    horizon: Any,
    key: Any,
    functionals: Any,
    replicates: Any,
    width: Any,
    devices: Any,
) -> tuple[tuple[Functional, ...], tuple[Any, ...]]:
    """Refuse arguments that make no sense by themselves; return functionals and devices as tuples."""
    check_type("algorithm", algorithm, Algorithm | Stack, "a loa.Algorithm or a loa.Stack")
    check_setting(problem_class, criterion, horizon, key)
    whole_number("replicates", replicates)
    whole_number("width", 1 if width is None else width)
    for functional in check_functionals(functionals):
        if functional.steps > horizon:
            raise ValueError(f"{functional.name} needs {functional.steps} steps, but the horizon is {horizon}.")
    names = [functional.name for functional in functionals]
    if len(set(names)) < len(names):
        raise ValueError(f"functionals must have different names, got {', '.join(names)}; give them name=….")
    if devices is not None:
        _check_devices(devices)
    count_problems(problems)
    chosen = jax.devices() if devices is None else devices
    return tuple(functionals), () if devices is None and len(chosen) == 1 else tuple(chosen)


def check_setting(problem_class: Any, criterion: Any, horizon: Any, key: Any) -> None:
    """Refuse what cannot be the setting of trajectories: class of problems, criterion, horizon and key."""
    check_key(key)
    whole_number("horizon", horizon)
    check_type("problem_class", problem_class, ProblemClass, "an instance of a loa.ProblemClass")
    check_type("criterion", criterion, Criterion, "a loa.Criterion such as loa.loss_below(1e-6)")


def check_algorithm(name: str, algorithm: Any) -> None:
    """Refuse what is not one algorithm."""
    check_type(name, algorithm, Algorithm, "one loa.Algorithm (of a stack, take stack[k])")


def check_functionals(functionals: Any) -> Sequence[Functional]:
    """Refuse what is not a list of functionals."""
    texts = isinstance(functionals, str)
    check_type("functionals", None if texts else functionals, Sequence, "a list such as [loa.StoppingTime()]")
    for functional in functionals:
        check_type("a functional", functional, Functional, "an instance such as loa.StoppingTime()")
    return functionals


def _check_devices(devices: Any) -> None:
    if not isinstance(devices, Sequence) or not all(isinstance(device, jax.Device) for device in devices):
        raise TypeError(f"devices must be a list of JAX devices, such as jax.devices(), got {shown(devices)}.")
    if len(devices) == 0:
        raise ValueError("devices must name at least one device, or be left out.")


def uses_loss_gap(functional: Functional) -> bool:
    """Whether a functional measures the gap to the optimal loss."""
    inner = functional.of if isinstance(functional, Indicator) else functional
    return getattr(inner, "gap", None) is gaps.loss_gap


def warn_of_unknown_optimum(job: Job) -> None:
    """Warn of functionals and a criterion that measure the gap to an optimal loss that the class does not state."""
    asking = [functional.name for functional in job.functionals if uses_loss_gap(functional)]
    asking += [f"the criterion {each!r}" for each in job.criterion.thresholds() if each.gap is gaps.loss_gap]
    if asking and not job.problem_class.has("optimal_loss"):
        name, verb = type(job.problem_class).__name__, "measures" if len(asking) == 1 else "measure"
        warn(
            f"{', '.join(asking)} {verb} the loss above its minimum, which {name} does not state, so 0 is taken: "
            f"define `def optimal_loss(self, problem)` in {name} (`return 0.0` if it is 0), or pass another gap.",
        )


def warn_of_bad_numbers(job: Job, diverged: Any) -> None:
    """Say why trajectories diverged, where a problem itself is impossible, such as a Box with lower > upper.

    Arguments:
        job: what was run.
        diverged: whether each trajectory diverged, in an array (candidate, problem, replicate).
    """
    places = np.flatnonzero(np.any(diverged, axis=(0, 2)))
    if not places.size:
        return
    problem = jax.tree.map(lambda leaf: np.asarray(leaf[places[0]]), job.problems)
    try:
        job.problem_class.check_numbers(problem)
    except (TypeError, ValueError) as error:
        warn(f"{places.size} problems diverged, first problem {int(job.indices[places[0]])}: {error}")


def warn_of_precision(job: Job) -> None:
    """Warn of a criterion that floating-point numbers of the class cannot resolve."""
    thresholds = job.criterion.thresholds()
    values = _gaps_at_start(at_levels(job), tuple(threshold.gap for threshold in thresholds))
    for threshold, gap in zip(thresholds, values, strict=True):
        scale = 1.0 if threshold.gap is gaps.loss else max(1.0, abs(float(gap)))  # a small loss may be a square
        resolution = float(jnp.finfo(gap.dtype).eps) * scale
        if np.isfinite(scale) and 0 < threshold.tolerance < resolution:
            advice = "a larger tolerance"
            if gap.dtype != jnp.float64:
                advice = f"float64 (jax.config.update('jax_enable_x64', True)) or {advice}"
            warn(
                f"the criterion {threshold!r} is below what {gap.dtype} resolves (about {resolution:.0e} here), so it "
                f"may never be met: use {advice}.",
            )


@eqx.filter_jit
def _gaps_at_start(job: Job, chosen: tuple[gaps.Gap, ...]) -> list[Scalar]:
    problem = job.first_problem
    x0 = job.problem_class.start(problem, start_key(trajectory_key(job.key, job.indices[0])))
    x0 = jax.tree.map(jnp.asarray, x0)
    return [jnp.asarray(gap(job.problem_class, x0, problem)) for gap in chosen]
