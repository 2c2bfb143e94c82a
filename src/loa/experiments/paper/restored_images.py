"""What restored images look like, on the way and at the end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ...algorithms.algorithm import Algorithm
from ...algorithms.lbfgs import LBFGS
from ...trajectory.kernels import iterates_after
from ..experiment import Experiment

if TYPE_CHECKING:
    import xarray

EXAMPLES = 3
EARLY, LATE = 10, 500
"""After how many steps to look: early, and when L-BFGS is far past the criterion."""


def restored_images(
    experiment: Experiment, algorithms: Mapping[str, Algorithm], problems: Any, checkpoints: Path | None = None
) -> xarray.Dataset:
    """Blurred images, what the learned algorithm and the first baseline made of them early, and the solutions."""
    import xarray

    problems = jax.tree.map(lambda leaf: leaf[:EXAMPLES], problems)
    versions = {"observed": np.asarray(problems.observed)}
    for name in list(algorithms)[:2]:
        versions[f"{name}, {EARLY} steps"] = _after(experiment, algorithms[name], problems, EARLY, checkpoints)
    versions["solution"] = _after(experiment, LBFGS(), problems, LATE, checkpoints)
    images = np.stack(list(versions.values()), axis=1).astype(np.float32)
    return xarray.Dataset(
        {"image": (("example", "version", "row", "column"), images)}, {"version": list(versions)}, {"kind": "images"}
    )


def _after(
    experiment: Experiment, algorithm: Algorithm, problems: Any, steps: int, checkpoints: Path | None = None
) -> np.ndarray:
    """The images after some steps. One is computed after the other: images are not faster together."""
    options: dict[str, Any] = dict(steps=steps, key=jax.random.key(0), batch=1, checkpoints=checkpoints)
    return np.asarray(iterates_after(algorithm, experiment.problem_class, problems, **options))
