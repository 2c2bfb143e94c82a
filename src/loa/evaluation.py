"""Evaluate an algorithm on many problems: functionals of its trajectories, in one pass, in bounded memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from .admission import check_arguments, check_job, warn_of_precision
from .algorithms.algorithm import Algorithm, Stack
from .engine import Job, Outcome, run
from .functionals import Functional, StoppingTime
from .problems.criterion import Criterion
from .problems.problem_class import ProblemClass

Device = Any
"""A JAX device, as in `jax.devices()`."""

OUTCOMES = ("solved", "exhausted", "diverged")

if TYPE_CHECKING:
    import xarray


@dataclasses.dataclass(frozen=True, repr=False)
class Performance:
    """Values of functionals on every problem, with axes (problem, replicate), or (candidate, problem, replicate).

    `performance["stopping_time"]` is the array of that functional. `outcome` says how each trajectory ended:
    "solved", "exhausted" (the horizon came first) or "diverged" (the loss became infinite or not a number).
    """

    values: dict[str, np.ndarray]
    outcome: np.ndarray
    horizon: int
    weights: np.ndarray | None = None

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.values:
            raise KeyError(f"no functional named {name!r} was evaluated; there are {', '.join(self.values)}.")
        return self.values[name]

    def __repr__(self) -> str:
        *candidates, problems, replicates = self.outcome.shape
        shares = ", ".join(f"{(self.outcome == word).mean():.1%} {word}" for word in OUTCOMES)
        sizes = [f"{size} candidates" for size in candidates] + [f"{problems} problems", f"{replicates} replicates"]
        return f"Performance({' × '.join(sizes)}; {shares}; {', '.join(self.values)})"

    def to_xarray(self) -> xarray.Dataset:
        """The same as a labelled data set, ready for `to_netcdf`."""
        import xarray

        dims = ("candidate", "problem", "replicate")[-self.outcome.ndim :]
        arrays = {name: (dims, values) for name, values in (self.values | {"outcome": self.outcome}).items()}
        weights = {} if self.weights is None else {"weights": ("candidate", self.weights)}
        return xarray.Dataset(arrays | weights, attrs={"horizon": self.horizon})


def evaluate(
    algorithm: Algorithm | Stack,
    problem_class: ProblemClass,
    problems: Any,
    *,
    criterion: Criterion,
    horizon: int,
    key: Key[Array, ""],
    functionals: Sequence[Functional] = (StoppingTime(),),
    replicates: int = 1,
    width: int | None = None,
    devices: Sequence[Device] | None = None,
    progress: bool = False,
) -> Performance:
    r"""Sample \(\varphi(\theta_n, \xi)\), \(\xi \sim \psi(h, \theta_n, \cdot)\), for a stack of problems.

    Arguments:
        algorithm: one algorithm, or a stack of them (`loa.stack`).
        problems: a stack of problems, from `problem_class.draw` or your own.
        criterion: when a problem counts as solved.
        horizon: t_max, the largest number of steps.
        key: with the same key the same numbers come out, whatever the width and the number of devices (to rounding).
        functionals: what to measure.
        replicates: trajectories per problem, for random algorithms and starts.
        width: how many trajectories are in flight at once. Chosen by itself if not given.
        devices: where to run; problems are shared out among them. All devices of the default backend if not given.
        progress: whether to show a progress bar.
    """
    functionals = tuple(functionals)
    num_problems = check_arguments(algorithm, problems, criterion, horizon, key, functionals, replicates)
    stacked = isinstance(algorithm, Stack)
    devices = tuple(jax.devices() if devices is None else devices)[:num_problems]
    shares = [np.arange(start, num_problems, len(devices)) for start in range(len(devices))]
    whole = Job(
        algorithm.algorithms if stacked else algorithm,
        problem_class,
        jax.tree.map(jnp.asarray, problems),
        jnp.arange(num_problems, dtype=jnp.int32),
        key,
        criterion,
        functionals,
        int(horizon),
        len(algorithm) if stacked else None,
        int(replicates),
    )
    slot_bytes = check_job(eqx.filter_eval_shape(lambda job: job, whole))
    warn_of_precision(whole)
    jobs = [_share(whole, share, device) for share, device in zip(shares, devices, strict=True)]
    try:
        outcomes = _run_all(jobs, width or choose_width(slot_bytes), slot_bytes, progress)
    except jax.errors.UnexpectedTracerError as error:
        raise TypeError(
            f"{type(whole.algorithms).__name__} seems to call the oracle inside a loop or branch of JAX, where calls "
            "cannot be counted: use oracle.while_loop or oracle.cond instead."
        ) from error
    values, outcome = _assemble(jobs, shares, outcomes)
    if not stacked:
        values, outcome = {name: value[0] for name, value in values.items()}, outcome[0]
    _refuse_nan(values, problem_class)
    return Performance(values, outcome, int(horizon), algorithm.weights if stacked else None)


def choose_width(slot_bytes: int, working_set: int = 2**21, largest: int = 1024) -> int:
    """As many slots as let a step work in the cache, which also bounds memory."""
    return max(1, min(largest, working_set // slot_bytes))


def _share(job: Job, share: np.ndarray, device: Device) -> Job:
    """The part of a job that one of several devices does."""
    if len(share) == len(job.indices):
        return job
    own = dataclasses.replace(
        job, problems=jax.tree.map(lambda leaf: leaf[share], job.problems), indices=job.indices[share]
    )
    return eqx.filter_shard(own, device)


def _run_all(jobs: list[Job], width: int, slot_bytes: int, show: bool) -> list[Outcome]:
    """Run one job per device, each from its own thread, under one progress bar."""
    from rich.progress import Progress

    with Progress(disable=not show, transient=True) as bar, ThreadPoolExecutor(len(jobs)) as threads:

        def run_one(job: Job) -> Outcome:
            task = bar.add_task("trajectories", total=job.size)
            return run(job, width, slot_bytes, lambda done: bar.update(task, completed=done))

        return [run_one(jobs[0])] if len(jobs) == 1 else list(threads.map(run_one, jobs))


def _assemble(
    jobs: list[Job], shares: list[np.ndarray], outcomes: list[Outcome]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Put the results of all devices back into the order of the problems."""
    order = np.argsort(np.concatenate(shares))

    def whole(parts: Sequence[np.ndarray]) -> np.ndarray:
        shaped = [part.reshape(job.shape) for job, part in zip(jobs, parts, strict=True)]
        return np.concatenate(shaped, axis=1)[:, order]

    names = [functional.name for functional in jobs[0].functionals]
    values = {name: whole([part.values[k] for part in outcomes]) for k, name in enumerate(names)}
    solved, diverged = whole([part.solved for part in outcomes]), whole([part.diverged for part in outcomes])
    return values, np.select([solved, diverged], [OUTCOMES[0], OUTCOMES[2]], OUTCOMES[1])


def _refuse_nan(values: dict[str, np.ndarray], problem_class: ProblemClass) -> None:
    for name, array in values.items():
        if np.isnan(array).any():
            problem = int(np.argwhere(np.isnan(array))[0][-2])
            raise ValueError(
                f"{name} is not a number on problem {problem} although its loss is finite: most likely the loss falls "
                f"below {type(problem_class).__name__}.optimal_loss (0 unless defined), so that the gap is negative. "
                "Define optimal_loss, or pass another gap."
            )
