"""What trained networks look like: the data of some problems, and the curves that algorithms have fitted to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ...algorithms.algorithm import Algorithm
from ...problems.examples.network_training import prediction
from ...trajectory.kernels import iterates_after
from ..experiment import Experiment

if TYPE_CHECKING:
    import xarray

EXAMPLES = 3
GRID = np.linspace(-2.0, 2.0, 201)


def fitted_curves(
    experiment: Experiment, algorithms: Mapping[str, Algorithm], problems: Any, checkpoints: Path | None = None
) -> xarray.Dataset:
    """Curves after a quarter of the horizon, of the learned algorithm and of the first baseline."""
    import xarray

    steps = experiment.horizon // 4
    problems = jax.tree.map(lambda leaf: leaf[:EXAMPLES], problems)
    versions = {"start": (next(iter(algorithms.values())), 0)}
    versions |= {f"{name}, {steps} steps": (algorithms[name], steps) for name in list(algorithms)[:2]}
    curves = [_curves(experiment, algorithm, problems, steps, checkpoints) for algorithm, steps in versions.values()]
    return xarray.Dataset(
        {
            "inputs": (("example", "point"), np.asarray(problems.inputs)),
            "targets": (("example", "point"), np.asarray(problems.targets)),
            "curve": (("example", "version", "grid"), np.stack(curves, axis=1)),
        },
        {"version": list(versions), "grid": GRID},
        {"kind": "regressions"},
    )


def _curves(
    experiment: Experiment, algorithm: Algorithm, problems: Any, steps: int, checkpoints: Path | None = None
) -> np.ndarray:
    options: dict[str, Any] = dict(steps=steps, key=jax.random.key(0), checkpoints=checkpoints)
    points = iterates_after(algorithm, experiment.problem_class, problems, **options)
    return np.asarray(jax.vmap(lambda x: prediction(x, jnp.asarray(GRID)))(points))
