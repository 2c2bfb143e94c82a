"""The engine: run many trajectories in parallel, and pay only for the steps that they take.

Each of a fixed number of slots holds one running trajectory. When enough of them have ended, their results are
recorded and the slots are refilled from the queue of waiting trajectories, all inside one compiled loop. When the queue
is empty and most slots are idle, the remaining trajectories move to fewer slots. Memory depends on the number of slots,
not on the horizon; results depend on neither, because each trajectory has its own key.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from ..messages.waiting import waiting_for
from ..storage.resuming import EvaluationCheckpoint, Evaluations
from .job import Job, Outcome, Slot, where

SECONDS_PER_CALL = 0.5
"""How long the compiled loop runs before control returns to Python, for progress and interruption."""

PATIENCE = 1e9
"""Bytes of idle slots that are processed before the engine changes to fewer slots, which costs a compilation.

This is less than what could be processed while compiling. It is a count rather than a time, so that the same key gives
the same bits.
"""

SMALL_SLOT = 2**18
"""Bytes of a slot up to which sums are not split. On CPUs, XLA splits sums of more than 32 numbers for accuracy. For a
few hundred numbers this takes longer than the sum: a tenth of the time of FISTA on LASSO, and a quarter of L-BFGS on
networks.
"""

UNSPLIT_SUMS = {"xla_disable_hlo_passes": "tree_reduction_rewriter"}
"""Options with which XLA does not split sums. An unknown pass would be ignored silently; a test checks this one."""


class Progress(NamedTuple):
    """What changes while a job runs: running trajectories, the next one in the queue, results and idle work so far."""

    slots: Slot
    next: Any
    outcomes: Outcome
    idle: Any


def run(
    job: Job,
    width: int,
    slot_bytes: int,
    report: Callable[[int], None] = lambda done: None,
    checkpoints: Evaluations | None = None,
) -> tuple[Outcome, float]:
    """Run every trajectory of a job to its end, in at most `width` slots.

    Returns the results, indexed by item, and the seconds that they took without compilation. `report` is called about
    twice a second with the number of trajectories that have ended. A job that was interrupted resumes from its files in
    the directory of `checkpoints`.
    """
    width = _whole_batches(min(width, job.size))
    patience = np.float32(PATIENCE / slot_bytes)
    loop = _run_small if slot_bytes <= SMALL_SLOT else _run
    progress, seconds = _nothing_yet(job, width), 0.0
    kept = None if checkpoints is None else EvaluationCheckpoint(checkpoints, job.identity)
    if kept and (found := kept.load(lambda width: _nothing_yet(job, width))):
        progress, seconds = found
        width = progress.slots.item.shape[0]
    progress = _compiled(loop, job, progress, patience)
    budget = 1
    while True:
        started = time.perf_counter()
        with waiting_for(f"steps of {_described(job)}, {width} at a time"):
            progress = jax.block_until_ready(loop(job, progress, np.int32(budget), patience))
        spent = time.perf_counter() - started
        seconds += spent
        begun, active = int(progress.next), np.asarray(progress.slots.active)
        finished = begun == job.size and not active.any()
        if kept:
            kept.save(progress, width, seconds, finished)
        report(begun - int(active.sum()))
        if finished:
            return jax.tree.map(np.asarray, progress.outcomes), seconds
        if begun == job.size and progress.idle > patience and _roomy(active.sum(), width):
            width = 1 << (int(active.sum()) - 1).bit_length()
            progress = _compiled(loop, job, _narrow(progress, active, width), patience)
        else:  # the duration of a call that ended early, to change the width, would say nothing about the budget
            budget = int(min(max(budget * min(SECONDS_PER_CALL / spent, 8.0), 1), 2**30))


def _compiled(loop: Callable[..., Progress], job: Job, progress: Progress, patience: Any) -> Progress:
    """The same progress, after compiling the loop for this number of slots by running it for zero steps."""
    with waiting_for(f"the compilation of {_described(job)}"):
        return jax.block_until_ready(loop(job, progress, np.int32(0), patience))


def _described(job: Job) -> str:
    return f"{type(job.algorithms).__name__} on problems of {type(job.problem_class).__name__}"


def _nothing_yet(job: Job, width: int) -> Progress:
    """Empty slots, and room for the results.

    They are on the device of the job. Otherwise the loop would be compiled once for them and again for its own outputs.
    """
    slots, outcomes = _forms(job, width)
    empty = jax.tree.map(lambda leaf: _zeros(job, leaf.shape, leaf.dtype), slots)
    room = jax.tree.map(lambda leaf: np.zeros((job.size, *leaf.shape[1:]), leaf.dtype), outcomes)
    empty = eqx.tree_at(lambda slots: slots.item, empty, np.full(width, job.size, np.int32))
    (device,) = job.key.devices()
    return jax.device_put(Progress(empty, np.int32(0), room, np.float32(0)), device)


@eqx.filter_jit
def _forms(job: Job, width: int) -> tuple[Any, Any]:
    """Shapes and types of slots and outcomes. `jit` only serves to compute them once."""
    slots = jax.eval_shape(jax.vmap(job.begin), jnp.zeros(width, jnp.int32))
    return slots, jax.eval_shape(jax.vmap(job.outcome), slots)


def _zeros(job: Job, shape: tuple[int, ...], dtype: Any) -> Any:
    if jnp.issubdtype(dtype, jax.dtypes.prng_key):
        return jnp.broadcast_to(job.key, shape)
    return np.zeros(shape, dtype)


def _narrow(progress: Progress, active: np.ndarray, width: int) -> Progress:
    """Move the trajectories that are still running to fewer slots."""
    kept = np.argsort(~active, stable=True)[:width]
    slots = jax.tree.map(lambda leaf: leaf[kept], progress.slots)
    return progress._replace(slots=slots, idle=jax.device_put(np.float32(0), progress.idle.sharding))


def _advance_all(job: Job, progress: Progress, budget: Any, patience: Any) -> Progress:
    """Advance all slots, refilling those whose trajectories have ended, for at most `budget` steps."""
    width = progress.slots.item.shape[0]
    batch = _batch(width)

    def waiting(progress: Progress) -> Bool[Array, ""]:
        return progress.next < job.size

    def num_idle(progress: Progress) -> Int[Array, ""]:
        return jnp.sum(~progress.slots.active, dtype=jnp.int32)

    def refill_is_due(progress: Progress) -> Bool[Array, ""]:
        wanted = jnp.minimum(batch, job.size - progress.next)
        return waiting(progress) & (num_idle(progress) >= wanted)

    def refill(progress: Progress) -> Progress:
        places = jax.lax.top_k(~progress.slots.active, batch)[1]
        before = jax.tree.map(lambda leaf: leaf[places], progress.slots)
        fresh = jax.vmap(job.begin)(progress.next + jnp.arange(batch, dtype=jnp.int32))
        after = jax.vmap(where)(fresh.active, fresh, before)
        return progress._replace(
            slots=jax.tree.map(lambda leaf, new: leaf.at[places].set(new), progress.slots, after),
            next=jnp.minimum(progress.next + batch, job.size),
            outcomes=_write_down(job, progress.outcomes, before),
        )

    def may_step(carry: tuple[Progress, Int[Array, ""]]) -> Bool[Array, ""]:
        progress, left = carry
        active = width - num_idle(progress)
        too_wide = ~waiting(progress) & (progress.idle > patience) & _roomy(active, width)
        return (left > 0) & (active > 0) & ~refill_is_due(progress) & ~too_wide

    def step(carry: tuple[Progress, Int[Array, ""]]) -> tuple[Progress, Int[Array, ""]]:
        progress, left = carry
        idle = jnp.where(waiting(progress), 0, progress.idle + num_idle(progress))
        return progress._replace(slots=jax.vmap(job.advance)(progress.slots), idle=idle), left - 1

    def stretch(carry: tuple[Progress, Int[Array, ""]]) -> tuple[Progress, Int[Array, ""]]:
        progress, left = carry
        progress = jax.lax.while_loop(refill_is_due, refill, progress)
        return jax.lax.while_loop(may_step, step, (progress, left))

    def unfinished(carry: tuple[Progress, Int[Array, ""]]) -> Bool[Array, ""]:
        return refill_is_due(carry[0]) | may_step(carry)

    progress, _ = jax.lax.while_loop(unfinished, stretch, (progress, budget))
    return progress._replace(outcomes=_write_down(job, progress.outcomes, progress.slots))


_run = eqx.filter_jit(_advance_all, donate="all-except-first")
_run_small = eqx.filter_jit(
    _advance_all,
    donate="all-except-first",
    compiler_options=UNSPLIT_SUMS,  # pyright: ignore[reportCallIssue]
)


def _batch(width: int) -> int:
    """The number of slots that are refilled together."""
    return max(1, width // 8)


def _whole_batches(width: int) -> int:
    """The largest multiple of a batch that is not larger than this width, so that no slot is ever empty."""
    return width - width % _batch(width)


def _roomy(active: Any, width: int) -> Any:
    """Whether half of the slots would be enough."""
    return 2 * active <= width


def _write_down(job: Job, outcomes: Outcome, slots: Slot) -> Outcome:
    """Record the results of the slots whose trajectories have ended."""
    items = jnp.where(slots.active, job.size, slots.item)
    new = jax.vmap(job.outcome)(slots)
    return jax.tree.map(lambda room, value: room.at[items].set(value, mode="drop"), outcomes, new)
