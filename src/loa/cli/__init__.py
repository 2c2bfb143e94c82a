"""The command line, one file per command. Heavy modules are imported by the commands that need them: help is quick."""

from __future__ import annotations

import sys

import typer

from .certify import certify
from .compare import compare
from .report import report
from .run import run
from .sentences import one_sentence, typed_command
from .solve import solve
from .train import train

app = typer.Typer(
    help="Learnable optimization algorithms: learn, measure and certify optimizers for a distribution of problems.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _end_on_signals() -> None:
    from ..storage.interruption import end_on_signals

    resumable = sys.argv[1:2] in (["run"], ["train"])
    end_on_signals(f"interrupted; `{typed_command()} --resume` continues from here." if resumable else "interrupted.")
    if sys.argv[1:2] in (["run"], ["train"], ["compare"], ["solve"]):
        from ..storage.kept_programs import keep_unless_refused

        keep_unless_refused()


@app.command("list")
def list_experiments() -> None:
    """List the experiments, one line each."""
    from ..experiments import DESCRIPTIONS

    width = max(map(len, DESCRIPTIONS))
    for name, description in DESCRIPTIONS.items():
        typer.echo(f"{name:{width}}  {description}")


for _command in (run, solve, certify, report, train, compare):
    app.command()(_command)


@app.command()
def doctor() -> None:
    """Print one page about this installation, with a self-test, to paste into a bug report."""
    with one_sentence():
        from ..doctor import examine

        healthy = examine(typer.echo)
    raise typer.Exit(0 if healthy else 1)
