"""The command line. Heavy modules are imported by the commands that need them, so that help is quick."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from .experiments.experiment import Experiment

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
    setting = _experiment(experiment)
    if experiment != "running-example":
        _fail(f"{experiment} cannot be run as a whole yet; `loa compare {experiment}` compares its baselines.")
    directory = out or Path("runs") / experiment
    _prepare(directory, overwrite)

    from rich.console import Console

    from .experiments import running_example_run

    try:
        running_example_run.run(setting, seed, directory, Console())
    except OSError as error:
        _fail(f"could not write to {directory}: {error.strerror or error}.")


@app.command()
def train(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment; see `loa list`.")],
    how: Annotated[str, typer.Option(help="Which algorithm: ours, or the one with the paper's architecture.")] = "loa",
    out: Annotated[Path | None, typer.Option(help="File for the algorithm; EXPERIMENT.eqx if not given.")] = None,
    effort: Annotated[float, typer.Option(help="Scales the numbers of steps, candidates and problems.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted training was.")] = False,
) -> None:
    """Learn an algorithm for an experiment, measure it on unseen problems, and save it with its provenance."""
    setting = _experiment(experiment)
    if how not in setting.learned:
        _fail(f"{experiment} cannot be learned as {how!r}; there are {', '.join(setting.learned) or 'no ways'}.")
    path = out or Path(f"{experiment}.eqx")
    checkpoint = path.with_suffix(".checkpoint")
    if checkpoint.exists() and not resume:
        _fail(f"{checkpoint} holds an interrupted training; add --resume to go on with it, or delete it.")

    from rich.console import Console

    from .experiments.experiment import Lesson
    from .experiments.schooling import school

    lesson = Lesson(setting, seed, effort, checkpoint, progress=True)
    try:
        school(lesson, how, path, Console(highlight=False, soft_wrap=True))
    except KeyboardInterrupt:
        _fail("interrupted; the same command with --resume goes on from the last check, where there is one.")
    except OSError as error:
        _fail(f"could not write {path}: {error.strerror or error}.")


@app.command()
def compare(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment; see `loa list`.")],
    algorithms: Annotated[str, typer.Option(help="Names of baselines, separated by commas; all if not given.")] = "",
    problems: Annotated[int, typer.Option(help="Number of problems; the size of the test set if not given.")] = 0,
    horizon: Annotated[int, typer.Option(help="Largest number of steps; the experiment's if not given.")] = 0,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    images: Annotated[Path | None, typer.Option(help="For images: a folder of your own photographs.")] = None,
) -> None:
    """Compare algorithms on the same problems of an experiment."""
    if images is not None and experiment != "images":
        _fail(f"--images is for the experiment images; the problems of {experiment} are not made from photographs.")
    setting = _experiment(experiment)
    if images is not None:
        setting = _with_photographs(setting, images)
    names = [name.strip() for name in algorithms.split(",") if name.strip()] or list(setting.baselines)
    unknown = [name for name in names if name not in setting.baselines]
    if unknown:
        _fail(f"{experiment} has no algorithm {unknown[0]!r}; there are {', '.join(setting.baselines)}.")

    import jax
    from rich.console import Console

    from .comparison import compare

    draw_key, run_key = jax.random.split(jax.random.key(seed))
    count, steps = problems or setting.sizes["test"], horizon or setting.horizon
    comparison = compare(
        {name: setting.baselines[name] for name in names},
        setting.problem_class,
        setting.problem_class.draw(draw_key, count),
        criterion=setting.criterion,
        horizon=steps,
        key=run_key,
        progress=True,
    )
    console = Console()
    console.print(comparison.table(f"{experiment}: stopping time on {count} problems, at most {steps} steps"))
    for other in names[1:]:
        less, share = comparison.advantage(names[0], over=other), comparison.faster(names[0], over=other)
        console.print(
            f"{names[0]} needs {less} steps less than {other} and is faster on {float(share):.0%} of problems."
        )


def _experiment(name: str) -> Experiment:
    from . import experiments

    try:
        return experiments.get(name)
    except ValueError as error:
        _fail(str(error))


def _with_photographs(setting: Experiment, folder: Path) -> Experiment:
    """The experiment on the user's own photographs; files that are no images are named and skipped."""
    from .problems import ImageRestoration

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            problem_class = ImageRestoration(folder)
        except ValueError as error:
            _fail(str(error))
        finally:
            for warning in caught:
                typer.echo(f"loa: {warning.message}", err=True)
    return dataclasses.replace(setting, problem_class=problem_class)


def _prepare(directory: Path, overwrite: bool) -> None:
    """Make the output directory, or refuse one that holds an earlier run."""
    if (directory / "summary.json").exists() and not overwrite:
        _fail(f"{directory} already holds a run; choose another --out, or add --overwrite to replace it.")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _fail(f"cannot make the directory {directory}: {error.strerror}.")


def _fail(sentence: str) -> NoReturn:
    typer.echo(f"loa: {sentence}", err=True)
    raise typer.Exit(1)
