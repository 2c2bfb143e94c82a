"""The command line. Heavy modules are imported by the commands that need them, so that help is quick."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from .experiments.experiment import Experiment
    from .run import Order

app = typer.Typer(
    help="Learnable optimization algorithms: how optimizers behave on distributions of problems.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _end_on_signals() -> None:
    from .storage.interruption import end_on_signals

    resumable = sys.argv[1:2] in (["run"], ["train"])
    end_on_signals(f"interrupted; `{_command()} --resume` continues from here." if resumable else "interrupted.")
    if sys.argv[1:2] in (["run"], ["train"], ["compare"], ["solve"]):
        from .storage.kept_programs import keep_unless_refused

        keep_unless_refused()


@app.command("list")
def list_experiments() -> None:
    """List the experiments, one line each."""
    from .experiments import DESCRIPTIONS

    width = max(map(len, DESCRIPTIONS))
    for name, description in DESCRIPTIONS.items():
        typer.echo(f"{name:{width}}  {description}")


@app.command()
def run(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment (see `loa list`), or a file with your own.")],
    preset: Annotated[str, typer.Option(help="quick, or paper for full size.")] = "quick",
    pretrained: Annotated[
        bool, typer.Option("--pretrained", help="Use the weights that ship with loa, with a preset of their own.")
    ] = False,
    how: Annotated[
        str, typer.Option(help="Which algorithm: ours, or paper for the one with its architecture.")
    ] = "loa",
    minimize: Annotated[
        str, typer.Option(help="What counts: steps, calls, seconds, q95(steps), cvar95(calls), P(steps > 50), …")
    ] = "steps",
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Directory for the results; runs/EXPERIMENT if not given.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run in that directory.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in that directory.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Processes on this machine for what can be divided.")] = None,
    parallel_config: Annotated[
        Path | None, typer.Option(help="YAML file: backend: loky, dask or submitit; n_jobs, dask_address, slurm_…")
    ] = None,
    images: Annotated[Path | None, typer.Option(help="For images: a folder of your own photographs.")] = None,
    traceback: Annotated[bool, typer.Option("--traceback", help="If something fails, show the whole error.")] = False,
) -> None:
    """Learn an algorithm, certify it, compare it on unseen problems; write figures, report and numbers."""
    _check_seed(seed)
    own = _own_file(experiment)
    if own is not None and pretrained:
        _fail(f"no weights for {own} ship with loa: leave out --pretrained, and an algorithm is learned.")
    _set_devices(experiment)
    from rich.console import Console

    from .parallel.config import executor_for

    console = Console(highlight=False, soft_wrap=True)
    sentence = f"interrupted; `{_command()} --resume` continues from here."
    with _one_sentence(traceback, sentence), executor_for(jobs, parallel_config) as executor:
        _need_results()
        from .experiments.errors_in_files import blamed_on
        from .experiments.solver_file import is_solver_file
        from .run import Order, run_solver_file

        wishes = {"resume": resume, "overwrite": overwrite, "executor": executor}
        if own is not None and is_solver_file(own):
            with _writing_to(out or Path("runs")):
                run_solver_file(own, out, console, preset=preset, seed=seed, command=_command(), **wishes)
            return
        setting = _experiment(experiment, images)
        _check_way(setting, how)
        directory = out or Path("runs") / (setting.name if how == "loa" else f"{setting.name}-{how}")
        preset = "pretrained" if pretrained else preset
        order = Order(setting.at(preset), preset, seed, _command(), how, own, setting.cost(minimize))
        with _writing_to(directory), nullcontext() if own is None else blamed_on(own):
            _run(order, directory, console, wishes)


def _run(order: Order, directory: Path, console: Console, wishes: dict[str, Any]) -> None:
    from .results.table import tell
    from .run import carry_out
    from .storage.saved_algorithms import shipped

    if order.pretrained and order.weights not in shipped():
        _fail(f"no weights for {order.weights} ship with loa; there are some for {', '.join(shipped())}.")
    results = carry_out(order, directory, console, **wishes)
    tell(results, console)
    afterwards = order.experiment.presentation.afterwards
    if afterwards is not None:
        try:
            afterwards(order.experiment, results, directory, console)
        except KeyboardInterrupt:
            _fail_interrupted("interrupted after the report was written; add --overwrite to run it again.")
    console.print(f"Wrote report.html, figure.png and the numbers behind them to {directory}.")


@app.command()
def solve(
    directory: Annotated[Path, typer.Argument(help="Directory of a finished run.")],
    instances: Annotated[Path, typer.Option(help="Problems: .npz, .npy, .csv, .parquet, .json, .jsonl, or a folder.")],
    out: Annotated[Path | None, typer.Option(help="File for the solutions: .npz, .parquet or .jsonl.")] = None,
    file: Annotated[Path | None, typer.Option(help="The file with the problem class, if it was moved.")] = None,
    traceback: Annotated[bool, typer.Option("--traceback", help="If something fails, show the whole error.")] = False,
) -> None:
    """Solve new problems with the algorithm that a run has deployed."""
    out = out or instances.with_name(f"{instances.stem}-solutions.npz")
    with _one_sentence(traceback), _writing_to(out):
        _need_results()
        from .run import deployed

        counts = deployed(directory, file).solve_file(instances, out)
    typer.echo(f"Wrote {out}: {', '.join(f'{count} {outcome}' for outcome, count in counts.items() if count)}.")


@app.command()
def certify(
    table: Annotated[Path, typer.Argument(help="A .csv or .parquet table with one row per problem.")],
    column: Annotated[str, typer.Option(help="The column with the numbers.")],
    cap: Annotated[float | None, typer.Option(help="Largest possible value, such as the time limit.")] = None,
    quantile: Annotated[float | None, typer.Option(help="Certify this quantile as well, such as 0.99.")] = None,
    confidence: Annotated[float, typer.Option(help="With which all that is said holds together.")] = 0.95,
    problem: Annotated[str | None, typer.Option(help="The column that names a problem with several runs.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory for the certificates as JSON files.")] = None,
) -> None:
    """Certify numbers that were measured anywhere, such as the running times of a solver."""
    with _one_sentence():
        from .certificates.from_table import certify_table

        for found in certify_table(table, column, cap=cap, quantile=quantile, confidence=confidence, problem=problem):
            typer.echo(found.sentence())
            if out is not None:
                with _writing_to(out):
                    out.mkdir(parents=True, exist_ok=True)
                    found.save(out / f"{found.functional}-{found.measure}.json")


@app.command()
def report(directory: Annotated[Path, typer.Argument(help="Directory of a finished run.")]) -> None:
    """Draw the figures and write the report of a finished run again."""
    with _one_sentence(), _writing_to(directory):
        _need_results()
        from .presentation.figures import draw_all, figure_files
        from .presentation.report import REPORT, write_report
        from .results.run_results import Results
        from .storage.manifest import Manifest

        results = Results.load(directory)
        Manifest(directory).announce([REPORT, *figure_files(results.pictures is not None)])
        written = [*draw_all(results, directory), write_report(results, directory)]
    typer.echo(f"Wrote {', '.join(path.name for path in written)} to {directory}.")


@app.command()
def train(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment; see `loa list`.")],
    how: Annotated[str, typer.Option(help="Which algorithm: ours, or the one with the paper's architecture.")] = "loa",
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
    _check_seed(seed)
    if not 0 < effort < math.inf:
        _fail(f"--effort must be a positive number, got {effort:g}.")
    _set_devices(experiment)
    interrupted = "interrupted; the same command with --resume continues from the last check, if there is one."
    with _one_sentence(traceback, interrupted=interrupted):
        _need_results()
        setting = _experiment(experiment)
        _check_way(setting, how)
        from rich.console import Console

        from .experiments.experiment import Lesson
        from .run.training import train_experiment
        from .storage.saved_algorithms import SUFFIX

        path = out or Path(f"{experiment}{SUFFIX}")
        lesson = Lesson(setting, seed, effort, path.with_suffix(".checkpoint"), progress=True)
        if lesson.interrupted and not resume:
            _fail(f"{lesson.interrupted[0]} holds an interrupted training; add --resume to continue it, or delete it.")
        if path.exists() and not (overwrite or lesson.interrupted):
            _fail(f"{path} already exists; choose another --out, or add --overwrite to replace it.")
        with _writing_to(path):
            train_experiment(lesson, how, path, Console(highlight=False, soft_wrap=True))


@app.command()
def compare(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment; see `loa list`.")],
    algorithms: Annotated[
        str, typer.Option(help="Names separated by commas: learned, baselines; all if not given.")
    ] = "",
    problems: Annotated[
        int | None, typer.Option(help="Number of problems; the size of the test set if not given.")
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Largest number of steps; the experiment's if not given.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    images: Annotated[Path | None, typer.Option(help="For images: a folder of your own photographs.")] = None,
    traceback: Annotated[bool, typer.Option("--traceback", help="If something fails, show the whole error.")] = False,
) -> None:
    """Compare algorithms on the same problems of an experiment."""
    _check_seed(seed)
    for name, number in (("--problems", problems), ("--horizon", horizon)):
        if number is not None and number < 1:
            _fail(f"{name} must be at least 1, got {number}.")
    _set_devices(experiment)
    with _one_sentence(traceback):
        _need_results()
        setting = _experiment(experiment, images)
        names = [name.strip() for name in algorithms.split(",") if name.strip()]
        from .run.comparison import compare_algorithms

        compare_algorithms(setting, names, problems or setting.sizes["test"], horizon or setting.horizon, seed)


@app.command()
def doctor() -> None:
    """Print one page about this installation, with a self-test, to paste into a bug report."""
    with _one_sentence():
        from .doctor import examine

        healthy = examine(typer.echo)
    raise typer.Exit(0 if healthy else 1)


def _need_results() -> None:
    """Say before anything else which extra is missing, for commands that write or read the results of runs."""
    from .problems.extras import require

    require("matplotlib", "plotly", "xarray", "PIL")


def _own_file(experiment: str) -> Path | None:
    """The user's file, where the name of an experiment is none that loa has."""
    from .experiments import DESCRIPTIONS

    path = Path(experiment)
    return path if experiment not in DESCRIPTIONS and (path.suffix == ".py" or path.exists()) else None


