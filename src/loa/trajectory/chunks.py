"""A job on the workers of an executor, in chunks of problems that depend on nothing but the job.

A trajectory has a key of its own, and a chunk is computed in the same way wherever that happens. So results are the
same bits for any number of workers, in any order, with some of them dying in between.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..machine.blas_threads import one_blas_thread
from ..messages.warning import warn
from ..parallel.sending import Sent
from ..parallel.tasks import TaskError, as_they_come
from ..storage.checkpoint import Checkpoint, UnusableCheckpoint
from ..storage.resuming import Evaluations
from .engine import run
from .job import Job, Outcome

CHUNKS = 32
"""A job of moderate size is divided into this many chunks."""

LARGEST = 2**17
"""Trajectories in a chunk, at most, so that workers need little memory and progress is seen."""

BY_PROBLEM = ("problems", "indices", "starts")
"""The fields of a job that have an axis of problems."""


def chunk_size(job: Job) -> int:
    """The number of problems in a chunk."""
    candidates, problems, replicates = job.shape
    return max(1, min(-(-problems // CHUNKS), LARGEST // (candidates * replicates)))


def run_chunks(
    job: Job, width: int, slot_bytes: int, executor: Any, checkpoints: Evaluations | None,
    report: Callable[[int], None],
) -> tuple[Outcome, float]:  # fmt: skip
    """Run a job on the workers of an executor.

    Arguments:
        job: what to run, already checked.
        width, slot_bytes: as for `engine.run`.
        executor: anything with the interface of `concurrent.futures`.
        checkpoints: where the results of chunks are saved as they come.
        report: called with the number of trajectories that have ended.

    Returns:
        The results with the leading axes (candidate, problem, replicate), and the seconds that all workers spent.
    """
    size, count = chunk_size(job), job.shape[1]
    places = [np.minimum(np.arange(start, start + size), count - 1) for start in range(0, count, size)]
    forms = jax.eval_shape(lambda: jax.vmap(job.outcome)(jax.vmap(job.begin)(jnp.zeros(1, jnp.int32))))
    store = None if checkpoints is None else _Store.of(job, checkpoints.directory, forms, size)
    found: dict[int, tuple[list[np.ndarray], float]] = {}
    if store is not None:
        found |= store.read(len(places))
    fixed, frame = _parted(job)
    own = {name: jax.tree.map(np.asarray, getattr(job, name)) for name in BY_PROBLEM}
    x64 = jnp.result_type(float) == jnp.float64

    def tasks() -> Iterator[tuple[int, tuple[Any, ...]]]:
        for number in (each for each in range(len(places)) if each not in found):
            chunk = jax.tree.map(lambda leaf, number=number: leaf[places[number]], own)
            yield number, (Sent(frame), fixed, chunk, x64, width, slot_bytes)

    def described(number: int) -> str:
        first, last = places[number][0], places[number][-1]
        return f"{_subject(job)} on problems {first} to {last} of {type(job.problem_class).__name__}"

    report(_ended(job, places, found))
    for number, result in as_they_come(executor, run_chunk, tasks(), described):
        found[number] = result
        if store is not None:
            store.write(number, result)
        report(_ended(job, places, found))
    return _joined(job, [found[number][0] for number in range(len(places))], forms), sum(
        seconds for _, seconds in found.values()
    )


def _ended(job: Job, places: list[np.ndarray], found: Any) -> int:
    return sum(len(np.unique(places[number])) for number in found) * (job.size // job.shape[1])


class _Place(NamedTuple):
    """Where an array belongs that is sent apart."""

    number: int


def _parted(job: Job) -> tuple[list[Any], Any]:
    """The arrays that all chunks have in common, and the other fields with places instead of arrays."""
    names = (each.name for each in dataclasses.fields(job) if each.name not in BY_PROBLEM)
    arrays: list[Any] = []

    def placed(leaf: Any) -> Any:
        if not eqx.is_array(leaf):
            return leaf
        arrays.append(leaf if _is_key(leaf) else np.asarray(leaf))
        return _Place(len(arrays) - 1)

    frame = jax.tree.map(placed, {name: getattr(job, name) for name in names})
    return arrays, frame


def _whole(frame: Any, arrays: list[Any]) -> Any:
    def filled(leaf: Any) -> Any:
        return jnp.asarray(arrays[leaf.number]) if isinstance(leaf, _Place) else leaf

    return jax.tree.map(filled, frame, is_leaf=lambda leaf: isinstance(leaf, _Place))


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def run_chunk(
    frame: Any, fixed: list[Any], chunk: dict[str, Any], x64: bool, width: int, slot_bytes: int
) -> tuple[list[np.ndarray], float]:
    """Run the trajectories of a chunk, on a worker: the leaves of their outcomes, and the seconds that they took."""
    with jax.enable_x64(x64), one_blas_thread():
        job = Job(**_whole(frame.value, fixed), **jax.tree.map(jnp.asarray, chunk))
        try:
            outcome, seconds = run(job, width, slot_bytes)
        except Exception as error:
            place = _first_failing(job, width, slot_bytes)
            where = "" if place is None else f" (problem {place} fails alone as well)"
            raise TaskError(f"{type(error).__name__}: {_last_line(error)}{where}") from error
        return [leaf.reshape(*job.shape, *leaf.shape[1:]) for leaf in jax.tree.leaves(outcome)], seconds


def _first_failing(job: Job, width: int, slot_bytes: int) -> int | None:
    """The number of a problem on which a job fails, found by halving; None if neither half fails alone."""
    while job.shape[1] > 1:
        half = job.shape[1] // 2
        for part in (slice(0, half), slice(half, None)):
            some = {name: jax.tree.map(lambda leaf, part=part: leaf[part], getattr(job, name)) for name in BY_PROBLEM}
            smaller = dataclasses.replace(job, **some)
            try:
                run(smaller, width, slot_bytes)
            except Exception:
                job = smaller
                break
        else:
            return None
    return int(job.indices[0])


def _last_line(error: Exception) -> str:
    """What an error says; of one in a callback of JAX, only the line that names it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if line.split(":")[0].endswith("Error") and " " not in line.split(":")[0]]
    return (named or lines or [""])[-1]


