"""Which source and which libraries numbers come from."""

from __future__ import annotations

import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("loa", "jax", "equinox", "optax", "numpy", "scipy")


def versions() -> dict[str, str]:
    """Versions of loa and of the libraries that its numbers depend on."""
    return {name: _version(name) for name in LIBRARIES}


def commit() -> str:
    """The commit of the source, if it is a repository."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=Path(__file__).parent, capture_output=True, text=True
        )
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
