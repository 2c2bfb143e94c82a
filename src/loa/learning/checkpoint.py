"""Checkpoints: a training that is killed goes on where it was, to the same result."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..files import write_whole
from .checks import Check, History


class Checkpoint:
    """A file that holds all of a training run, or nothing if no path is given.

    It knows the run it belongs to by a fingerprint of everything that determines the result, and refuses another's.
    """

    def __init__(self, path: Path | str | None, identity: str):
        self.path = None if path is None else Path(path)
        self.identity = identity

    @property
    def exists(self) -> bool:
        return self.path is not None and self.path.exists()

    def save(self, tree: Any, history: History) -> None:
        if self.path is None:
            return
        header = {"identity": self.identity, "history": [check._asdict() for check in history.checks]}

        def write(temporary: Path) -> None:
            with temporary.open("wb") as file:
                file.write(json.dumps(header).encode() + b"\n")
                eqx.tree_serialise_leaves(file, tree)

        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, write)

    def load(self, like: Any) -> tuple[Any, History]:
        """What was saved, in the form of `like`."""
        assert self.path is not None
        with self.path.open("rb") as file:
            try:
                header = json.loads(file.readline())
                identity, checks = header["identity"], header["history"]
            except (ValueError, TypeError, KeyError):
                raise ValueError(f"{self.path} is not a whole checkpoint: delete it to begin anew.") from None
            if identity != self.identity:
                raise ValueError(
                    f"{self.path} is the checkpoint of another training run (another algorithm, other settings, "
                    "problems, key or first parameters): choose another file, or delete it to begin anew."
                )
            return eqx.tree_deserialise_leaves(file, like), History(tuple(Check(**one) for one in checks))


def fingerprint(*parts: Any) -> str:
    """A hash of arrays and texts, however nested."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(parts):
        if eqx.is_array(leaf) or isinstance(leaf, (int, float, bool, complex)):
            array = np.ascontiguousarray(leaf)
            digest.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
        elif isinstance(leaf, str):
            digest.update(leaf.encode())
    return digest.hexdigest()[:32]
