"""What restored images look like, on the way and at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np

from ..algorithms.algorithm import Algorithm
from ..algorithms.lbfgs import LBFGS
from ..trajectory.kernels import initial, semigroup
from .experiment import Experiment

if TYPE_CHECKING:
    import xarray

EXAMPLES = 3
EARLY, LATE = 10, 500
"""After how many steps to look: early, and when L-BFGS is far past the criterion."""


def restored_images(experiment: Experiment, algorithms: Mapping[str, Algorithm], problems: Any) -> xarray.Dataset:
    """Blurred images, what the learned algorithm and the first baseline made of them early, and the solutions."""
    import xarray

    problems = jax.tree.map(lambda leaf: leaf[:EXAMPLES], problems)
    versions = {"observed": np.asarray(problems.observed)}
    for name in list(algorithms)[:2]:
        versions[f"{name}, {EARLY} steps"] = _after(experiment, algorithms[name], problems, EARLY)
    versions["solution"] = _after(experiment, LBFGS(), problems, LATE)
    images = np.stack(list(versions.values()), axis=1).astype(np.float32)
    return xarray.Dataset(
        {"image": (("example", "version", "row", "column"), images)}, {"version": list(versions)}, {"kind": "images"}
    )


def _after(experiment: Experiment, algorithm: Algorithm, problems: Any, steps: int) -> np.ndarray:
    @eqx.filter_jit
    def one(algorithm: Algorithm, problem: Any) -> jax.Array:
        key = jax.random.key(0)
        state, _ = initial(algorithm, experiment.problem_class, problem, key)
        return algorithm.iterate(semigroup(algorithm, experiment.problem_class, problem, state, steps, key))

    return np.stack([one(algorithm, jax.tree.map(lambda leaf, k=k: leaf[k], problems)) for k in range(EXAMPLES)])
