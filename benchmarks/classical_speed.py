"""Batched classical methods against what one would write without loa, on the same problems in one run.

L-BFGS on image problems against SciPy's L-BFGS-B, one problem at a time, fed with our jitted value and gradient.
FISTA on LASSO problems against a NumPy loop over problems. JAX has one device per core here, and for comparison a
part of the problems is also run on one device.
"""

import os
import sys
import time
from typing import Any

import jax
import numpy as np
from scipy import optimize
from threadpoolctl import threadpool_limits

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_num_cpu_devices", os.cpu_count())

from timing import show  # noqa: E402

import loa  # noqa: E402


def evaluated(algorithm: Any, setting: Any, problems: Any, **options) -> tuple[Any, float]:
    """Performance on the problems, and milliseconds for each of them, in the faster of two runs after one to compile.

    The machine may be shared: SciPy and NumPy get the faster of two runs, too.
    """
    options |= dict(criterion=setting.criterion, horizon=setting.horizon, key=jax.random.key(1))
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        performance = loa.evaluate(algorithm, setting.problem_class, problems, **options)
        seconds.append(time.perf_counter() - started)
    return performance, 1e3 * min(seconds[1:]) / len(performance.outcome)


def images(num_problems: int, every: int) -> dict[str, Any]:
    setting = loa.experiments.get("images")
    problems = setting.problem_class.draw(jax.random.key(0), num_problems)
    part = jax.tree.map(lambda leaf: leaf[::every], problems)
    ours, milliseconds = evaluated(loa.LBFGS(memory=10), setting, problems)
    _, on_one_device = evaluated(loa.LBFGS(memory=10), setting, part, devices=jax.devices()[:1])
    first = jax.tree.map(lambda leaf: leaf[:1], part)
    tried = {threads: scipy_on_images(setting.problem_class, first, threads)[0] for threads in (1, os.cpu_count())}
    threads = min(tried, key=lambda number: tried[number])
    theirs, iterations = scipy_on_images(setting.problem_class, part, threads)
    return {
        "problems": num_problems,
        "devices": jax.device_count(),
        "mean_stopping_time": float(ours["stopping_time"].mean()),
        "mean_stopping_time_of_part": float(ours["stopping_time"][::every].mean()),
        "solved": float((ours.outcome == "solved").mean()),
        "scipy_problems": len(part.observed),
        "scipy_mean_iterations": iterations,
        "scipy_blas_threads": threads,
        "scipy_milliseconds_on_one_problem_by_blas_threads": tried,
        "milliseconds_each": milliseconds,
        "milliseconds_each_on_one_device": on_one_device,
        "scipy_milliseconds_each": theirs,
        "ratio": theirs / milliseconds,
        "ratio_on_one_device": theirs / on_one_device,
        "target_ratio": 5,
    }


def scipy_on_images(problem_class: Any, problems: Any, blas_threads: int | None) -> tuple[float, float]:
    """Milliseconds and iterations that L-BFGS-B takes per problem, until the gradient norm is below 1e-4.

    Threads of OpenBLAS wait by spinning. On cores that are shared with other work, two of them were seen to be 60 times
    slower than one, so SciPy gets the number that is faster here, found on one problem.
    """
    value_and_gradient = jax.jit(
        lambda x, problem: (problem_class.loss(x, problem), problem_class.gradient(x, problem))
    )
    seconds, iterations, latest = [], [], {}
    for index in range(len(problems.observed)):
        problem = jax.tree.map(lambda leaf, index=index: leaf[index], problems)
        start = problem_class.start(problem, jax.random.key(0))

        def function(x, problem=problem, shape=start.shape):
            value, gradient = value_and_gradient(x.reshape(shape), problem)
            latest["gradient norm"] = np.linalg.norm(gradient)
            return float(value), np.asarray(gradient).ravel()

        def solved(x):
            if latest["gradient norm"] < 1e-4:
                raise StopIteration

        def minimize(function=function, size=start.size):
            started = time.perf_counter()
            found = optimize.minimize(
                function,
                np.zeros(size),
                jac=True,
                method="L-BFGS-B",
                callback=solved,
                options={"maxcor": 10, "maxiter": 1000, "maxfun": 10**5, "ftol": 0.0, "gtol": 0.0},
            )
            return time.perf_counter() - started, found.nit

        function(np.zeros(start.size))
        with threadpool_limits(blas_threads):
            runs = [minimize() for _ in range(2)]
        seconds.append(min(run[0] for run in runs))
        iterations.append(runs[0][1])
    return 1e3 * float(np.mean(seconds)), float(np.mean(iterations))


def lasso(num_problems: int, every: int) -> dict[str, Any]:
    setting = loa.experiments.get("lasso")
    problems = setting.problem_class.draw(jax.random.key(0), num_problems)
    part = jax.tree.map(lambda leaf: leaf[::every], problems)
    ours, milliseconds = evaluated(loa.FISTA(restart=True), setting, problems)
    _, on_one_device = evaluated(loa.FISTA(restart=True), setting, problems, devices=jax.devices()[:1])
    runs = [numpy_on_lasso(setting.problem_class, part, setting.horizon) for _ in range(2)]
    theirs = min(run[0] for run in runs)
    return {
        "problems": num_problems,
        "devices": jax.device_count(),
        "mean_stopping_time": float(ours["stopping_time"].mean()),
        "mean_stopping_time_of_part": float(ours["stopping_time"][::every].mean()),
        "numpy_problems": len(part.target),
        "numpy_mean_stopping_time": runs[0][1],
        "milliseconds_each": milliseconds,
        "milliseconds_each_on_one_device": on_one_device,
        "numpy_milliseconds_each": theirs,
        "ratio": theirs / milliseconds,
        "ratio_on_one_device": theirs / on_one_device,
        "target_ratio": 50,
    }


def numpy_on_lasso(problem_class: Any, problems: Any, horizon: int) -> tuple[float, float]:
    """Milliseconds and steps that FISTA with restart takes per problem in plain NumPy, criterion checked each step."""
    matrix, start = np.asarray(problem_class.matrix), np.asarray(problem_class.start_point)
    step = 1.0 / float(problem_class.largest_eigenvalue)

    def proximal_step(x, target, weight):
        forward = x - step * (matrix.T @ (matrix @ x - target))
        return np.sign(forward) * np.maximum(np.abs(forward) - step * weight, 0.0)

    started, times = time.perf_counter(), []
    for target, weight in zip(np.asarray(problems.target), np.asarray(problems.regularization), strict=True):
        x, y, tau, count = start, start, 1.0, 0
        while count < horizon and np.linalg.norm(x - proximal_step(x, target, weight)) >= 1e-6:
            new = proximal_step(y, target, weight)
            if np.sum((y - new) * (new - x)) > 0:
                tau, y = 1.0, new
            else:
                following = (1 + np.sqrt(1 + 4 * tau**2)) / 2
                y, tau = new + (tau - 1) / following * (new - x), following
            x, count = new, count + 1
        times.append(count)
    return 1e3 * (time.perf_counter() - started) / len(times), float(np.mean(times))


def main() -> None:
    small = "--small" in sys.argv
    numbers = {"lasso": lasso(1000, 50 if small else 10), "images": images(16 if small else 250, 8 if small else 10)}
    show("classical_speed", numbers)


if __name__ == "__main__":
    main()
