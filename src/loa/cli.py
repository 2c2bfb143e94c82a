"""The command line. Heavy modules are imported by the commands that need them, so that help is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Learnable optimization algorithms: how optimizers behave on distributions of problems.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command("list")
def list_experiments() -> None:
    """List the experiments, one line each."""
    from .experiments import DESCRIPTIONS

    width = max(map(len, DESCRIPTIONS))
    for name, description in DESCRIPTIONS.items():
        typer.echo(f"{name:{width}}  {description}")


@app.command()
def run(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment; see `loa list`.")],
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Directory for the results; runs/EXPERIMENT if not given.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in that directory.")] = False,
) -> None:
    """Run an experiment and write its figure and numbers to a directory."""
    from .experiments import names

    if experiment not in names():
        _fail(f"there is no experiment {experiment!r}; there are {', '.join(names())}.")
    directory = out or Path("runs") / experiment
    _prepare(directory, overwrite)

    from rich.console import Console

    from . import experiments
    from .experiments import running_example_run

    try:
        running_example_run.run(experiments.get(experiment), seed, directory, Console())
    except OSError as error:
        _fail(f"could not write to {directory}: {error.strerror or error}.")


def _prepare(directory: Path, overwrite: bool) -> None:
    """Make the output directory, or refuse one that holds an earlier run."""
    if (directory / "summary.json").exists() and not overwrite:
        _fail(f"{directory} already holds a run; choose another --out, or add --overwrite to replace it.")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _fail(f"cannot make the directory {directory}: {error.strerror}.")


def _fail(sentence: str) -> None:
    typer.echo(f"loa: {sentence}", err=True)
    raise typer.Exit(1)
