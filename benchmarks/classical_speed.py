"""Batched classical methods against what one would write without loa, on the same problems in one run.

L-BFGS on image problems against SciPy's L-BFGS-B, one problem at a time, fed with our jitted value and gradient.
FISTA on LASSO problems against a NumPy loop over problems. JAX has one device per core here; the same on one device is
measured beside it.
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

ROUNDS = {"lasso": 20, "images": 5}
"""The machine may be shared with other work, so the methods take turns. On LASSO every round is the same, and the
shortest time of each method counts; on images every round has other problems, and times are added up."""


def milliseconds(algorithm: Any, setting: Any, problems: Any, devices: Any) -> float:
    """Milliseconds of an evaluation, per problem."""
    options = dict(criterion=setting.criterion, horizon=setting.horizon, key=jax.random.key(1), devices=devices)
    started = time.perf_counter()
    performance = loa.evaluate(algorithm, setting.problem_class, problems, **options)
    return 1e3 * (time.perf_counter() - started) / len(performance.outcome)


def in_turns(
    algorithm: Any, setting: Any, problems: Any, parts: list[Any], other: Any, over_rounds: Any
) -> dict[str, Any]:
    """Milliseconds per problem, over all rounds: ours on all devices and on one, and the other method."""
    choices = {"milliseconds_each": jax.devices(), "milliseconds_each_on_one_device": jax.devices()[:1]}
    times = {name: [] for name in (*choices, "other")}
    steps = []
    for devices in choices.values():
        milliseconds(algorithm, setting, parts[0], devices)  # compiles
    for part in parts:
        for name, devices in choices.items():
            times[name].append(milliseconds(algorithm, setting, part, devices))
        taken, count = other(part)
        times["other"].append(taken)
        steps.append(count)
    each = {name: float(over_rounds(values)) for name, values in times.items()}
    theirs = each.pop("other")
    options = dict(criterion=setting.criterion, horizon=setting.horizon, key=jax.random.key(1))
    ours = loa.evaluate(algorithm, setting.problem_class, problems, **options)
    return {
        "problems": len(ours.outcome),
        "devices": jax.device_count(),
        "rounds": len(parts),
        "mean_stopping_time": float(ours["stopping_time"].mean()),
        "solved": float((ours.outcome == "solved").mean()),
        "other_mean_steps": float(np.mean(steps)),
        **each,
        "other_milliseconds_each": theirs,
        "ratio": theirs / each["milliseconds_each"],
        "ratio_by_round": [a / b for a, b in zip(times["other"], times["milliseconds_each"], strict=True)],
        "ratio_on_one_device": theirs / each["milliseconds_each_on_one_device"],
    }


def images(num_problems: int, num_scipy: int) -> dict[str, Any]:
    """250 problems in five parts; SciPy solves some of each part."""
    setting = loa.experiments.get("images")
    problems = setting.problem_class.draw(jax.random.key(0), num_problems)
    rounds = ROUNDS["images"]
    parts = [jax.tree.map(lambda leaf, k=k: leaf[k::rounds], problems) for k in range(rounds)]
    first = jax.tree.map(lambda leaf: leaf[:1], problems)
    tried = {threads: scipy_on_images(setting.problem_class, first, threads)[0] for threads in (1, os.cpu_count())}
    threads = min(tried, key=lambda number: tried[number])

    def scipy(part: Any) -> tuple[float, float]:
        return scipy_on_images(setting.problem_class, jax.tree.map(lambda leaf: leaf[:num_scipy], part), threads)

    numbers = in_turns(loa.LBFGS(memory=10), setting, problems, parts, scipy, np.mean)
    blas = {"blas_threads": threads, "milliseconds_on_one_problem_by_blas_threads": tried}
    return {**numbers, "other_problems": rounds * num_scipy, **blas, "target_ratio": 5}


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
            taken, count = minimize()
        seconds.append(taken)
        iterations.append(count)
    return 1e3 * float(np.mean(seconds)), float(np.mean(iterations))


def lasso(num_problems: int, num_numpy: int) -> dict[str, Any]:
    """All problems in every round; NumPy solves some of them."""
    setting = loa.experiments.get("lasso")
    problems = setting.problem_class.draw(jax.random.key(0), num_problems)
    some = jax.tree.map(lambda leaf: leaf[:: num_problems // num_numpy], problems)

    def numpy(_: Any) -> tuple[float, float]:
        return numpy_on_lasso(setting.problem_class, some, setting.horizon)

    rounds = [problems] * ROUNDS["lasso"]
    numbers = in_turns(loa.FISTA(restart=True), setting, problems, rounds, numpy, np.min)
    return {**numbers, "other_problems": num_numpy, "target_ratio": 50}


def numpy_on_lasso(problem_class: Any, problems: Any, horizon: int) -> tuple[float, float]:
    """Milliseconds and steps that FISTA with restart takes per problem in plain NumPy, criterion checked each step."""
    matrix, start = np.asarray(problem_class.matrix), np.asarray(problem_class.start_point)
    step = 1.0 / float(problem_class.largest_smoothness)

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
    numbers = {"lasso": lasso(1000, 5 if small else 50), "images": images(20 if small else 250, 1 if small else 4)}
    show("classical_speed", numbers)


if __name__ == "__main__":
    main()
