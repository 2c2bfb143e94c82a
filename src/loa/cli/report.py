"""`loa report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .arguments import need_results
from .sentences import one_sentence, writing_to


def report(directory: Annotated[Path, typer.Argument(help="Directory of a finished run.")]) -> None:
    """Redraw the figures and rewrite the report of a finished run."""
    with one_sentence(), writing_to(directory):
        need_results()
        from ..presentation.figures import draw_all, figure_files
        from ..presentation.report import REPORT, write_report
        from ..results.run_results import Results
        from ..storage.manifest import Manifest

        results = Results.load(directory)
        Manifest(directory).announce([REPORT, *figure_files(results.pictures is not None)])
        written = [*draw_all(results, directory), write_report(results, directory)]
    typer.echo(f"Wrote {', '.join(path.name for path in written)} to {directory}.")
