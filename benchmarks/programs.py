"""Quadratic programs: loa's learned ADMM against OSQP, Clarabel and PIQP, at equal residuals.

    python benchmarks/programs.py [--problems 250] [--eps 1e-3]

Two classes of the gallery: model predictive control with state limits (P and A are shared, so OSQP updates vectors
only) and portfolios with sector and turnover limits (P differs). Iterations are counted with a check of the residuals
after each of them; times are the best of three runs, for OSQP also with its usual check after every 25 iterations. OSQP
is warm-started with the solution of the previous problem.
"""

import argparse
import time
from pathlib import Path

import jax
import numpy as np

import loa
from loa.deployment import solve_with
from loa.experiments.families.programs import GUESSES
from loa.experiments.from_file.problem_class import _problem_class as problem_class_of
from loa.experiments.from_file.problem_class import imported
from loa.learning.programs import first_penalties, folded, learn_penalties
from loa.problems.programs.quadratic_programs import Residual

jax.config.update("jax_enable_x64", True)

EXAMPLES = Path(__file__).parent.parent / "examples"
KEY = jax.random.key(0)


def learned(problem_class, criterion):
    """ADMM with learned penalties, from 500 problems of its own, as `loa run` learns them."""
    problems = problem_class.draw(jax.random.key(1), 500)
    few = jax.tree.map(lambda leaf: leaf[:64], problems)
    options = {"criterion": criterion, "horizon": 500, "key": KEY}
    guesses = [first_penalties(problem_class, problems, guess) for guess in GUESSES]
    times = [loa.evaluate(each, problem_class, few, **options)["stopping_time"] for each in guesses]
    best = int(np.argmin([each.mean() for each in times]))
    steps = int(np.clip(1.5 * np.median(times[best]), 10, 100))
    options = {"criterion": criterion, "steps": steps, "updates": 400, "key": KEY}
    found = learn_penalties(guesses[best], problem_class, problems, **options)
    return folded(found, problem_class, jax.tree.map(lambda leaf: leaf[0], problems))


def residuals(problem_class, solutions, problems, eps):
    """The largest residual among solved problems, relative to the tolerance."""
    measure = jax.jit(jax.vmap(lambda x, problem: Residual(eps, eps)(problem_class, x, problem)))
    return float(np.asarray(measure(solutions.x, problems))[solutions.outcome == "solved"].max())


def fastest(run):
    found = [run() for _ in range(3)]
    return min(found, key=lambda each: each.seconds)


def one_at_a_time(algorithm, problem_class, problems, criterion):
    """Median milliseconds of a call of `loa.Solver`."""
    solver = loa.Solver(algorithm, problem_class, criterion=criterion, horizon=2000)
    rows = [jax.tree.map(lambda leaf, n=n: np.asarray(leaf[n]), problems) for n in range(60)]
    spent = []
    for row in rows:
        before = time.perf_counter()
        solver(row)
        spent.append(time.perf_counter() - before)
    return 1e3 * float(np.median(spent[10:]))


def report(name, number, eps):
    problem_class = problem_class_of(imported(EXAMPLES / f"{name}.py"))
    problems, criterion = problem_class.draw(jax.random.key(2), number), loa.residuals_below(eps, eps)
    loop = lambda solver, **settings: fastest(  # noqa: E731
        lambda: solve_with(solver, problem_class, problems, eps_abs=eps, eps_rel=eps, **settings)
    )
    rows = {
        "OSQP, checks after 1": loop("osqp", check_termination=1, max_iter=20_000),
        "OSQP, checks after 25": loop("osqp", check_termination=25, max_iter=20_000),
        "PIQP": loop("piqp"),
        "Clarabel": loop("clarabel"),
    }
    algorithms = {"loa ADMM": loa.ProgramADMM(), "loa learned": learned(problem_class, criterion)}
    options = {"criterion": criterion, "horizon": 2000, "key": KEY}
    for title, algorithm in algorithms.items():
        rows[title] = fastest(lambda algorithm=algorithm: loa.solve(algorithm, problem_class, problems, **options))
    solved = np.all([each.outcome == "solved" for each in rows.values()], axis=0)
    print(f"\n{name}, {number} problems, eps_abs = eps_rel = {eps:g}; {solved.sum()} solved by all")
    print(f"{'':24}{'mean steps':>12}{'median':>8}{'solved':>8}{'problems/s':>12}{'ms, one':>9}{'residual':>10}")
    for title, found in rows.items():
        single = 1e3 * found.seconds / number
        if title in algorithms:
            single = one_at_a_time(algorithms[title], problem_class, problems, criterion)
        steps, worst = found.steps[solved], residuals(problem_class, found, problems, eps)
        rate, share = number / found.seconds, (found.outcome == "solved").mean()
        print(
            f"{title:24}{steps.mean():12.1f}{np.median(steps):8.0f}{share:8.1%}{rate:12.0f}{single:9.3f}{worst:10.2g}"
        )
    best = max(number / each.seconds for title, each in rows.items() if title.startswith("OSQP"))
    ratio = rows["loa learned"].steps[solved].mean() / rows["OSQP, checks after 1"].steps[solved].mean()
    faster = number / rows["loa learned"].seconds / best
    print(f"learned / OSQP: {ratio:.2f} of the steps, {faster:.1f} × the problems/s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=250)
    parser.add_argument("--eps", type=float, default=1e-3)
    given = parser.parse_args()
    for name in ("mpc_limits", "portfolio_limits"):
        report(name, given.problems, given.eps)