def _experiment(name: str, images: Path | None = None) -> Experiment:
    from . import experiments

    if images is not None and name != "images":
        _fail(f"--images is for the experiment images; the problems of {name} are not made from photographs.")
    own = _own_file(name)
    if own is not None:
        from .experiments.from_file import from_file

        return from_file(own)
    setting = experiments.get(name)
    from .experiments.images import with_photographs

    return setting if images is None else with_photographs(setting, images)


def _check_way(setting: Experiment, how: str) -> None:
    ways = setting.recipe.learned
    if how not in ways:
        _fail(f"{setting.name} has no recipe {how!r}; available: {', '.join(ways) or 'none'}.")


def _set_devices(experiment: str) -> None:
    """Let JAX see every core as a device, where that helps."""
    from .experiments import DIVIDED

    if experiment in DIVIDED:
        import jax

        jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)


def _command() -> str:
    """What was typed, to be typed again."""
    words = [word for word in sys.argv[1:] if word not in ("--resume", "--overwrite")]
    return " ".join(["loa", *map(shlex.quote, words)])


@contextmanager
def _one_sentence(traceback: bool = False, interrupted: str = "interrupted.") -> Iterator[None]:
    """Say in one sentence what went wrong in a command, unless the whole error is wanted; and what takes long.

    Arguments:
        traceback: whether the error is shown with its traceback instead.
        interrupted: what is said after Ctrl-C.
    """
    from .problems.waiting import spoken

    try:
        with spoken():
            yield
    except typer.Exit:
        raise
    except KeyboardInterrupt:
        _fail_interrupted(interrupted)
    except Exception as error:
        if traceback:
            raise
        from .experiments.errors_in_files import sentence

        _fail(sentence(error))


@contextmanager
def _writing_to(place: Path) -> Iterator[None]:
    """Name the place, if the operating system does not let loa write to it."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:
            raise
        raise ValueError(f"could not write to {place}: {error.strerror}.") from error


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 2**63:
        _fail(f"--seed must be a whole number from 0 to 2**63 - 1, got {seed}.")


def _fail(sentence: str) -> NoReturn:
    typer.echo(f"loa: {sentence}", err=True)
    raise typer.Exit(1)


def _fail_interrupted(sentence: str) -> NoReturn:
    """After a signal, end at once; after a KeyboardInterrupt that has another cause, as after any failure."""
    from .storage.interruption import leave_if_told

    leave_if_told(sentence)
    _fail(sentence)
