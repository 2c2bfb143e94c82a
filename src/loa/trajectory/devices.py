"""A job on one device or several: each runs its share of the problems, and the results return in their order."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..machine.blas_threads import one_blas_thread
from ..machine.compiled_programs import make_room
from ..storage.resuming import Evaluations
from .checks import warn_of_precision
from .chunks import chunk_size, run_chunks
from .compatibility import check_job
from .engine import run
from .job import Job, Outcome
from .progress import counted

Device = Any
"""A JAX device, as in `jax.devices()`."""


def run_job(
    job: Job, width: int | None, devices: tuple[Device, ...], checkpoints: Evaluations | None, progress: bool,
    executor: Any = None,
) -> tuple[Job, Outcome, float]:  # fmt: skip
    """Check a job and run all its trajectories.

    Arguments:
        job: what to run.
        width: the number of slots, or None to choose it.
        devices: the devices among which problems are divided; empty for the one where the arrays are.
        checkpoints: where progress is saved.
        progress: whether it is shown.
        executor: whose workers run the job in chunks of problems, instead of the devices.

    Returns:
        The job as it was run, its results with the leading axes (candidate, problem, replicate), and the seconds they
        took without compilation.
    """
    make_room()
    slot_bytes, keeps_smoothness = check_job(job)
    job = dataclasses.replace(job, keeps_smoothness=keeps_smoothness)
    warn_of_precision(job)
    if executor is not None:
        width = width or choose_width(slot_bytes, chunk_size(job) * job.size // job.shape[1])
        with counted(progress, "trajectories", [job.size]) as count:
            return job, *run_chunks(job, width, slot_bytes, executor, checkpoints, partial(count, 0))
    width = width or choose_width(slot_bytes, job.size // max(1, len(devices)))
    shares = _shares(job, devices)
    try:
        with one_blas_thread():
            outcomes, seconds = _run_all(shares, width, slot_bytes, checkpoints, progress)
    except jax.errors.UnexpectedTracerError as error:
        raise TypeError(
            f"{type(job.algorithms).__name__} seems to call the oracle inside a loop or branch of JAX, where calls "
            "cannot be counted: use oracle.while_loop or oracle.cond instead."
        ) from error
    return job, _assemble(shares, outcomes), seconds


def choose_width(slot_bytes: int, num_trajectories: int, working_set: int = 2**21, largest: int = 1024) -> int:
    """The number of slots: as many as fit into the cache, which also bounds memory.

    But no more than an eighth of the trajectories, so that slots are refilled several times and few of them are idle
    while the last trajectories run; and at least 32, because the overhead of a step dominates with fewer slots.
    """
    return max(1, min(largest, working_set // slot_bytes, max(32, num_trajectories // 8)))


def _shares(job: Job, devices: tuple[Device, ...]) -> list[Job]:
    """The part of the job that each device runs."""
    if not devices:
        return [job]
    shares = []
    for start, device in enumerate(devices[: len(job.indices)]):
        parts = _every((job.problems, job.indices, job.starts), start, len(devices))
        own = dataclasses.replace(job, **dict(zip(("problems", "indices", "starts"), parts, strict=True)))
        arrays, rest = eqx.partition(own, eqx.is_array)
        shares.append(eqx.combine(jax.device_put(arrays, device), rest))
    return shares


@partial(jax.jit, static_argnums=(1, 2))
def _every(tree: Any, start: int, step: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[start::step], tree)


def _run_all(
    jobs: list[Job], width: int, slot_bytes: int, checkpoints: Evaluations | None, show: bool
) -> tuple[list[Outcome], float]:
    """Run one job per device, each in its own thread, under one progress bar; also returns the largest time."""
    stopped = threading.Event()
    float64 = jnp.result_type(float) == jnp.float64

    with counted(show, "trajectories", [job.size for job in jobs]) as count:

        def run_one(number: int) -> tuple[Outcome, float]:
            def report(done: int) -> None:
                count(number, done)
                if stopped.is_set():
                    raise InterruptedError("another device was stopped")

            with jax.enable_x64(float64):  # every thread has its own setting
                return run(jobs[number], width, slot_bytes, report, checkpoints)

        with ThreadPoolExecutor(len(jobs)) as threads:
            try:
                done = [run_one(0)] if len(jobs) == 1 else list(threads.map(run_one, range(len(jobs))))
            except BaseException:
                stopped.set()
                raise
    return [outcome for outcome, _ in done], max(seconds for _, seconds in done)


def _assemble(jobs: list[Job], outcomes: list[Outcome]) -> Outcome:
    """Put the results of all devices back into the order of the problems."""
    order = np.argsort(np.concatenate([job.indices for job in jobs]))

    def whole(*parts: np.ndarray) -> np.ndarray:
        shaped: Sequence[np.ndarray] = [
            part.reshape(*job.shape, *part.shape[1:]) for job, part in zip(jobs, parts, strict=True)
        ]
        return np.concatenate(shaped, axis=1)[:, order]

    return jax.tree.map(whole, *outcomes)
