"""`loa certify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .sentences import one_sentence, writing_to


def certify(
    table: Annotated[Path, typer.Argument(help="A .csv or .parquet table with one row per problem.")],
    column: Annotated[str, typer.Option(help="The column with the numbers.")],
    cap: Annotated[float | None, typer.Option(help="Largest possible value, such as the time limit.")] = None,
    quantile: Annotated[float | None, typer.Option(help="Certify this quantile as well, such as 0.99.")] = None,
    confidence: Annotated[float, typer.Option(help="The confidence with which all certificates hold together.")] = 0.95,
    problem: Annotated[str | None, typer.Option(help="The column that names a problem with several runs.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory for the certificates as JSON files.")] = None,
) -> None:
    """Certify numbers that were measured anywhere, such as the running times of a solver."""
    with one_sentence():
        from ..certificates.bounds.rounding import percent_down
        from ..certificates.from_table import certify_table

        found = certify_table(table, column, cap=cap, quantile=quantile, confidence=confidence, problem=problem)
        for certificate in found:
            typer.echo(certificate.sentence())
            if out is not None:
                with writing_to(out):
                    out.mkdir(parents=True, exist_ok=True)
                    certificate.save(out / f"{certificate.functional}-{certificate.measure}.json")
        if len(found) > 1:
            typer.echo(f"Both hold together with {percent_down(confidence)} confidence.")
        typer.echo("This assumes:")
        for line in dict.fromkeys(line for certificate in found for line in certificate.assumptions):
            typer.echo(f"- {line}")
