"""Losses with linear algebra and Fourier transforms in every stage, beside a busy machine: which stand still?

    python benchmarks/faults/lapack.py --repetitions 50

Every row is a loss, in a process of its own for each number of devices. A process that takes longer than two
minutes for a repetition has stood still. Prints how often each was tried and how often it survived; the exit code is 1
if any did not.
"""

import argparse
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np

import loa

SIZE = 30
SILENCE = 120.0
STAGES = ("draw", "evaluate", "trajectories", "compare", "train")

LOSSES = {
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
        return jnp.ones(SIZE)

    def loss(self, x, problem):
        return LOSSES[self.of](problem + jnp.diag(x**2)) + jnp.sum((x - 1) ** 2)


def stage(name: str, problem_class: Matrices, problems: jax.Array) -> None:
    key, algorithm = jax.random.key(1), loa.GradientDescent(1e-3)
    options = dict(criterion=loa.gradient_norm_below(1e-12), horizon=4, key=key)
    if name == "draw":
        problem_class.draw(key, 128)
    elif name == "evaluate":
        loa.evaluate(algorithm, problem_class, problems, width=64, **options)
    elif name == "trajectories":
        loa.trajectories(algorithm, problem_class, problems, horizon=4, key=key)
    elif name == "compare":
        loa.compare({"one": algorithm, "other": loa.Adam(1e-3)}, problem_class, problems, **options)
    elif name == "train":
        loa.train(loa.GradientDescent(jnp.asarray(1e-3)), problem_class, validation=32, steps=4, checks=1, **options)


def run(loss: str, devices: int, repetitions: int) -> None:
    """All stages of one loss, in this process; a line after each."""
    jax.config.update("jax_num_cpu_devices", devices)
    jax.config.update("jax_enable_x64", True)
    problem_class = Matrices(loss)
    problems = problem_class.draw(jax.random.key(0), 128)
    values = jax.jit(jax.vmap(lambda problem: problem_class.loss(jnp.ones(SIZE), problem)))(problems)
    single = [problem_class.loss(jnp.ones(SIZE), problem) for problem in problems[:8]]
    np.testing.assert_allclose(values[:8], single, rtol=1e-8)
    for _ in range(repetitions):
        for name in STAGES:
            stage(name, problem_class, problems)
            print(name, flush=True)


def attempt(loss: str, devices: int, repetitions: int) -> int:
    """How many repetitions a process of its own survives."""
    command = [sys.executable, __file__, "--inside", loss, str(devices), "--repetitions", str(repetitions)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, error = process.communicate(timeout=SILENCE * (2 + repetitions))
    except subprocess.TimeoutExpired:
        process.kill()
        out, error = process.communicate()
    if process.returncode and process.returncode > 0:
        print(error[-2000:], file=sys.stderr)
    return out.count(STAGES[-1])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=50)
    parser.add_argument("--only", choices=LOSSES)
    parser.add_argument("--inside", nargs=2)
    arguments = parser.parse_args()
    if arguments.inside:
        run(arguments.inside[0], int(arguments.inside[1]), arguments.repetitions)
        return 0
    loop = f"import os\nwhile os.getppid() == {os.getpid()}: pass"
    busy = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(os.cpu_count() or 1)]
    lost = 0
    try:
        for loss in [arguments.only] if arguments.only else LOSSES:
            for devices in (1, 2):
                survived = attempt(loss, devices, arguments.repetitions)
                lost += arguments.repetitions - survived
                print(f"{loss}, {devices} devices: {survived} of {arguments.repetitions} survived", flush=True)
    finally:
        for process in busy:
            process.kill()
    print(f"lost: {lost}")
    return lost > 0


if __name__ == "__main__":
    sys.exit(main())
