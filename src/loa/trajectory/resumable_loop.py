"""Long compiled loops in pieces of about a second, so that a loop that is killed resumes where it was."""

from __future__ import annotations

import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..messages.waiting import waiting_for
from ..storage.checkpoint import fingerprint, recognizable
from ..storage.resuming import EvaluationCheckpoint, Evaluations

SECONDS_PER_PIECE = 1.0
"""How long a compiled loop runs, about, before control returns to Python."""


def resumable_loop(
    body: Any, fixed: Any, carry: Any, length: int, *, what: str, checkpoints: Evaluations | None = None
) -> Any:
    """Compute `carry = body(fixed, index, carry)` for all indices from 0 to `length` - 1.

    Arguments:
        body: a function of a module, so that the loop is compiled once per process.
        fixed: what stays the same: arrays, and anything that can be compared with ==.
        carry: what changes, with the same shapes and types after each index.
        length: the number of indices.
        what: the name of the work, for users who wait for it.
        checkpoints: where progress is saved every few seconds; the same call finds it again.

    Returns:
        The last carry, which does not depend on how long the pieces are.
    """

    def identity() -> str | None:
        loop: Any = _loop
        program = loop.lower(body, fixed, carry, np.int32(0), np.int32(1)).as_text()
        return fingerprint(fixed, carry, length, program) if recognizable(program) else None

    kept = None if checkpoints is None else EvaluationCheckpoint(checkpoints, identity)
    progress, seconds, piece = (carry, jnp.zeros((), jnp.int32)), 0.0, 1
    if kept and (found := kept.load(lambda width: progress)):
        progress, seconds = found
    while (done := int(progress[1])) < length:
        started, stop = time.perf_counter(), np.int32(min(done + piece, length))
        with waiting_for(what):
            progress = jax.block_until_ready((_loop(body, fixed, progress[0], np.int32(done), stop), jnp.asarray(stop)))
        spent = max(time.perf_counter() - started, 1e-3)
        seconds += spent
        if kept:
            kept.save(progress, 0, seconds, finished=stop == length)
        piece = max(1, int(piece * min(SECONDS_PER_PIECE / spent, 8.0)))
    return progress[0]


@eqx.filter_jit
def _loop(body: Any, fixed: Any, carry: Any, start: Any, stop: Any) -> Any:
    return jax.lax.fori_loop(start, stop, lambda index, carry: body(fixed, index, carry), carry)
