"""What ships with loa for an experiment."""

from __future__ import annotations

from ..algorithms.algorithm import Algorithm
from ..storage.saved_algorithms import load, shipped
from .experiment import Experiment


def comparable(setting: Experiment) -> dict[str, Algorithm]:
    """What can be compared: the learned algorithms that ship with loa, "learned" being ours, and the baselines."""
    names = {"learned": setting.name} | {
        f"{setting.name}-{how}": f"{setting.name}-{how}" for how in setting.recipe.learned
    }
    return {name: load(file) for name, file in names.items() if file in shipped()} | dict(setting.baselines)
