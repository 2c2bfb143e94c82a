"""Write docs/at-scale.md: problems by the million, what a task costs, and how many workers are worth while.

python benchmarks/scale.py curve          # 10³ to 10⁷ problems, on disk, each size in a process of its own
python benchmarks/scale.py large          # 10⁶ problems × 100 candidates
python benchmarks/scale.py overhead       # a task that does nothing, and tasks that sleep on 1 to 8 workers
python benchmarks/scale.py efficiency     # an evaluation on one and two workers
python benchmarks/scale.py page           # the page, from what the others have written to benchmarks/results
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import jax
import numpy as np

import loa
from loa.parallel.shared_folder import SharedFolder, help_in

HERE = Path(__file__).parent
RESULTS = HERE / "results"
SIZES = [10**3, 10**4, 10**5, 10**6, 10**7]
CANDIDATES, WORKERS, MEASURED = 100, (1, 2, 4, 8), (1, 2, 8)
SLEEP = 0.05
"""Seconds of a task that sleeps: many more of these than cores can run at the same time."""


def stored(folder, problems, candidates):
    """Gradient descent on the running example, to an accuracy of 1e-4; candidates differ by their step size."""
    steps = np.linspace(0.1, 0.5, candidates)
    stack = loa.stack([loa.GradientDescent(step) for step in steps]) if candidates > 1 else loa.GradientDescent(0.5)
    return loa.evaluate_on_disk(
        folder, stack, loa.problems.RunningExample(), loa.problems.Drawn(jax.random.key(0), problems),
        criterion=loa.gap_below(1e-4), horizon=20, key=jax.random.key(1), progress=True,
    )  # fmt: skip


def one_size(problems, candidates):
    """One evaluation; the peak of memory is that of this process."""
    folder = Path(tempfile.mkdtemp())
    try:
        began, clock = time.perf_counter(), time.process_time()
        found = stored(folder, problems, candidates)
        seconds, busy = time.perf_counter() - began, time.process_time() - clock
        began = time.perf_counter()
        means, outcomes = found.means("stopping_time"), found.outcomes()
        read = time.perf_counter() - began
        one = found.performance(candidates // 2)
        return {
            "problems": problems, "candidates": candidates, "seconds": seconds, "processor_seconds": busy,
            "summary_seconds": read, "megabytes": found.bytes / 1e6, "files": len(found.files),
            "steps": float(means.sum() * problems), "solved": float(outcomes[:, 0].sum() / outcomes.sum()),
            "best_mean": float(means.min()), "median_of_middle": float(np.median(one["stopping_time"])),
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }  # fmt: skip
    finally:
        shutil.rmtree(folder)


def in_own_process(problems, candidates):
    command = [sys.executable, __file__, "one", str(problems), str(candidates)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


@contextmanager
def processes(workers):
    with loa.Processes(workers) as executor:
        yield executor


@contextmanager
def dask(workers):
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        yield client.get_executor()


@contextmanager
def folder(workers):
    """A folder that this process and others share, as with `--batch`."""
    place = Path(tempfile.mkdtemp()) / "tasks"
    helpers = [
        subprocess.Popen([sys.executable, __file__, "help", str(place), str(os.getpid())]) for _ in range(workers)
    ]
    try:
        with SharedFolder(place, computes=False) as executor:
            yield executor
    finally:
        for each in helpers:
            each.kill()
            each.wait()


KINDS = {"`loa.Processes`, `--jobs`": processes, "Dask": dask, "a shared folder, `--batch`": folder}


def seconds_of(executor, task, number):
    began = time.perf_counter()
    futures = [executor.submit(task) for _ in range(number)]
    wait(futures)
    for each in futures:
        each.result()
    return time.perf_counter() - began


def warm(executor, workers):
    """Start all workers, and import in them what the tasks need."""
    for _ in range(2):
        seconds_of(executor, partial(time.sleep, 0.3), 4 * workers)


def overhead():
    """Milliseconds of a task that does nothing on one worker, and the efficiency of tasks that only sleep."""
    found = {}
    for name, kind in KINDS.items():
        shares, empty = {}, 0.0
        for workers in MEASURED:
            with kind(workers) as executor:
                warm(executor, workers)
                if workers == 1:
                    empty = min(seconds_of(executor, partial(time.sleep, 0.0), 100) for _ in range(3)) / 100
                number = 16 * workers
                best = min(seconds_of(executor, partial(time.sleep, SLEEP), number) for _ in range(3))
            shares[workers] = SLEEP * number / (workers * best)
        found[name] = {"milliseconds": 1e3 * empty, "sleeping": shares}
    return {"kinds": found, "sleep": SLEEP}


def efficiency():
    """The same evaluation on one and two workers, and the time that its tasks take in all."""
    jax.config.update("jax_enable_x64", True)
    quadratics = loa.problems.Quadratics(dimension=50, strong_convexity=(0.01, 0.02), smoothness_range=(1.0, 5.0))
    problems = quadratics.draw(jax.random.key(0), 2000)
    setting = dict(criterion=loa.loss_below(1e-8), horizon=2000, key=jax.random.key(1))
    rows = []
    for workers in (1, 2):
        with loa.Processes(workers) as executor:
            run = partial(loa.evaluate, loa.GradientDescent(0.3), quadratics, problems, executor=executor, **setting)
            run()  # each worker compiles once
            best, inside, steps = 1e9, 0.0, 0
            for _ in range(3):
                began = time.perf_counter()
                performance = run()
                spent = time.perf_counter() - began
                if spent < best:
                    best, inside, steps = spent, performance.seconds, int(performance["stopping_time"].sum())
        rows.append({"workers": workers, "seconds": best, "seconds_inside": inside, "steps": steps})
    return {"rows": rows, "tasks": 32}


def predicted(workers, tasks, seconds, each):
    """The model: tasks of equal length on workers, and a process that spends `each` seconds on every task alone."""
    rounds = -(-tasks // workers)
    return max(rounds * (seconds / tasks + each), tasks * each)


def page():
    """The page, with a section for each part that was measured."""
    files = {name: RESULTS / f"scale-{name}.json" for name in NAMES}
    read = {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}
    sections = [PAGE.format(cores=os.cpu_count(), jax=jax.__version__)]
    for needed, section in SECTIONS:
        if all(name in read for name in needed):
            sections.append(section(*(read[name] for name in needed)))
    (HERE.parent / "docs" / "at-scale.md").write_text("\n".join(sections))


def of_curve(curve):
    rows = curve["rows"]
    lines = "\n".join(
        f"| {each['problems']:,} | {each['processor_seconds']:.1f} "
        f"| {1e6 * each['processor_seconds'] / each['problems']:.1f} "
        f"| {each['peak_mib']:.0f} | {each['megabytes']:.2f} |"
        for each in rows
    )
    return CURVE.format(rows=lines, grown=rows[-1]["peak_mib"] - rows[0]["peak_mib"])


def of_large(large):
    return LARGE.format(
        large=large, busy=large["processor_seconds"] / 60, problems=large["problems"], candidates=large["candidates"],
    )  # fmt: skip


def of_overhead(measured):
    kinds = "\n".join(
        f"| {name} | {each['milliseconds']:.1f} | "
        + " | ".join(f"{share:.0%}" for share in each["sleeping"].values())
        + " |"
        for name, each in measured["kinds"].items()
    )
    cost = measured["kinds"]["`loa.Processes`, `--jobs`"]["milliseconds"]
    return OVERHEAD.format(kinds=kinds, sleep=measured["sleep"], short=9 * cost)


def of_efficiency(measured, pairs):
    one, two = pairs["rows"]
    cost = measured["kinds"]["`loa.Processes`, `--jobs`"]["milliseconds"] / 1e3
    tasks = pairs["tasks"]
    model = {workers: predicted(workers, tasks, one["seconds_inside"], cost) for workers in WORKERS}
    seconds = {row["workers"]: f"{row['seconds']:.2f}" for row in pairs["rows"]}
    lines = "\n".join(
        f"| {workers} | {seconds.get(workers, '–')} | {model[workers]:.2f} "
        f"| {model[1] / (workers * model[workers]):.0%} |"
        for workers in WORKERS
    )
    gained = one["seconds"] / two["seconds"]
    return EFFICIENCY.format(efficiencies=lines, tasks=tasks, gained=gained, cost=1e3 * cost)


def of_steps(curve):
    last = curve["rows"][-1]
    per_step = last["processor_seconds"] / last["steps"]
    lines = "\n".join(
        f"| {10**power:.0e} | {_duration(per_step * 10**power)} | {_duration(per_step * 10**power / 8)} "
        f"| {_duration(per_step * 10**power / 64)} |"
        for power in (9, 10, 11, 12)
    )
    return STEPS.format(fine=lines, nanoseconds=1e9 * per_step)


def _duration(seconds):
    for name, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.1f} s"


PAGE = """# At scale

