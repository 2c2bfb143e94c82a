"""How long one problem takes: model predictive control (examples/mpc.py, 45 unknowns), one state after the other.

    python benchmarks/latency.py                  classical algorithms
    python benchmarks/latency.py runs/mpc         and what a run of `loa run examples/mpc.py` has deployed

Printed are milliseconds per problem, from NumPy array to NumPy array: median, 99% quantile and minimum.
"""

import sys
import time
from pathlib import Path

import jax
import numpy as np
from timing import show

import loa

EXAMPLES = Path(__file__).parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))
PROBLEMS, WARM_UP = 2000, 100


def milliseconds(solve, problems):
    """Of each call, after some that warm up."""
    for problem in problems[:WARM_UP]:
        solve(problem)
    durations = []
    for problem in problems:
        before = time.perf_counter()
        solve(problem)
        durations.append(1e3 * (time.perf_counter() - before))
    return {"median": np.median(durations), "p99": np.quantile(durations, 0.99), "minimum": min(durations)}


def measured(algorithm, problem_class, problems, criterion):
    """Cold, warm-started at the solution, and with a deadline of 1 ms."""
    before = time.perf_counter()
    solver = loa.Solver(algorithm, problem_class, criterion=criterion, horizon=500)
    compilation = time.perf_counter() - before
    ended = [solver(problem) for problem in problems]
    near = iter([one.x for one in [*ended[:WARM_UP], *ended]])
    return {
        "mean_steps": np.mean([one.steps for one in ended]),
        "solved": np.mean([one.solved for one in ended]),
        "compilation_seconds": compilation,
        "cold": milliseconds(solver, problems),
        "warm": milliseconds(lambda problem: solver(problem, start=next(near)), problems),
        "deadline": milliseconds(lambda problem: solver(problem, deadline=1e-3), problems),
    }


def osqp_milliseconds(problems):
    """OSQP on the same problems, set up once, updated for every state; None if it is not installed."""
    try:
        import osqp
        from scipy import sparse
    except ImportError:
        return None
    import mpc

    size, solver = len(mpc.HESSIAN), osqp.OSQP()
    bounds = dict(A=sparse.eye(size, format="csc"), l=-np.ones(size), u=np.ones(size))
    hessian = sparse.csc_matrix(np.triu(mpc.HESSIAN))
    solver.setup(P=hessian, q=np.zeros(size), verbose=False, eps_abs=1e-5, eps_rel=0.0, **bounds)

    def solve(state):
        solver.update(q=mpc.LINEAR @ state)
        return solver.solve().x

    return milliseconds(solve, problems)


def main():
    jax.config.update("jax_enable_x64", True)
    import mpc

    problem_class = mpc.Control()
    problems = np.asarray(problem_class.draw(jax.random.key(0), PROBLEMS))
    criterion = loa.prox_residual_below(2.8e-5)
    algorithms = {"FISTA with restart": loa.FISTA(restart=True), "ADMM": loa.ADMM()}
    if len(sys.argv) > 1:
        algorithms["deployed"] = loa.load(Path(sys.argv[1]) / "algorithm.safetensors")
    numbers = {name: measured(each, problem_class, problems, criterion) for name, each in algorithms.items()}
    show("latency", {"problems": PROBLEMS, "algorithms": numbers, "osqp": osqp_milliseconds(problems)})


if __name__ == "__main__":
    main()
