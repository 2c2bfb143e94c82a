"""`loa compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .arguments import check_seed, experiment_named, need_results, set_devices
from .sentences import fail, one_sentence


def compare(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment (see `loa list`), or a file with your own.")],
    algorithms: Annotated[
        str, typer.Option(help="Names separated by commas: learned, baselines; all by default.")
    ] = "",
    problems: Annotated[
        int | None, typer.Option(help="Number of problems; by default, the size of the test set.")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(help="Largest number of steps; by default, that of the experiment.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    images: Annotated[Path | None, typer.Option(help="For images: a folder of your own photographs.")] = None,
    traceback: Annotated[bool, typer.Option("--traceback", help="If something fails, show the whole error.")] = False,
) -> None:
    """Compare algorithms on the same problems of an experiment."""
    check_seed(seed)
    for name, number in (("--problems", problems), ("--horizon", horizon)):
        if number is not None and number < 1:
            fail(f"{name} must be at least 1, got {number}.")
    set_devices(experiment)
    with one_sentence(traceback):
        need_results()
        setting = experiment_named(experiment, images)
        names = [name.strip() for name in algorithms.split(",") if name.strip()]
        from ..run.comparison import compare_algorithms

        compare_algorithms(setting, names, problems or setting.sizes["test"], horizon or setting.horizon, seed)
