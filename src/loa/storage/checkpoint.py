"""Checkpoints: long work that was killed resumes from a file, to the same result."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from io import BufferedRandom, BufferedReader
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .files import write_whole

DIGEST = 32
"""Bytes of the checksum with which a checkpoint begins."""


class UnusableCheckpoint(ValueError):
    """The file is damaged, or is the checkpoint of other work."""


class Checkpoint:
    """A file that holds everything that changes during a computation, and a note that JSON can represent.

    The file begins with a checksum of all that follows: a line of JSON with the note and the identity, a fingerprint of
    everything that determines the result; then the arrays. A file that is damaged or has another identity is refused.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "example.checkpoint"
    >>> checkpoint = Checkpoint(path, fingerprint("example", 3))
    >>> checkpoint.save(np.arange(3), {"step": 7})
    >>> checkpoint.load(lambda note: np.zeros(3, int))
    (array([0, 1, 2]), {'step': 7})
    """

    def __init__(self, path: Path | str, identity: str):
        self.path = Path(path)
        self.identity = identity

    @property
    def exists(self) -> bool:
        return self.path.exists()

    def save(self, tree: Any, note: dict[str, Any]) -> None:
        """Replace the content of the file."""
        header = {"identity": self.identity, "note": note}

        def write(temporary: Path) -> None:
            with temporary.open("w+b") as file:
                file.write(bytes(DIGEST) + json.dumps(header).encode() + b"\n")
                eqx.tree_serialise_leaves(file, _plain(tree))
                digest = _digest(file)
                file.seek(0)
                file.write(digest)

        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, write)

    def load(self, like: Callable[[dict[str, Any]], Any]) -> tuple[Any, dict[str, Any]]:
        """What was saved and its note; `like` gives, for a note, a tree of the same shapes and types.

        Raises `UnusableCheckpoint` if the file is damaged or is the checkpoint of other work.
        """
        damaged = UnusableCheckpoint(f"{self.path} is not a whole checkpoint: delete it to start from the beginning.")
        with self.path.open("rb") as file:
            if file.read(DIGEST) != _digest(file):
                raise damaged
            file.seek(DIGEST)
            try:
                header = json.loads(file.readline())
                identity, note = header["identity"], header["note"]
            except (ValueError, TypeError, KeyError):
                raise damaged from None
            if identity != self.identity:
                raise UnusableCheckpoint(
                    f"{self.path} is the checkpoint of another run (another algorithm, other settings, problems, key "
                    "or first parameters): choose another file, or delete it to start from the beginning."
                )
            form = like(note)
            try:
                plain = eqx.tree_deserialise_leaves(file, _plain(form))
            except (ValueError, TypeError, RuntimeError, EOFError):
                raise damaged from None
            return jax.tree.map(_like, plain, form), note


def _digest(file: BufferedReader | BufferedRandom) -> bytes:
    """The checksum of everything after the place where the checksum is kept."""
    file.seek(DIGEST)
    return hashlib.file_digest(file, "sha256").digest()


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
