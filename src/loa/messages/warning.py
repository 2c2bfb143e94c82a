"""Warnings that point at the user's own line, whatever lies between it and the place that noticed something."""

import sys
import warnings

BETWEEN = frozenset({"loa", "jax", "equinox", "jaxtyping", "beartype", "contextlib"})
"""Packages whose frames are never the user's."""


def warn(sentence: str, category: type[Warning] = UserWarning) -> None:
    """Warn the user, at the first line on the stack that is neither loa's nor of a package that wraps its functions."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, category, stacklevel=level)