def _subject(job: Job) -> str:
    """The algorithm of a job with its parameters, if there are few."""
    name = type(job.algorithms).__name__
    if job.num_candidates is not None:
        return f"a stack of {job.num_candidates} {name}"
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(job.algorithms, eqx.is_array))
    numbers = [
        f"{jax.tree_util.keystr(path, simple=True)}={float(leaf):.6g}" for path, leaf in leaves if leaf.ndim == 0
    ]
    return f"{name}({', '.join(numbers)})"


def _joined(job: Job, parts: list[list[np.ndarray]], forms: Any) -> Outcome:
    """The results of all chunks, without those that only fill the last chunk."""
    whole = [np.concatenate(leaves, axis=1)[:, : job.shape[1]] for leaves in zip(*parts, strict=True)]
    return jax.tree.unflatten(jax.tree.structure(forms), whole)


@dataclasses.dataclass(frozen=True)
class _Store:
    """Files for the results of chunks, named by the fingerprint of the job."""

    directory: Path
    identity: str
    like: list[np.ndarray]

    @classmethod
    def of(cls, job: Job, directory: Path, forms: Any, size: int) -> _Store | None:
        """The store of a job; None if it cannot be recognized again."""
        identity = job.identity()
        shape = (job.shape[0], size, job.shape[2])
        like = [np.zeros((*shape, *leaf.shape[1:]), leaf.dtype) for leaf in jax.tree.leaves(forms)]
        return None if identity is None else cls(directory, identity, like)

    def _checkpoint(self, number: int) -> Checkpoint:
        return Checkpoint(self.directory / f"{self.identity}-{number}.checkpoint", f"{self.identity}-{number}")

    def write(self, number: int, result: tuple[list[np.ndarray], float]) -> None:
        self._checkpoint(number).save(result[0], {"seconds": result[1]})

    def read(self, count: int) -> dict[int, tuple[list[np.ndarray], float]]:
        """The results that were saved; damaged files are ignored with a warning."""
        found = {}
        for number in range(count):
            checkpoint = self._checkpoint(number)
            if checkpoint.exists:
                try:
                    leaves, note = checkpoint.load(lambda note: self.like)
                except UnusableCheckpoint:
                    warn(f"{checkpoint.path} is damaged and was ignored: its problems are run again.")
                    continue
                found[number] = leaves, note["seconds"]
        return found
