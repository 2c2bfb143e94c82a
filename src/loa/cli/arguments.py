"""What the arguments of commands stand for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from .sentences import fail

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment


def user_file(experiment: str) -> Path | None:
    """The user's file, where the name of an experiment is none that loa has."""
    from ..experiments import DESCRIPTIONS

    path = Path(experiment)
    return path if experiment not in DESCRIPTIONS and (path.suffix == ".py" or path.exists()) else None


def experiment_named(name: str, images: Path | None = None) -> Experiment:
    from .. import experiments

    if images is not None and name != "images":
        fail(f"--images is for the experiment images; the problems of {name} are not made from photographs.")
    own = user_file(name)
    if own is not None:
        from ..experiments.from_file.problem_class import from_file

        return from_file(own)
    setting = experiments.get(name)
    from ..experiments.paper.images import with_photographs

    return setting if images is None else with_photographs(setting, images)


def check_recipe(setting: Experiment, how: str) -> None:
    ways = setting.recipe.learned
    if how not in ways:
        fail(f"{setting.name} has no recipe {how!r}; available: {', '.join(ways) or 'none'}.")


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**63:
        fail(f"--seed must be a whole number from 0 to 2**63 - 1, got {seed}.")


def set_devices(experiment: str) -> None:
    """Let JAX see every core as a device, where that helps."""
    from ..experiments import DIVIDED

    if experiment in DIVIDED:
        import jax

        jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)


def need_results() -> None:
    """Fail first if an extra is missing, for commands that write or read the results of runs."""
    from ..messages.extras import require

    require("matplotlib", "plotly", "xarray", "PIL")
