"""How the figures look: colours that colour-blind readers tell apart, and shapes for those who print in grey."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import NamedTuple

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

INK, GREY, PALE = "#222222", "#6b6b6b", "#c8c8c8"
DOTS_PER_INCH = 200

SETTINGS = {
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 6.0,
    "axes.labelsize": 8.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.color": GREY,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.borderaxespad": 0.0,
    "legend.borderpad": 0.0,
    "legend.handlelength": 2.2,
    "legend.handletextpad": 0.6,
    "legend.labelspacing": 0.35,
    "lines.dash_capstyle": "round",
    "lines.solid_capstyle": "round",
    "hatch.linewidth": 0.4,
    "savefig.dpi": DOTS_PER_INCH,
    "pdf.fonttype": 42,
}


class Look(NamedTuple):
    """How one algorithm is drawn, the same in every figure."""

    colour: str
    line: tuple[float, tuple[float, ...]]
    marker: str
    size: float = 4.0

    def dots(self, axes: Axes, across: ArrayLike, up: ArrayLike, above: float) -> None:
        """Markers on a curve, edged in white so that each is seen where they meet."""
        edge = {"markeredgecolor": "white", "markeredgewidth": 0.4}
        axes.plot(across, up, self.marker, color=self.colour, markersize=self.size, zorder=above, **edge)


LOOKS = (
    Look("#0072B2", (0, ()), "o"),
    Look("#D55E00", (0, (5.0, 1.6)), "s"),
    Look("#CC79A7", (0, (1.2, 1.4)), "^"),
    Look("#009E73", (0, (6.0, 1.5, 1.2, 1.5)), "D"),
    Look("#E69F00", (0, (3.0, 1.2, 1.0, 1.2, 1.0, 1.2)), "v"),
    Look("#56B4E9", (0, (9.0, 2.0)), "P", 5.2),
)
"""Colours of Okabe and Ito; the learned algorithm, which comes first, has the one that is darkest in grey."""


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A look for every algorithm, by its place."""
    return {name: LOOKS[place % len(LOOKS)] for place, name in enumerate(names)}


def house() -> AbstractContextManager[None]:
    """Our settings on top of matplotlib's own, whatever the user's are; theirs come back afterwards."""
    return matplotlib.style.context(["default", SETTINGS])


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches, without a window and unknown to pyplot."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def place(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at this place, in inches from the lower left corner."""
    full_width, full_height = figure.get_size_inches()
    return figure.add_axes((left / full_width, bottom / full_height, width / full_width, height / full_height))
