"""The figures of a run, drawn from its results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from ...results.run_results import Results
from ...storage.files import write_whole
from . import distribution, over_time, pairs, panels, profile, regressions, restored
from .style import house

FIGURES: dict[tuple[str, ...], Callable[[Results], Figure | None]] = {
    ("figure.png", "figure.pdf"): panels.draw,
    ("distribution.png",): distribution.draw,
    ("profile.png",): profile.draw,
    ("pairs.png",): pairs.draw,
    ("over-time.png",): over_time.draw,
    ("functionals.png",): panels.draw_further,
}
"""What is drawn for every run, by the names of its files; None where a run has nothing to show in a figure."""

PICTURES = {"images": ("restored.png", restored.draw), "regressions": ("regressions.png", regressions.draw)}
"""Figures of examples, by the kind of the pictures."""


def figure_files(pictures: bool) -> tuple[str, ...]:
    """The names of the files that `draw_all` may write, for results with or without pictures."""
    always = tuple(name for names in FIGURES for name in names)
    return (*always, *(name for name, _ in PICTURES.values())) if pictures else always


def draw_all(results: Results, directory: Path) -> list[Path]:
    """Draw every figure there is for a run; the same results give the same bytes.

    Returns:
        The files written, a part of `figure_files`.
    """
    with house():
        drawn = [(names, draw(results)) for names, draw in FIGURES.items()] + _pictures(results)
        return [_save(figure, directory / name) for names, figure in drawn if figure is not None for name in names]


def _pictures(results: Results) -> list[tuple[tuple[str, ...], Figure | None]]:
    if results.pictures is None:
        return []
    kind = results.pictures.attrs.get("kind")
    if kind not in PICTURES:
        raise ValueError(f"pictures must be of the kind {' or '.join(PICTURES)}, got {kind!r}.")
    name, draw = PICTURES[kind]
    return [((name,), draw(results.pictures))]


def _save(figure: Figure, path: Path) -> Path:
    metadata = {"CreationDate": None} if path.suffix == ".pdf" else {}
    write_whole(path, lambda temporary: figure.savefig(temporary, metadata=metadata))
    return path
