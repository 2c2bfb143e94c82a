"""`loa run`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .arguments import check_recipe, check_seed, experiment_named, need_results, set_devices, user_file
from .sentences import fail, fail_interrupted, one_sentence, typed_command, writing_to

if TYPE_CHECKING:
    from rich.console import Console

    from ..run import Execution, Order


def run(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment (see `loa list`), or a file with your own.")],
    preset: Annotated[str, typer.Option(help="quick, or paper for full size.")] = "quick",
    pretrained: Annotated[
        bool, typer.Option("--pretrained", help="Use the weights that ship with loa, with a preset of their own.")
    ] = False,
    how: Annotated[str, typer.Option(help="Which recipe: loa for ours, paper for the paper's architecture.")] = "loa",
    minimize: Annotated[
        str, typer.Option(help="What to minimize: steps, calls, seconds, q95(steps), cvar95(calls), P(steps > 50), …")
    ] = "steps",
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Directory for the results; runs/EXPERIMENT by default.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run in that directory.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in that directory.")] = False,
    jobs: Annotated[
        int | None, typer.Option(help="Number of processes on this machine to divide the work among.")
    ] = None,
    parallel_config: Annotated[
        Path | None, typer.Option(help="YAML file: backend: loky, dask or submitit; n_jobs, dask_address, slurm_…")
    ] = None,
    batch: Annotated[
        str | None, typer.Option(help="i/n: this is call i of n that share the work of one run, with the same --out.")
    ] = None,
    collect: Annotated[
        bool, typer.Option("--collect", help="Finish a run that calls with --batch have left incomplete.")
    ] = False,
    images: Annotated[Path | None, typer.Option(help="For images: a folder of your own photographs.")] = None,
    traceback: Annotated[bool, typer.Option("--traceback", help="If something fails, show the whole error.")] = False,
) -> None:
    """Learn an algorithm, certify it and compare it on unseen problems; write figures, a report and numbers."""
    check_seed(seed)
    if resume and overwrite:
        fail("--resume continues an earlier run, and --overwrite removes it: give one of the two.")
    own = user_file(experiment)
    if own is not None and pretrained:
        fail(f"no weights for {own} ship with loa: leave out --pretrained, and an algorithm is learned.")
    set_devices(experiment)
    from rich.console import Console

    from ..parallel.config import executor_for

    console = Console(highlight=False, soft_wrap=True)
    sentence = f"interrupted; `{typed_command()} --resume` continues from here."
    with one_sentence(traceback, sentence), executor_for(jobs, parallel_config) as executor:
        need_results()
        from ..experiments.from_file.errors import blamed_on
        from ..experiments.from_file.solver import is_solver_file
        from ..run import Execution, Order, run_solver_file

        execution = Execution.of(batch, collect, resume=resume, overwrite=overwrite, executor=executor)
        if own is not None and is_solver_file(own):
            if how != "loa" or minimize != "steps":
                fail(
                    "a solver's file says what is tuned, and its mean running time counts: leave out --how, --minimize."
                )
            with writing_to(out or Path("runs")):
                run_solver_file(
                    own, out, console, preset=preset, seed=seed, command=typed_command(), execution=execution
                )
            return
        setting = experiment_named(experiment, images)
        check_recipe(setting, how)
        directory = out or Path("runs") / (setting.name if how == "loa" else f"{setting.name}-{how}")
        preset = "pretrained" if pretrained else preset
        order = Order(setting.at(preset), preset, seed, typed_command(), how, own, setting.cost(minimize))
        with writing_to(directory), nullcontext() if own is None else blamed_on(own):
            _run(order, directory, console, execution)


def _run(order: Order, directory: Path, console: Console, execution: Execution) -> None:
    from ..results.table import tell
    from ..run import carry_out
    from ..storage.saved_algorithms import shipped

    if order.pretrained and order.weights not in shipped():
        fail(f"no weights for {order.weights} ship with loa; there are some for {', '.join(shipped())}.")
    results = execution.carried_out(carry_out, order, directory, console)
    if results is None:
        return
    tell(results, console)
    afterwards = order.experiment.presentation.afterwards
    if afterwards is not None:
        try:
            afterwards(order.experiment, results, directory, console)
        except KeyboardInterrupt:
            fail_interrupted("interrupted after the report was written; add --overwrite to run it again.")
    console.print(f"Wrote report.html, figure.png and the numbers behind them to {directory}.")
