"""Packages that only a part of loa needs, and the extras that bring them."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {
    "PIL": "images",
    "clarabel": "programs",
    "cloudpickle": "cluster",
    "distributed": "cluster",
    "matplotlib": "run",
    "osqp": "programs",
    "pandapower": "gallery",
    "piqp": "programs",
    "plotly": "run",
    "pyarrow": "tables",
    "skfolio": "gallery",
    "skimage": "images",
    "sklearn": "data",
    "torch": "torch",
    "xarray": "run",
}
"""By the name of a module, the extra of loa that installs it."""


def missing(module: str) -> str:
    """The sentence that says which extra brings a module."""
    extra = EXTRAS[module]
    return f"this needs {module}, which is not installed: pip install 'loa[{extra}]'."


def require(*modules: str) -> None:
    """Refuse to go further if a module is missing, and name the extra that brings it.

    Arguments:
        modules: names of modules in `EXTRAS`.

    >>> require()
    """
    for module in modules:
        if find_spec(module) is None:
            raise ModuleNotFoundError(missing(module), name=module)
