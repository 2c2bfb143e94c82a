"""Batched classical methods against what one would write without loa, on the same problems in one run.

L-BFGS on image problems against SciPy's L-BFGS-B, one problem at a time, fed with our jitted value and gradient.
FISTA on LASSO problems against a NumPy loop over problems.
"""

import sys
import time

import jax
import numpy as np
from scipy import optimize

jax.config.update("jax_enable_x64", True)

from timing import show  # noqa: E402

import loa  # noqa: E402


def images(num_problems: int, num_scipy: int) -> dict[str, float]:
    setting = loa.experiments.get("images")
    problem_class = setting.problem_class
    problems = problem_class.draw(jax.random.key(0), num_problems)
    options = dict(criterion=setting.criterion, horizon=setting.horizon, key=jax.random.key(1))
    comparison = loa.compare({"L-BFGS": loa.LBFGS(memory=10)}, problem_class, problems, **options)
    times = comparison.performances["L-BFGS"]["stopping_time"]

    value_and_gradient = jax.jit(
        lambda x, problem: (problem_class.loss(x, problem), problem_class.gradient(x, problem))
    )
    seconds, iterations, latest = [], [], {}
    for index in range(num_scipy):
        problem = jax.tree.map(lambda leaf, index=index: leaf[index], problems)
        start = problem_class.start(problem, jax.random.key(0))

        def function(x, problem=problem, shape=start.shape):
            value, gradient = value_and_gradient(x.reshape(shape), problem)
            latest["gradient norm"] = np.linalg.norm(gradient)
            return float(value), np.asarray(gradient).ravel()

        def solved(x):
            if latest["gradient norm"] < 1e-4:
                raise StopIteration

        function(np.zeros(start.size))
        started = time.perf_counter()
        found = optimize.minimize(
            function,
            np.zeros(start.size),
            jac=True,
            method="L-BFGS-B",
            callback=solved,
            options={"maxcor": 10, "maxiter": 1000, "maxfun": 10**5, "ftol": 0.0, "gtol": 0.0},
        )
        seconds.append(time.perf_counter() - started)
        iterations.append(found.nit)
    ours, theirs = comparison.seconds["L-BFGS"] / num_problems, float(np.mean(seconds))
    return {
        "problems": num_problems,
        "mean_stopping_time": float(times.mean()),
        "solved": float((comparison.performances["L-BFGS"].outcome == "solved").mean()),
        "scipy_problems": num_scipy,
        "scipy_mean_iterations": float(np.mean(iterations)),
        "milliseconds_each": 1e3 * ours,
        "scipy_milliseconds_each": 1e3 * theirs,
        "ratio": theirs / ours,
        "target_ratio": 5,
    }


def lasso(num_problems: int, num_numpy: int) -> dict[str, float]:
    setting = loa.experiments.get("lasso")
    problem_class = setting.problem_class
    problems = problem_class.draw(jax.random.key(0), num_problems)
    options = dict(criterion=setting.criterion, horizon=setting.horizon, key=jax.random.key(1))
    comparison = loa.compare({"FISTA": loa.FISTA(restart=True)}, problem_class, problems, **options)
    matrix, start = np.asarray(problem_class.matrix), np.asarray(problem_class.start_point)
    targets, weights = np.asarray(problems.target), np.asarray(problems.regularization)
    step = 1.0 / float(problem_class.largest_eigenvalue)

    def proximal_step(x, target, weight):
        forward = x - step * (matrix.T @ (matrix @ x - target))
        return np.sign(forward) * np.maximum(np.abs(forward) - step * weight, 0.0)

    started, times = time.perf_counter(), []
    for target, weight in zip(targets[:num_numpy], weights[:num_numpy], strict=True):
        x, y, tau, count = start, start, 1.0, 0
        while count < setting.horizon and np.linalg.norm(x - proximal_step(x, target, weight)) >= 1e-6:
            new = proximal_step(y, target, weight)
            if np.sum((y - new) * (new - x)) > 0:
                tau, y = 1.0, new
            else:
                following = (1 + np.sqrt(1 + 4 * tau**2)) / 2
                y, tau = new + (tau - 1) / following * (new - x), following
            x, count = new, count + 1
        times.append(count)
    theirs = (time.perf_counter() - started) / num_numpy
    ours = comparison.seconds["FISTA"] / num_problems
    return {
        "problems": num_problems,
        "mean_stopping_time": float(comparison.performances["FISTA"]["stopping_time"].mean()),
        "numpy_problems": num_numpy,
        "numpy_mean_stopping_time": float(np.mean(times)),
        "milliseconds_each": 1e3 * ours,
        "numpy_milliseconds_each": 1e3 * theirs,
        "ratio": theirs / ours,
        "target_ratio": 50,
    }


def main() -> None:
    small = "--small" in sys.argv
    numbers = {"lasso": lasso(1000, 20 if small else 100), "images": images(16 if small else 250, 2 if small else 10)}
    show("classical_speed", numbers)


if __name__ == "__main__":
    main()
