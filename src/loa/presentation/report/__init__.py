"""The report of a run: one HTML file that holds all it needs."""

from __future__ import annotations

from pathlib import Path

from ...results.run_results import Results
from ...storage.files import write_whole
from .page import page

REPORT = "report.html"


def write_report(results: Results, directory: Path) -> Path:
    """Write `report.html` into a directory, whole or not at all, and say where it is."""
    path = Path(directory) / REPORT
    text = page(results)
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    return path
