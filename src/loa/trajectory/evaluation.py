"""Evaluate an algorithm on many problems: functionals of its trajectories, in one pass and in bounded memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm, Stack
from ..messages.extras import require
from ..messages.percent import percent_seen
from ..messages.warning import warn
from ..parallel.tasks import check_executor
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass, count_problems
from ..storage.resuming import Evaluations, as_evaluations
from .checks import check_arguments, uses_loss_gap, warn_of_bad_numbers
from .devices import Device, run_job
from .functionals import Functional, StoppingTime
from .job import OUTCOMES, Job
from .kernels import in_precision_of_problems
from .subject import described

LARGE_CANDIDATE = 2**15
"""Bytes of parameters above which the candidates of a stack run one after the other, as each would fill the cache."""

if TYPE_CHECKING:
    import xarray


@dataclasses.dataclass(frozen=True, repr=False)
class Performance:
    """The result of `loa.evaluate`: the values of all functionals on every problem.

    `performance["stopping_time"]` is the array of that functional, with axes (problem, replicate), or (candidate,
    problem, replicate) for a stack of algorithms with `weights`. `outcome` says how each trajectory ended:
    "solved", "exhausted" (the horizon came first) or "diverged" (loss or point ceased to be numbers); with
    `loa.measure`, "solved", "failed" or "timed out". `seconds` is how long it took to compute all of them, without
    compilation. `caps` holds the largest possible value of each functional and `units` what it counts;
    `loa.certify(performance, "stopping_time")` relies on both.
    """

    values: dict[str, np.ndarray]
    outcome: np.ndarray
    horizon: int
    weights: np.ndarray | None = None
    seconds: float = 0.0
    caps: dict[str, float] = dataclasses.field(default_factory=dict)
    units: dict[str, str] = dataclasses.field(default_factory=dict)
    about: dict[str, str] = dataclasses.field(default_factory=dict)
    """What certificates say that they are about."""
    until_solved: tuple[str, ...] = ()
    """What is counted up to the solution, so that where a problem was not solved it is only known to be larger."""

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.values:
            raise KeyError(f"no functional named {name!r} was evaluated; there are {', '.join(self.values)}.")
        return self.values[name]

    def at_most(self, name: str, cap: float) -> np.ndarray:
        """What the values of a functional can be at most: the cap, where it counts up to a solution not found."""
        if name not in self.until_solved:
            return self[name]
        values = self[name] if np.isfinite(cap) else self[name].astype(float)
        return np.where(self.outcome == "solved", values, np.asarray(cap, values.dtype))

    def __repr__(self) -> str:
        *candidates, problems, replicates = self.outcome.shape
        shares = ", ".join(f"{percent_seen((self.outcome == word).mean())} {word}" for word in self._words)
        sizes = [f"{size} candidates" for size in candidates] + [f"{problems} problems", f"{replicates} replicates"]
        return f"Performance({' × '.join(sizes)}; {shares}; {', '.join(self.values)})"

    @property
    def _words(self) -> list[str]:
        if not np.isin(self.outcome, OUTCOMES).all():  # of a solver that loa.measure has run
            return np.unique(self.outcome).tolist()
        return [*OUTCOMES[:3], *(word for word in OUTCOMES[3:] if (self.outcome == word).any())]

    def of_candidates(self, chosen: Any) -> Performance:
        """The performance of some candidates of a stack, without weights.

        Arguments:
            chosen: a slice, a mask or a list of indices.

        Returns:
            The performance of these candidates.
        """
        values = {name: value[chosen] for name, value in self.values.items()}
        return dataclasses.replace(
            self, values=values, outcome=self.outcome[chosen], weights=None, seconds=0.0, about={}
        )

    @classmethod
    def joined(cls, parts: Sequence[Performance]) -> Performance:
        """Join the performances of several stacks of candidates on the same problems, without weights."""
        values = {name: np.concatenate([part[name] for part in parts]) for name in parts[0].values}
        outcome = np.concatenate([part.outcome for part in parts])
        return dataclasses.replace(parts[0], values=values, outcome=outcome, weights=None, seconds=0.0, about={})

    def to_xarray(self) -> xarray.Dataset:
        """The same values as a labelled data set, which `to_netcdf` can save."""
        require("xarray")
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
    executor: Any = None,
    checkpoints: Evaluations | Path | str | None = None,
    progress: bool = False,
) -> Performance:
    r"""Run an algorithm on many problems and measure functionals of each trajectory.

    For each problem \(\theta_n\) a trajectory \(\xi \sim \psi(h, \theta_n, \cdot)\) is sampled, and each functional
    \(\varphi(\theta_n, \xi)\) is measured (section 3.4 of the paper). A trajectory ends when the criterion is met, at
    the horizon, or when the loss is NaN or the point not finite. Trajectories are not stored.

    Arguments:
        algorithm: one algorithm, or a stack of them (`loa.stack`).
        problem_class: the class of the problems.
        problems: a stack of problems, from `problem_class.draw` or your own.
        criterion: when a problem counts as solved.
        horizon: t_max ≥ 1, the largest number of steps.
        key: a PRNG key. The same key gives the same numbers (up to rounding), whatever the width and the devices.
        functionals: what to measure; by default the stopping time.
        replicates: the number of trajectories per problem, for random algorithms and starts; at least 1.
        width: the number of trajectories that run in parallel, at least 1. Chosen automatically by default.
        devices: the devices among which problems are divided; by default all devices of the default backend.
        executor: workers that run chunks of problems: anything with the interface of `concurrent.futures`, such as
            `loa.Processes(8)`. Numbers are the same bits with any number of workers; none by default.
        checkpoints: a directory. A long evaluation saves progress there; the same call resumes, with the same result.
            Any number of evaluations can share the directory; delete it when they are done.
        progress: whether to show a progress bar on a terminal, or elsewhere a line every few minutes.

    Returns:
        The values of all functionals on every problem, and how each trajectory ended.

    >>> import loa
    >>> parabolas = loa.problems.RunningExample()
    >>> problems, criterion = jnp.array([1.0, 2.0]), loa.gap_below(1e-6)
    >>> evaluate(loa.GradientDescent(0.5), parabolas, problems, criterion=criterion, horizon=100, key=jax.random.key(0))
    Performance(2 problems × 1 replicates; 100.0% solved, 0.0% exhausted, 0.0% diverged; stopping_time)
    >>> _["stopping_time"].ravel().tolist()
    [10, 1]
    """
    functionals, devices = check_arguments(
        algorithm, problem_class, problems, criterion, horizon, key, functionals, replicates, width, devices
    )
    check_executor(executor)
    checkpoints = as_evaluations(checkpoints)
    return evaluate_numbered(
        algorithm, problem_class, problems, jnp.arange(count_problems(problems), dtype=jnp.int32), criterion=criterion,
        horizon=int(horizon), key=key, functionals=functionals, replicates=int(replicates), width=width,
        devices=devices, executor=executor, checkpoints=checkpoints, progress=progress,
    )  # fmt: skip


def evaluate_numbered(
    algorithm: Algorithm | Stack, problem_class: ProblemClass, problems: Any, numbers: Any, *, criterion: Criterion,
    horizon: int, key: Key[Array, ""], functionals: tuple[Functional, ...], replicates: int, width: int | None,
    devices: tuple[Device, ...], executor: Any, checkpoints: Evaluations | None, progress: bool,
) -> Performance:  # fmt: skip
    """The same for problems with numbers of their own, which their keys are made of; all arguments are checked."""
    stack = algorithm if isinstance(algorithm, Stack) else None
    if stack is not None and _bytes_per_candidate(stack) > LARGE_CANDIDATE:
        options = dict(criterion=criterion, horizon=horizon, key=key, functionals=functionals, replicates=replicates)
        options |= dict(width=width, devices=devices, executor=executor, checkpoints=checkpoints, progress=progress)
        return _one_after_the_other(stack, problem_class, problems, numbers, options)
    job = Job(
        in_precision_of_problems(algorithm if stack is None else stack.algorithms, problem_class, problems),
        None if stack is None else in_precision_of_problems(stack.common, problem_class, problems),
        problem_class,
        jax.tree.map(jnp.asarray, problems),
        numbers,
        key,
        criterion,
        functionals,
        horizon,
        None if stack is None else len(stack),
        replicates,
    )
    job, ended, seconds = run_job(job, width, devices, checkpoints, progress, executor)
    names = [functional.name for functional in functionals]
    values, outcome = dict(zip(names, ended.values, strict=True)), ended.words
    if stack is None:
        values, outcome = {name: value[0] for name, value in values.items()}, outcome[0]
    warn_of_bad_numbers(job, ended.diverged)
    _warn_of_nan(job, values)
    caps = {functional.name: functional.largest(horizon) for functional in functionals}
    units = {functional.name: functional.unit for functional in functionals}
    subject, weights = algorithm if stack is None else stack, None if stack is None else stack.weights
    about = described(subject, problem_class, problems, criterion, horizon)
    return Performance(values, outcome, horizon, weights, seconds, caps, units, about, counted_up(functionals))


def _bytes_per_candidate(stack: Stack) -> int:
    leaves = jax.tree.leaves(eqx.filter(stack.algorithms, eqx.is_array))
    return sum(leaf.nbytes for leaf in leaves) // len(stack)


def _one_after_the_other(
    stack: Stack, problem_class: ProblemClass, problems: Any, numbers: Any, options: Any
) -> Performance:
    """Evaluate a stack candidate by candidate, so that all running trajectories share their parameters."""
    setting = (problem_class, problems, numbers)
    parts = [evaluate_numbered(stack[index], *setting, **options) for index in range(len(stack))]
    values = {name: np.stack([part[name] for part in parts]) for name in parts[0].values}
    outcome, first = np.stack([part.outcome for part in parts]), parts[0]
    seconds = sum(part.seconds for part in parts)
    about = described(stack, problem_class, problems, options["criterion"], first.horizon)
    return dataclasses.replace(
        first, values=values, outcome=outcome, weights=stack.weights, seconds=seconds, about=about
    )


def counted_up(functionals: Sequence[Functional]) -> tuple[str, ...]:
    """The names of functionals that count up to the solution."""
    return tuple(functional.name for functional in functionals if functional.until_solved)


def _warn_of_nan(job: Job, values: dict[str, np.ndarray]) -> None:
    for functional in job.functionals:
        missing = np.isnan(values[functional.name])
        if not missing.any():
            continue
        reason = "its gap or result is"
        if uses_loss_gap(functional):
            name = type(job.problem_class).__name__
            reason = f"most likely the loss falls below {name}.optimal_loss, so that the gap is negative; the gap is"
        warn(
            f"{functional.name} is not a number on {percent_seen(missing.mean())} of the trajectories, first on "
            f"problem {int(np.argwhere(missing)[0][-2])}, although the loss is finite: {reason} not a number there.",
        )
