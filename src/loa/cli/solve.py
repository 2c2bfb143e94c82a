"""`loa solve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .arguments import need_results
from .sentences import one_sentence, writing_to


def solve(
    directory: Annotated[Path, typer.Argument(help="Directory of a finished run.")],
    instances: Annotated[Path, typer.Option(help="Problems: .npz, .npy, .csv, .parquet, .json, .jsonl, or a folder.")],
    out: Annotated[Path | None, typer.Option(help="File for the solutions: .npz, .parquet or .jsonl.")] = None,
    file: Annotated[Path | None, typer.Option(help="The file with the problem class, if it was moved.")] = None,
    traceback: Annotated[bool, typer.Option("--traceback", help="If something fails, show the whole error.")] = False,
) -> None:
    """Solve new problems with the algorithm that a run has deployed."""
    out = out or instances.with_name(f"{instances.stem}-solutions.npz")
    with one_sentence(traceback), writing_to(out):
        need_results()
        from ..run import deployed

        counts = deployed(directory, file).solve_file(instances, out)
    typer.echo(f"Wrote {out}: {', '.join(f'{count} {outcome}' for outcome, count in counts.items() if count)}.")
