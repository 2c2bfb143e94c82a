"""Measure any solver on many instances: seconds, what it reports, and how each run ended."""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ...messages.arguments import as_path, check_type, positive_number
from ...messages.warning import warn
from ...parallel.tasks import check_executor
from ...problems.logs.instances import Instances
from ...problems.problem_class import count_problems, whole_number
from ...trajectory.evaluation import Performance
from ...trajectory.progress import counted
from ...trajectory.units import unit_of
from .bench import Bench, Task
from .external import External
from .killable import FAILED, SOLVED, Run

UNITS = {name: unit_of(name) for name in ("seconds", "cpu_seconds")}


def measure(
    solver: Any,
    instances: Any,
    *,
    timeout: float,
    replicates: int = 1,
    memory: int | None = None,
    executor: Any = None,
    checkpoints: Path | str | None = None,
    progress: bool = False,
) -> Performance:
    """Run a solver on many instances, each run in a process of its own, and measure how long it takes.

    A run that is still not done after `timeout` seconds is killed. Runs that time out or fail count as the timeout, so
    that nothing looks better than it is: the mean that `loa.certify(performance, "seconds")` certifies is that of the
    time until an instance is solved, or given up at the timeout.

    Arguments:
        solver: a `loa.External`, or a function `solve(instance, **parameters)`.
        instances: a list of instances of any kind; a stack of arrays along a leading axis; or what
            `loa.problems.from_files` returns.
        timeout: the largest number of seconds of a run, positive.
        replicates: the number of runs per instance, at least 1. A solver with a parameter `seed` gets their numbers.
        memory: bytes of address space that a run may use; unlimited by default.
        executor: of `concurrent.futures`, or anything with its interface, for runs in parallel; one after the other by
            default. Runs that share a processor take longer.
        checkpoints: a directory to which each run is written when it ends; the same call resumes.
        progress: whether to show a progress bar on a terminal.

    Returns:
        A `Performance` with `seconds`, `cpu_seconds` and whatever the solver reports, each (problem, replicate). Its
        `outcome` is "solved", "failed" or "timed out"; what is reported is NaN where a run was not solved.

    >>> performance = measure(External("sort {instance}"), ["/dev/null"], timeout=20.0)
    >>> performance.outcome.ravel().tolist()
    ['solved']
    """
    solver = dataclasses.replace(solver) if isinstance(solver, External) else External(solver)  # known by its identity
    timeout, replicates = positive_number("timeout", timeout), whole_number("replicates", replicates)
    if memory is not None:
        whole_number("memory", memory, most=2**63 - 1)
    check_executor(executor)
    every = listed(instances)
    _warn_of_copies(every)
    tasks = [Task(place, replicate=replicate) for place in range(len(every)) for replicate in range(replicates)]
    record = (
        None if checkpoints is None else as_path("checkpoints", checkpoints) / f"{_fingerprint(solver, every)}.jsonl"
    )
    bench = Bench(solver, every, timeout=timeout, memory=memory, executor=executor, record=record)
    with counted(progress, "runs", [len(tasks)]) as count, bench:
        runs = bench.run(tasks, lambda done: count(0, done))
    if failures := failures_in(runs, replicates):
        warn(failures)
    performance = performance_of(runs, (len(every), replicates), timeout)
    return dataclasses.replace(performance, about={"algorithm": solver.words, "time limit": f"{timeout:g} s"})


def listed(instances: Any) -> list[Any]:
    """The instances one by one, with arrays of NumPy in the place of those of JAX."""
    if isinstance(instances, Instances):
        return [instances[index] for index in range(len(instances))]
    if isinstance(instances, Mapping) or hasattr(instances, "dtype"):
        stack = jax.tree.map(np.asarray, instances)
        return [jax.tree.map(lambda leaf, index=index: leaf[index], stack) for index in range(count_problems(stack))]
    check_type("instances", instances, Iterable, "a list of instances, or a stack of them")
    found = [jax.tree.map(_of_numpy, each) for each in instances]
    if not found:
        raise ValueError("instances are empty: at least one is needed.")
    return found


def _of_numpy(leaf: Any) -> Any:
    return np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf


def _warn_of_copies(every: list[Any]) -> None:
    """Say that instances come several times; as problems that are independent draws do not."""
    try:
        different = len({pickle.dumps(each, protocol=5) for each in every})
    except Exception:  # of any kind, also such that cannot be compared
        return
    if different < len(every):
        warn(
            f"only {different} of the {len(every)} instances are different: certificates take them for independent "
            "draws; for several runs on each, give every instance once and replicates=…."
        )


def failures_in(runs: list[Run], replicates: int) -> str:
    """How many runs have failed, and why the first of them did; empty if none has."""
    failed = [number for number, run in enumerate(runs) if run.outcome == FAILED]
    if not failed:
        return ""
    first = runs[failed[0]]
    said = f", after it printed {first.output.strip()[-200:]!r}" if first.output.strip() else ""
    why = first.error or "it reported that it has not solved the instance"
    return f"{len(failed)} of {len(runs)} runs failed, first on instance {failed[0] // replicates}: {why}{said}."


def performance_of(runs: list[Run], shape: tuple[int, int], timeout: float) -> Performance:
    solved = np.array([run.outcome == SOLVED for run in runs])
    names = dict.fromkeys(name for run in runs for name in run.reported if name not in UNITS)
    values = {"seconds": np.where(solved, [run.seconds for run in runs], timeout)}
    values["cpu_seconds"] = np.array([run.cpu_seconds for run in runs])
    values |= {name: np.where(solved, [run.reported.get(name, np.nan) for run in runs], np.nan) for name in names}
    outcome = np.array([run.outcome for run in runs])
    return Performance(
        {name: each.reshape(shape) for name, each in values.items()}, outcome.reshape(shape), 1,
        seconds=float(sum(run.seconds for run in runs)), caps={"seconds": timeout}, units=UNITS,
    )  # fmt: skip


def fingerprint_of(instance: Any) -> str:
    """A hash of an instance: of its content, or of that of the file that it names."""
    if isinstance(instance, str | Path) and Path(instance).is_file():
        content = Path(instance).read_bytes()
    else:
        content = pickle.dumps(instance, protocol=5)
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _fingerprint(solver: External, instances: list[Any]) -> str:
    parts = [solver.fingerprint, *map(fingerprint_of, instances)]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()
