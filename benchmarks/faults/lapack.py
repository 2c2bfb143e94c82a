"""Losses with linear algebra and Fourier transforms in every stage, beside a busy machine: which stand still?

    python -m benchmarks.faults.lapack --repetitions 50

Each loss runs through all stages in a process of its own, once with one device and once with two, beside a loop that
keeps every core busy. What stands still does so when a program runs, not when it is compiled: programs are compiled
once and quickly, in the first repetition, and run in all. Prints how many repetitions of each survived; the exit code
is 1 if any did not. `--unguarded` tries the same without `loa.machine.batched_lapack`, to see that this can fail.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import loa
from loa.deployment import load_exported
from loa.deployment.export import ExportedSolver
from loa.experiments.from_file.problem_class import experiment_for
from loa.problems import ComputedOptimum

from .counts import Count

SIZE, PROBLEMS = 30, 128
DEVICES = (1, 2)

POLL = 0.2
SILENCE = 60.0
"""Seconds in which none of a process's threads wants to run, and it prints nothing: it has stood still."""

SPINNING = 3600.0
"""Seconds of a processor that a stage may use up."""

QUICKLY = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
"""With which XLA compiles quickly; calls of LAPACK are the same, and without the guard programs stand still as well."""

LOSSES: dict[str, Callable[[jax.Array], jax.Array]] = {
    "cholesky": lambda a: jnp.sum(jnp.log(jnp.diagonal(jnp.linalg.cholesky(a)))),
    "solve": lambda a: jnp.trace(jnp.linalg.solve(a, a + jnp.eye(SIZE))),
    "triangular": lambda a: jnp.sum(jax.scipy.linalg.solve_triangular(a, jnp.eye(SIZE), lower=True) ** 2),
    "singular values": lambda a: jnp.sum(jnp.linalg.svd(a, compute_uv=False)),
    "eigenvalues": lambda a: jnp.linalg.eigvalsh(a)[-1],
    "qr": lambda a: jnp.sum(jnp.abs(jnp.diagonal(jnp.linalg.qr(a)[1]))),
    "slogdet": lambda a: jnp.linalg.slogdet(a)[1],
    "inverse": lambda a: jnp.trace(jnp.linalg.inv(a)),
    "pinv": lambda a: jnp.trace(jnp.linalg.pinv(a)),
    "lstsq": lambda a: jnp.sum(jnp.linalg.lstsq(a, jnp.ones(SIZE))[0] ** 2),
    "expm": lambda a: jnp.trace(jax.scipy.linalg.expm(a / SIZE)),
    "power": lambda a: jnp.trace(jnp.linalg.matrix_power(a / SIZE, -2)),
    "fft": lambda a: jnp.sum(jnp.abs(jnp.fft.fft2(a)) ** 2) / SIZE**2,
}


class Matrices(loa.ProblemClass):
    """A loss of A + diag(x²), where A is positive definite and drawn with the help of LAPACK."""

    of: str

    def sample(self, key):
        root = jnp.linalg.qr(jax.random.normal(key, (SIZE, SIZE)))[0]
        return (root * jnp.linspace(1.0, 3.0, SIZE)) @ root.T

    def start(self, problem, key):
        return jnp.full(SIZE, 0.9)

    def loss(self, x, problem):
        return LOSSES[self.of](problem + jnp.diag(x**2)) + jnp.sum((x - 1) ** 2)


class Solved(NamedTuple):
    """A matrix and the smallest loss that it leads to."""

    matrix: jax.Array
    optimal_loss: Any = None


class Parabolas(ComputedOptimum):
    """A parabola, and so little of a loss of matrices that L-BFGS finds the minimum in a few steps."""

    of: str

    def sample(self, key):
        return Solved(Matrices(self.of).sample(key))

    def start(self, problem, key):
        return jnp.full(SIZE, 0.9)

    def loss(self, x, problem):
        return jnp.sum((x - 1) ** 2) + 1e-9 * LOSSES[self.of](problem.matrix + jnp.diag(x**2))

    def suboptimality(self, x, problem):
        return jnp.sum(jax.grad(self.loss)(x, problem) ** 2)


class Given(NamedTuple):
    """What every stage is given."""

    of: str
    problems: jax.Array
    key: jax.Array

    @property
    def problem_class(self) -> Matrices:
        return Matrices(self.of)

    @property
    def method(self) -> loa.Algorithm:
        return loa.GradientDescent(1e-3)

    @property
    def on_problems(self) -> tuple[Matrices, jax.Array]:
        return self.problem_class, self.problems

    @property
    def options(self) -> dict[str, Any]:
        return dict(criterion=loa.gradient_norm_below(1e-12), horizon=4, key=self.key)


