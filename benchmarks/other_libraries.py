"""L-BFGS of loa beside that of jaxopt and of optimistix under `vmap`, and of SciPy in a loop, on the same problems.

    pip install '.[data]' jaxopt optimistix && python benchmarks/other_libraries.py

All get the same loss and gradient in float64, keep ten pairs, and stop when the norm of the gradient is below the same
tolerance. They take turns, compiled beforehand; the shortest time of each counts. `vmap` runs a batch until its slowest
problem has ended; loa refills the places of those that have ended.
"""

import sys
import time
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import jaxopt
import numpy as np
import optimistix
from scipy import optimize
from threadpoolctl import threadpool_limits

jax.config.update("jax_enable_x64", True)

from timing import show  # noqa: E402

import loa  # noqa: E402

MEMORY, ROUNDS, FEW = 10, 3, 20
"""Pairs that L-BFGS keeps; rounds; and problems that SciPy gets, one after the other."""

WORKLOADS = {
    "logistic regression": (loa.problems.LogisticRegression, 40, 1e-5, 1000),
    "logistic regression, many": (loa.problems.LogisticRegression, 1000, 1e-5, 1000),
    "networks": (loa.problems.NetworkTraining, 100, 0.5, 1000),
    "networks, many": (loa.problems.NetworkTraining, 1000, 0.5, 1000),
}
"""Problem class, number of problems, tolerance for the norm of the gradient, and the largest number of steps."""


def of_loa(problem_class: Any, problems: Any, tolerance: float, most: int) -> Any:
    """All problems by `loa.solve`."""
    options = {"criterion": loa.gradient_norm_below(tolerance), "horizon": most, "key": jax.random.key(0)}

    def run() -> Any:
        return loa.solve(loa.LBFGS(memory=MEMORY), problem_class, problems, **options).x

    return run


def of_jaxopt(problem_class: Any, problems: Any, tolerance: float, most: int) -> Any:
    """All problems by `vmap` over `jaxopt.LBFGS`, whose error is the norm of the gradient."""

    def value_and_gradient(x: Any, problem: Any) -> Any:
        return problem_class.loss(x, problem), problem_class.gradient(x, problem)

    solver = jaxopt.LBFGS(value_and_gradient, value_and_grad=True, tol=tolerance, maxiter=most, history_size=MEMORY)

    def one(problem: Any) -> Any:
        return solver.run(problem_class.start(problem, jax.random.key(0)), problem).params

    many = jax.jit(jax.vmap(one))
    return lambda: many(problems)


def of_optimistix(Method: Any) -> Any:
    """All problems by `vmap` over a method of optimistix, stopped by the norm of the gradient."""

    class Stopped(Method):
        below: float

        def __init__(self, below: float, **options: Any):
            super().__init__(rtol=0.0, atol=0.0, **options)
            self.below = below

        def terminate(self, fn, y, args, options, state, tags):  # theirs looks at changes of point and value
            stop = jnp.linalg.norm(state.f_info.grad) < self.below
            return ~state.first_step & stop, state.result

    def prepared(problem_class: Any, problems: Any, tolerance: float, most: int) -> Any:
        solver = Stopped(tolerance, **({"history_length": MEMORY} if Method is optimistix.LBFGS else {}))

        def one(problem: Any) -> Any:
            start = problem_class.start(problem, jax.random.key(0))
            return optimistix.minimise(
                problem_class.loss, solver, start, problem, max_steps=4 * most, throw=False
            ).value

        many = jax.jit(jax.vmap(one))
        return lambda: many(problems)

    return prepared


def of_scipy(problem_class: Any, problems: Any, tolerance: float, most: int) -> Any:
    """One problem after the other by SciPy's L-BFGS-B, with our compiled value and gradient, BLAS in one thread."""
    both = jax.jit(lambda x, problem: (problem_class.loss(x, problem), problem_class.gradient(x, problem)))
    rows = [jax.tree.map(lambda leaf, n=n: leaf[n], problems) for n in range(len(jax.tree.leaves(problems)[0]))]

    def one(problem: Any) -> np.ndarray:
        latest = {}

        def function(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = both(x, problem)
            latest["norm"] = np.linalg.norm(gradient)
            return float(value), np.asarray(gradient)

        def solved(_: np.ndarray) -> None:
            if latest["norm"] < tolerance:
                raise StopIteration

        start = np.asarray(problem_class.start(problem, jax.random.key(0)))
        options = {"maxcor": MEMORY, "maxiter": most, "maxfun": 10**5, "ftol": 0.0, "gtol": 0.0}
        return optimize.minimize(function, start, jac=True, method="L-BFGS-B", callback=solved, options=options).x

    def run() -> np.ndarray:
        with threadpool_limits(1):
            return np.stack([one(problem) for problem in rows])

    return run


OTHERS = {
    "loa": of_loa,
    "optimistix L-BFGS": of_optimistix(optimistix.LBFGS),
    "optimistix BFGS": of_optimistix(optimistix.BFGS),
    "jaxopt L-BFGS": of_jaxopt,
    "SciPy L-BFGS-B": of_scipy,
}


def side_by_side(Class: Any, count: int, tolerance: float, most: int) -> dict[str, Any]:
    """Milliseconds per problem and the share solved, of each library."""
    problem_class = Class()
    problems = problem_class.draw(jax.random.key(0), count)
    few = jax.tree.map(lambda leaf: leaf[:FEW], problems)
    criterion = loa.gradient_norm_below(tolerance)
    ours = loa.evaluate(
        loa.LBFGS(MEMORY), problem_class, problems, criterion=criterion, horizon=most, key=jax.random.key(0)
    )
    norms = jax.jit(jax.vmap(lambda x, problem: jnp.linalg.norm(problem_class.gradient(x, problem))))
    runs, rows = {}, {}
    for name, prepared in OTHERS.items():
        given = few if prepared is of_scipy else problems
        runs[name] = prepared(problem_class, given, tolerance, most)
        started = time.perf_counter()
        found = jax.block_until_ready(runs[name]())
        first = time.perf_counter() - started
        # optimistix has evaluated the gradient of its last accepted point, the others at that of the last point
        solved = float(np.mean(np.asarray(norms(found, given)) < 1.001 * tolerance))
        rows[name] = {"first_seconds": first, "solved": solved, "problems": len(found), "milliseconds": np.inf}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            if rows[name]["milliseconds"] < np.inf and rows[name]["milliseconds"] * rows[name]["problems"] > 5e3:
                continue  # a long run once
            started = time.perf_counter()
            jax.block_until_ready(run())
            spent = 1e3 * (time.perf_counter() - started) / rows[name]["problems"]
            rows[name]["milliseconds"] = min(rows[name]["milliseconds"], spent)
    best = min(row["milliseconds"] for name, row in rows.items() if name != "loa")
    times = ours["stopping_time"]
    return {
        "problems": count,
        "tolerance": tolerance,
        "mean_steps": float(times.mean()),
        "longest": int(times.max()),
        "libraries": rows,
        "best_of_the_others_over_ours": best / rows["loa"]["milliseconds"],
    }


def main() -> None:
    versions = {name: version(name) for name in ("jaxopt", "optimistix", "scipy")}
    workloads = {}
    for name, workload in WORKLOADS.items():
        workloads[name] = side_by_side(*workload)
        print(name, workloads[name], file=sys.stderr, flush=True)
    show("other_libraries", {"versions": versions, "workloads": workloads})


if __name__ == "__main__":
    main()
