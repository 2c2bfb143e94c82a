"""How algorithms fare on all instances of a log: learning beside testing, and from the first to the last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..algorithms.algorithm import Algorithm
from ..experiments.experiment import Experiment
from ..problems.logs.log import Log
from ..statistics import measures
from ..trajectory.evaluation import evaluate
from ..trajectory.functionals import StoppingTime
from ..trajectory.optimal_losses import with_optimal_losses
from .by_size import by_size
from .directory import RunDirectory

MOST = 5000
"""Of a longer log as many instances are shown, at equal distances."""


class OverLog(NamedTuple):
    """Stopping times on instances of a log, in its order.

    Fields:
        places: of the instances in the log.
        roles: what each was used for, as text; empty for nothing.
        times: by algorithm.
    """

    places: np.ndarray
    roles: np.ndarray
    times: Mapping[str, np.ndarray]


def over_log(
    experiment: Experiment, algorithms: Mapping[str, Algorithm], seed: int, place: RunDirectory
) -> OverLog | None:
    """Run all algorithms on the instances of a log; None if problems do not come from one.

    No certificate rests on this: it shows whether learning has overfitted, and whether times change.
    """
    log = experiment.recipe.log
    if log is None:
        return None
    places = np.unique(np.linspace(0, len(log.instances) - 1, min(MOST, len(log.instances))).astype(int))

    def measure(algorithm: Algorithm) -> dict[str, Any]:
        problems = jax.tree.map(jnp.asarray, log.instances[places])
        performance = evaluate(
            algorithm, experiment.problem_class, with_optimal_losses(experiment.problem_class, problems),
            criterion=experiment.criterion, horizon=experiment.horizon, key=jax.random.key(0x7E57),
            functionals=(StoppingTime(),), executor=place.executor, checkpoints=place.evaluations,
        )  # fmt: skip
        return {"times": performance["stopping_time"][:, 0].astype(float)}

    times = {
        name: place.arrays(f"{name} over the log", lambda algorithm=algorithm: measure(algorithm))["times"]
        for name, algorithm in algorithms.items()
    }
    return OverLog(places, log.roles(seed)[places], times)


def log_summary(log: Log, found: OverLog) -> dict[str, Any]:
    """What a summary says about a log: its instances, their roles, and mean stopping times by role and by size."""
    by_role = {
        role: {name: _mean(times[found.roles == role]) for name, times in found.times.items()}
        for role in log.sizes
        if (found.roles == role).sum() > 1
    }
    return {
        "instances": len(log.instances),
        "order": log.order,
        "rule": log.rule,
        "skipped": list(log.instances.skipped),
        "equal": list(log.instances.equal),
        "by_role": by_role,
        "by_size": by_size(log, found.places, found.roles, found.times),
    }


def _mean(times: np.ndarray) -> dict[str, float | int]:
    number = measures.mean(times)
    return {"mean": float(number), "low": float(number.low), "high": float(number.high), "instances": len(times)}
