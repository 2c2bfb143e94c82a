"""`loa train`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from .arguments import check_recipe, check_seed, experiment_named, need_results, set_devices
from .sentences import fail, one_sentence, writing_to


def train(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment; see `loa list`.")],
    how: Annotated[str, typer.Option(help="Which recipe: loa for ours, paper for the paper's architecture.")] = "loa",
    out: Annotated[
        Path | None, typer.Option(help="File for the algorithm; named after the experiment by default.")
    ] = None,
    effort: Annotated[float, typer.Option(help="Scales the numbers of steps, candidates and problems.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted training.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    traceback: Annotated[bool, typer.Option("--traceback", help="If something fails, show the whole error.")] = False,
) -> None:
    """Learn an algorithm for an experiment, measure it on unseen problems, and save it with its provenance."""
    check_seed(seed)
    if not 0 < effort < math.inf:
        fail(f"--effort must be a positive number, got {effort:g}.")
    set_devices(experiment)
    interrupted = "interrupted; the same command with --resume continues from the last check, if there is one."
    with one_sentence(traceback, interrupted=interrupted):
        need_results()
        setting = experiment_named(experiment)
        check_recipe(setting, how)
        from rich.console import Console

        from ..experiments.experiment import LearningSetup
        from ..run.training import train_experiment
        from ..storage.saved_algorithms import SUFFIX

        path = out or Path(f"{experiment}{SUFFIX}")
        setup = LearningSetup(setting, seed, effort, path.with_suffix(".checkpoint"), progress=True)
        if setup.interrupted and not resume:
            fail(f"{setup.interrupted[0]} holds an interrupted training; add --resume to continue it, or delete it.")
        if path.exists() and not (overwrite or setup.interrupted):
            fail(f"{path} already exists; choose another --out, or add --overwrite to replace it.")
        with writing_to(path):
            train_experiment(setup, how, path, Console(highlight=False, soft_wrap=True))