STAGES: dict[str, Callable[[Given], Any]] = {
    "draw": lambda given: given.problem_class.draw(given.key, PROBLEMS),
    "default criterion": lambda given: experiment_for(given.problem_class, name="matrices"),
    "evaluate": lambda given: loa.evaluate(given.method, *given.on_problems, width=64, **given.options),
    "trajectories": lambda given: loa.trajectories(given.method, *given.on_problems, horizon=4, key=given.key),
    "solve": lambda given: loa.solve(given.method, *given.on_problems, **given.options),
    "solver": lambda given: _solve_each(given),
    "compare": lambda given: loa.compare(
        {"one": given.method, "other": loa.Adam(1e-3)}, *given.on_problems, **given.options
    ),
    "optimal losses": lambda given: _optimal_losses(Parabolas(given.of), given.key),
    "curvature": lambda given: loa.learning.average_curvature(
        given.problem_class, given.problems[:4], teacher=given.method, times=(1,), key=given.key
    ),
    "tuning": lambda given: loa.tune(
        loa.GradientDescent, {"step_size": (1e-4, 2e-3)}, *given.on_problems, candidates=4, rounds=1, **given.options
    ),
    "tuning by gradient": lambda given: loa.tune_by_gradient(
        loa.GradientDescent, {"step_size": (1e-4, 2e-3)}, *given.on_problems,
        functional=loa.Gap(2, gap=loa.gaps.loss), horizon=2, key=given.key, iterations=1,
    ),
    "training": lambda given: loa.train(
        given.method, given.problem_class, validation=32, pool=64, steps=4, checks=1, **given.options
    ),
    "Langevin": lambda given: loa.learning.langevin_support(
        given.method, *given.on_problems, size=4, chains=4, thinning=2, step_size=1e-12, **given.options
    ),
}  # fmt: skip
"""In every stage batches are large enough for jaxlib to divide them among its threads."""


class Starts(Matrices):
    """The same problems, started at the best of many points, which are compared together."""

    def start(self, problem, key):
        points = jnp.linspace(0.5, 1.5, 64)[:, None] * jnp.ones(SIZE)
        losses = jax.vmap(lambda x: self.loss(x, problem))(points)
        return points[jnp.argmin(losses)]


@cache
def _solvers(of: str) -> tuple[loa.Solver, ExportedSolver]:
    """A solver that is compiled, and the same from a file."""
    solver = loa.Solver(loa.GradientDescent(1e-3), Starts(of), criterion=loa.gradient_norm_below(1e-12), horizon=4)
    with tempfile.TemporaryDirectory() as folder:
        solver.export(Path(folder) / "solver")
        return solver, load_exported(Path(folder) / "solver")


def _solve_each(given: Given) -> None:
    for solver in _solvers(given.of):
        for problem in given.problems[:8]:
            solver(problem)


def _optimal_losses(problem_class: Parabolas, key: jax.Array) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOA_CACHE"] = folder  # otherwise they would be computed only once
        loa.with_optimal_losses(problem_class, problem_class.draw(key, 16))


def run(of: str, devices: int, repetitions: int) -> None:
    """All stages of one loss, in this process; prints a line after each."""
    jax.config.update("jax_num_cpu_devices", devices)
    jax.config.update("jax_enable_x64", True)
    problem_class, x = Matrices(of), jnp.ones(SIZE)
    problems = problem_class.draw(jax.random.key(0), PROBLEMS)
    values = jax.jit(jax.vmap(lambda problem: problem_class.loss(x, problem)))(problems)
    np.testing.assert_allclose(values[:8], [problem_class.loss(x, problem) for problem in problems[:8]], rtol=1e-8)
    for number in range(repetitions):
        given, began = Given(of, problems, jax.random.key(number)), time.monotonic()
        for name, stage in STAGES.items():
            jax.block_until_ready(stage(given))
            print(number, name, f"{time.monotonic() - began:.1f} s", flush=True)
        print(f"repetition {number}", flush=True)


UNGUARDED = "import jax, jaxlib.version; jaxlib.version.__version_info__ = (0, 0, 0)"
"""Makes loa believe that jaxlib divides no batches."""


