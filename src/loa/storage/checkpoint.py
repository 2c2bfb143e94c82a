"""Checkpoints: long work that is killed goes on where it was, to the same result."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .files import write_whole


class Checkpoint:
    """A file that holds all that changes while something is computed, with a note of what JSON can hold.

    It knows what it belongs to by a fingerprint of everything that determines the result, and refuses another's.
    """

    def __init__(self, path: Path | str, identity: str):
        self.path = Path(path)
        self.identity = identity

    @property
    def exists(self) -> bool:
        return self.path.exists()

    def save(self, tree: Any, note: dict[str, Any]) -> None:
        header = {"identity": self.identity, "note": note}

        def write(temporary: Path) -> None:
            with temporary.open("wb") as file:
                file.write(json.dumps(header).encode() + b"\n")
                eqx.tree_serialise_leaves(file, _plain(tree))

        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, write)

    def load(self, like: Callable[[dict[str, Any]], Any]) -> tuple[Any, dict[str, Any]]:
        """What was saved, in the form that `like` gives for its note, and the note."""
        with self.path.open("rb") as file:
            try:
                header = json.loads(file.readline())
                identity, note = header["identity"], header["note"]
            except (ValueError, TypeError, KeyError):
                raise ValueError(f"{self.path} is not a whole checkpoint: delete it to begin anew.") from None
            if identity != self.identity:
                raise ValueError(
                    f"{self.path} is the checkpoint of another run (another algorithm, other settings, problems, key "
                    "or first parameters): choose another file, or delete it to begin anew."
                )
            form = like(note)
            plain = eqx.tree_deserialise_leaves(file, _plain(form))
            return jax.tree.map(_like, plain, form), note


def recognizable(program: str) -> bool:
    """Whether the text of a program says all that it computes: not if it calls functions of Python, without names."""
    return re.search(r"custom_call @\w*callback", program) is None


def fingerprint(*parts: Any) -> str:
    """A hash of arrays and texts, however nested."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(_plain(parts)):
        if eqx.is_array(leaf) or isinstance(leaf, (int, float, bool, complex)):
            array = np.ascontiguousarray(leaf)
            digest.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
        elif isinstance(leaf, str):
            digest.update(leaf.encode())
    return digest.hexdigest()[:32]


def _is_key(leaf: Any) -> bool:
    return eqx.is_array(leaf) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _plain(tree: Any) -> Any:
    """The tree with random keys as numbers."""
    return jax.tree.map(lambda leaf: jax.random.key_data(leaf) if _is_key(leaf) else leaf, tree)


def _like(plain: Any, form: Any) -> Any:
    """A leaf as it was, on the device of the form's."""
    if not isinstance(form, jax.Array):
        return plain
    leaf = jax.random.wrap_key_data(plain, impl=jax.random.key_impl(form)) if _is_key(form) else plain
    return jax.device_put(leaf, form.sharding)