This page is written by `benchmarks/scale.py`, on {cores} cores with jax {jax}.

## More problems than fit into memory

`loa.evaluate_on_disk` draws problems when they are needed, runs them part by part, and writes each part to a Parquet
file when it is done. The numbers are those of `loa.evaluate`, and the same call resumes.

```python
import jax
import loa

stack = loa.stack([loa.GradientDescent(step) for step in (0.3, 0.5, 0.7)])
stored = loa.evaluate_on_disk(
    "million", stack, loa.problems.RunningExample(), loa.problems.Drawn(jax.random.key(0), 10_000),
    criterion=loa.gap_below(1e-6), horizon=200, key=jax.random.key(1),
)
print(stored)
print(stored.means("stopping_time"))                       # of each candidate, one file after the other
best = stored.performance(int(stored.means("stopping_time").argmin()))
print(loa.measures.summary(best["stopping_time"]), loa.certify(best, "stopping_time"))
```

`loa.Stored.at("million")` finds it again. Nothing loads more than one file, or one candidate. The files have one row
for each trajectory, so that DuckDB, Polars or Spark can read them as well. With `executor=` each part is divided among
workers, as on [a cluster](on-a-cluster.md).
"""

CURVE = """Gradient descent on the running example, one candidate, drawing and writing included. Each size ran in a
process of its own; seconds are those of a processor, and some of them go into importing JAX and compiling:

| problems | seconds | µs per problem | peak of memory, MiB | MB on disk |
|---:|---:|---:|---:|---:|
{rows}

From the first row to the last, memory grows by {grown:.0f} MiB. Python with JAX takes the most of it.
"""

LARGE = """**{problems:,} problems × {candidates} candidates**, {large[steps]:.1e} problem-steps, took
{busy:.1f} minutes of a processor. The peak of memory was **{large[peak_mib]:.0f} MiB**, and there are
{large[megabytes]:.0f} MB in {large[files]} files. The means and outcomes of all candidates were read from them in
{large[summary_seconds]:.0f} s.
"""

OVERHEAD = """## What a task costs

Work for an executor is divided into 32 tasks or more. This is the time of a task that does nothing, on one worker,
and the efficiency of tasks that sleep for {sleep} s, 16 for each worker. As they do not compute, there may be more
workers than cores:

| | ms per task | 1 worker | 2 | 8 |
|---|---:|---:|---:|---:|
{kinds}

So with processes on one machine, a task of {short:.0f} ms is 90% efficient. The folder that calls with `--batch` share
is for tasks of a second and more: each of them is a file that is written, found and removed.
"""

EFFICIENCY = """## Efficiency

A model with two numbers: w workers need ⌈{tasks} / w⌉ rounds of a task and its overhead of {cost:.1f} ms, and the
process that gives out tasks spends this overhead on every one of them. It is compared with an evaluation
(2000 quadratics in dimension 50) on one and two workers; this machine has no more cores, so the other rows are the
model alone, whose overhead the tasks above have checked with up to eight workers.

| workers | measured, s | model, s | efficiency, by the model |
|---:|---:|---:|---:|
{efficiencies}

Two workers were {gained:.2f} × as fast as one. What the model leaves out: cores that share the bandwidth of memory,
tasks of unequal length, and the seconds in which every new worker imports JAX and compiles.
"""

STEPS = """## What 10⁹ problem-steps and beyond take

A problem-step of the largest row above costs {nanoseconds:.0f} ns of a core. For problems as small as these:

| problem-steps | one core | 8 workers | 64 workers |
|---:|---:|---:|---:|
{fine}

A step in dimension d costs about as much as its arithmetic, see [speed](speed.md); these numbers are a lower bound.
"""

SECTIONS = [
    (("curve",), of_curve),
    (("large",), of_large),
    (("overhead",), of_overhead),
    (("overhead", "efficiency"), of_efficiency),
    (("curve",), of_steps),
]

NAMES = {
    "curve": lambda: {"rows": [in_own_process(size, 1) for size in SIZES]},
    "large": lambda: in_own_process(10**6, CANDIDATES),
    "overhead": overhead,
    "efficiency": efficiency,
}

if __name__ == "__main__":
    command, *rest = sys.argv[1:] or ["page"]
    if command == "one":
        jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)
        print(json.dumps(one_size(*map(int, rest))))
    elif command == "help":
        help_in(Path(rest[0]), lambda: os.getppid() != int(rest[1]))
    elif command == "page":
        page()
    else:
        (RESULTS / f"scale-{command}.json").write_text(json.dumps(NAMES[command](), indent=2) + "\n")