def attempt(of: str, devices: int, repetitions: int, guarded: bool = True) -> tuple[int, str]:
    """How many repetitions a process of its own completed, and what it did wrong; empty if it completed all."""
    first = "" if guarded else UNGUARDED
    words = [sys.executable, "-c", f"{first}\nfrom {__spec__.name} import run\nrun({of!r}, {devices}, {repetitions})"]
    own = {**os.environ, "XLA_FLAGS": f"{QUICKLY} {os.environ.get('XLA_FLAGS', '')}".rstrip()}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
        process = subprocess.Popen(words, stdout=out, stderr=error, env=own, cwd=Path(__file__).parents[2])
        still = _stands_still(process, out.fileno())
        process.kill()
        process.wait()
        out.seek(0)
        error.seek(0)
        lines, words_of_error = out.read().splitlines(), error.read()
    done = sum(line.startswith("repetition ") for line in lines)
    if done == repetitions:
        return done, ""
    what = "stood still" if still else "ended"
    return done, f"{of}, {devices} devices: {what} after {lines[-1:]} {words_of_error[-500:]}"


def _stands_still(process: subprocess.Popen[bytes], out: int) -> bool:
    """Wait until a process ends or stands still, and say which.

    Only moments in which this process runs and the other does not want to are counted, so that neither a busy machine
    nor a stop of both is taken for standing still.
    """
    size, idle, used = -1, 0.0, 0.0
    while process.poll() is None:
        time.sleep(POLL)
        spent = seconds_used(process.pid)
        if (now := os.fstat(out).st_size) != size:
            size, idle, used = now, 0.0, spent
        idle += POLL * (not wants_to_run(process.pid))
        if idle > SILENCE or spent - used > SPINNING:
            return True
    return False


def wants_to_run(process: int) -> bool:
    """Whether any thread of a process runs, waits for a core, for the disk, or was stopped from outside."""
    return any(_stat(path)[0] in "RDT" for path in Path(f"/proc/{process}/task").glob("*/stat"))


def seconds_used(process: int) -> float:
    """The time of processors that a process has used."""
    fields = _stat(Path(f"/proc/{process}/stat"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _stat(path: Path) -> list[str]:
    """What Linux says about a process or thread, from its state on; that it is idle, if it has ended meanwhile."""
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError:
        return ["S", *"0" * 20]


@contextmanager
def busy_machine() -> Iterator[None]:
    """A loop on every core, which takes what others leave, until the block or this process ends."""
    idle = "os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))"
    loop = f"import os\n{idle}\nwhile os.getppid() == {os.getpid()}: pass"
    loops = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for each in loops:
            each.kill()


ROWS = tuple((of, devices) for of in LOSSES for devices in DEVICES)
"""Each loss, on one device and on two."""


def name(of: str, devices: int) -> str:
    """Of a row, in the records."""
    return f"lapack on {devices}: {of}"


def side_by_side(
    repetitions: int, rows: Sequence[tuple[str, int]] = ROWS, at_a_time: int = 1, guarded: bool = True
) -> Count:
    """Losses on some devices, beside a busy machine.

    Arguments:
        repetitions: of all stages.
        rows: the losses, and how many devices for each.
        at_a_time: how many processes there are.
        guarded: whether loa compiles large batches into loops.
    """

    def tried(row: tuple[str, int]) -> list[str]:
        began, (done, wrong) = time.monotonic(), attempt(*row, repetitions, guarded)
        print(f"{row[0]}, {row[1]} devices: {wrong or 'survived'}, {time.monotonic() - began:.0f} s", flush=True)
        return [wrong] * (repetitions - done)

    with busy_machine(), ThreadPoolExecutor(at_a_time) as threads:
        lost = [line for lines in threads.map(tried, rows) for line in lines]
    return Count(
        f"loss with `jnp.linalg` or `fft` in {len(STAGES)} stages, on a busy machine",
        "every stage ends",
        len(rows) * repetitions,
        tuple(lost),
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=50)
    parser.add_argument("--only", choices=LOSSES)
    parser.add_argument("--unguarded", action="store_true")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if arguments.only in (None, row[0])]
    count = side_by_side(arguments.repetitions, rows, max(2, os.cpu_count() or 1), not arguments.unguarded)
    print(f"tried: {count.tried}, survived: {count.survived}, lost: {len(count.lost)}")
    return len(count.lost) > 0


if __name__ == "__main__":
    sys.exit(main())
