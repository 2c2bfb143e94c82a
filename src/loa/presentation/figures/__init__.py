"""The figures of a run, drawn from its results."""

from __future__ import annotations

from pathlib import Path

import xarray
from matplotlib.figure import Figure

from ...results.run_results import Results
from ...storage.files import write_whole
from . import distribution, panels, profile, regressions, restored
from .style import house

PICTURES = {"images": ("restored.png", restored.draw), "regressions": ("regressions.png", regressions.draw)}

FILES = ("figure.png", "figure.pdf", "distribution.png", "profile.png", "functionals.png")


def figure_files(pictures: bool) -> tuple[str, ...]:
    """The names of the files that `draw_all` may write, for results with or without pictures."""
    return (*FILES, *(name for name, _ in PICTURES.values())) if pictures else FILES


def draw_all(results: Results, directory: Path) -> list[Path]:
    """Draw every figure there is for a run; the same results give the same bytes.

    Returns:
        The files written: `figure.png` and `figure.pdf` (the paper's three panels), `distribution.png`,
        `profile.png`, and `functionals.png` (histograms of all other functionals); `restored.png` or
        `regressions.png` if there are pictures.
    """
    with house():
        figure = panels.draw(results)
        drawn = [("figure.png", figure), ("figure.pdf", figure)]
        drawn.append(("distribution.png", distribution.draw(results)))
        drawn.append(("profile.png", profile.draw(results)))
        if panels.further(results):
            drawn.append(("functionals.png", panels.draw_further(results)))
        if results.pictures is not None:
            drawn.append(_pictures(results.pictures))
        return [_save(figure, directory / name) for name, figure in drawn]


def _pictures(pictures: xarray.Dataset) -> tuple[str, Figure]:
    kind = pictures.attrs.get("kind")
    if kind not in PICTURES:
        raise ValueError(f"pictures must be of the kind {' or '.join(PICTURES)}, got {kind!r}.")
    name, draw = PICTURES[kind]
    return name, draw(pictures)


def _save(figure: Figure, path: Path) -> Path:
    metadata = {"CreationDate": None} if path.suffix == ".pdf" else {}
    write_whole(path, lambda temporary: figure.savefig(temporary, metadata=metadata))
    return path
