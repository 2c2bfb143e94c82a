"""Measure any solver on many instances: seconds, what it reports, and how each run ended."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import numpy as np

from ..parallel.tasks import as_they_come, check_executor
from ..problems.arguments import check_type, positive_number
from ..problems.instances import Instances
from ..problems.problem_class import count_problems, whole_number
from ..problems.warning import warn
from ..trajectory.evaluation import Performance
from ..trajectory.progress import counted
from ..trajectory.units import unit_of
from .external import External
from .killable import FAILED, SOLVED, Killable, Run

CHUNKS = 32
"""Into at most this many parts runs are divided among the workers of an executor."""

UNITS = {name: unit_of(name) for name in ("seconds", "cpu_seconds")}


def measure(
    solver: Any,
    instances: Any,
    *,
    timeout: float,
    replicates: int = 1,
    memory: int | None = None,
    executor: Any = None,
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
        memory: bytes of memory that a run may use, of addresses; unlimited by default.
        executor: of `concurrent.futures`, or anything with its interface, for runs in parallel; one after the other by
            default. Runs that share a processor take longer.
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
    every = _listed(instances)
    _warn_of_copies(every)
    tasks = [(place, replicate) for place in range(len(every)) for replicate in range(replicates)]
    options = {"timeout": timeout, "memory": memory}
    with counted(progress, "runs", [len(tasks)]) as count:
        if executor is None:
            work = [(every[place], replicate) for place, replicate in tasks]
            runs = _runs(solver, work, options, lambda done: count(0, done))
        else:
            runs = _runs_on(executor, solver, every, tasks, options, lambda done: count(0, done))
    _warn_of_failures(runs, replicates)
    performance = _performance(runs, (len(every), replicates), timeout)
    return dataclasses.replace(performance, about={"algorithm": solver.words, "time limit": f"{timeout:g} s"})


def _listed(instances: Any) -> list[Any]:
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


def _runs(
    solver: External,
    tasks: list[tuple[Any, int]],
    options: Mapping[str, Any],
    report: Callable[[int], None] = lambda done: None,
) -> list[Run]:
    """One run after the other."""
    found = []
    with Killable(solver) as process:
        for done, (instance, replicate) in enumerate(tasks, start=1):
            seed = {"seed": replicate} if solver.takes_seed else {}
            found.append(process.run(instance, **options, **{**seed, **solver.parameters}))
            report(done)
    return found


def _runs_on(
    executor: Any, solver: External, every: list[Any], tasks: list[tuple[int, int]], options: Mapping[str, Any],
    report: Callable[[int], None],
) -> list[Run]:  # fmt: skip
    """The same runs on the workers of an executor, in chunks."""
    chunks = np.array_split(np.arange(len(tasks)), min(CHUNKS, len(tasks)))
    work = (
        (number, (solver, [(every[tasks[k][0]], tasks[k][1]) for k in chunk], options))
        for number, chunk in enumerate(chunks)
    )

    def described(number: int) -> str:
        return f"{solver.words} on instances {tasks[chunks[number][0]][0]} to {tasks[chunks[number][-1]][0]}"

    found: dict[int, list[Run]] = {}
    try:
        for number, runs in as_they_come(executor, _runs, work, described):
            found[number] = runs
            report(sum(map(len, found.values())))
    except BaseException:
        Killable.end_all(solver)  # threads of this process need not wait for the time limit
        raise
    return [run for number in range(len(chunks)) for run in found[number]]


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


def _warn_of_failures(runs: list[Run], replicates: int) -> None:
    """Say how many runs have failed, and why the first of them did."""
    failed = [number for number, run in enumerate(runs) if run.outcome == FAILED]
    if failed:
        first = runs[failed[0]]
        said = f", after it printed {first.output.strip()[-200:]!r}" if first.output.strip() else ""
        why = first.error or "it reported that it has not solved the instance"
        warn(f"{len(failed)} of {len(runs)} runs failed, first on instance {failed[0] // replicates}: {why}{said}.")


def _performance(runs: list[Run], shape: tuple[int, int], timeout: float) -> Performance:
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
