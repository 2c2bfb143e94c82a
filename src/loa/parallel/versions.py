"""Which software a process runs: numbers of workers with other versions must not be mixed."""

from __future__ import annotations

import functools
import hashlib
from importlib.metadata import version
from pathlib import Path

from ..storage.provenance import versions

ROOT = Path(__file__).resolve().parent.parent


@functools.cache
def software() -> dict[str, str]:
    """Versions of the libraries that numbers depend on, and a fingerprint of the source of loa.

    >>> sorted(software())
    ['equinox', 'jax', 'jaxlib', 'loa', 'numpy', 'optax', 'scipy', 'source of loa']
    """
    digest = hashlib.sha256()
    for path in sorted(ROOT.rglob("*.py")):
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return {**versions(), "jaxlib": version("jaxlib"), "source of loa": digest.hexdigest()[:12]}


def difference(expected: dict[str, str]) -> str | None:
    """In what this process differs from another, in words; None if it does not."""
    own = software()
    different = [name for name, value in expected.items() if own.get(name) != value]
    if not different:
        return None
    return ", ".join(f"{name} {own.get(name, 'missing')} instead of {expected[name]}" for name in different)
