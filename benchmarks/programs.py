"""Quadratic programs: loa's learned ADMM against OSQP, Clarabel and PIQP, at equal residuals. Writes docs/programs.md.

    python benchmarks/programs.py learn                  # once; the algorithms are kept in a folder
    python benchmarks/programs.py [--problems 250] [--eps 1e-3]

Two classes of the gallery: model predictive control with state limits (P and A are shared, so OSQP updates vectors
only) and portfolios with sector and turnover limits (P differs). Iterations are counted with a check of the residuals
after each of them; times are the best of three runs, for OSQP also with its usual check after every 25 iterations. OSQP
is warm-started with the solution of the previous problem.
"""

import argparse
import dataclasses
import json
import os
import tempfile
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)

import numpy as np  # noqa: E402

import loa  # noqa: E402
from loa.deployment import solve_with  # noqa: E402
from loa.experiments.experiment import LearningSetup  # noqa: E402
from loa.experiments.families.programs import for_programs  # noqa: E402
from loa.experiments.from_file import problem_class as from_file  # noqa: E402
from loa.learning.programs import folded  # noqa: E402
from loa.problems.programs.quadratic_programs import Residual  # noqa: E402

HERE = Path(__file__).parent
EXAMPLES, RESULTS = HERE.parent / "examples", HERE / "results" / "programs.json"
NAMES = {"mpc_limits": "model predictive control", "portfolio_limits": "portfolios"}
KEY = jax.random.key(0)


def problem_class_of(name):
    return from_file._problem_class(from_file.imported(EXAMPLES / f"{name}.py"))


def learned(name, criterion):
    """The learned ADMM of `loa run` that needs the fewest steps on problems of its own, from training problems."""
    experiment = from_file.from_file(EXAMPLES / f"{name}.py").at("quick")
    experiment = dataclasses.replace(experiment, task=dataclasses.replace(experiment.task, criterion=criterion))
    setup, problem_class = LearningSetup(experiment, effort=experiment.recipe.effort), problem_class_of(name)
    problems = problem_class.draw(jax.random.key(3), 200)
    options = {"criterion": criterion, "horizon": 500, "key": KEY}
    found = [each.make() for each in for_programs(setup, problem_class) if each.kind == "learned"]
    steps = [loa.evaluate(each, problem_class, problems, **options)["stopping_time"].mean() for each in found]
    print(name, "mean steps of the learned ones:", *(f"{each:.1f}" for each in steps))
    first = jax.tree.map(lambda leaf: leaf[0], problems)
    return folded(found[int(np.argmin(steps))], problem_class, first)


def learn(folder, eps):
    folder.mkdir(exist_ok=True)
    for name in NAMES:
        loa.save(folder / f"{name}.safetensors", learned(name, loa.residuals_below(eps, eps)))


def residuals(problem_class, solutions, problems, eps):
    """The largest residual among solved problems, relative to the tolerance, in double precision."""
    measure = jax.jit(jax.vmap(lambda x, problem: Residual(eps, eps)(problem_class, x, problem)))
    x = jax.tree.map(lambda leaf: np.asarray(leaf, float), solutions.x)
    return float(np.asarray(measure(x, problems))[solutions.outcome == "solved"].max())


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


def measured(name, number, eps, folder):
    """All solvers on the problems of one class: a row for each of them."""
    problem_class = problem_class_of(name)
    problems, criterion = problem_class.draw(jax.random.key(2), number), loa.residuals_below(eps, eps)
    loop = lambda solver, **settings: fastest(  # noqa: E731
        lambda: solve_with(solver, problem_class, problems, eps_abs=eps, eps_rel=eps, **settings)
    )
    found = {
        "OSQP, checks after 1": loop("osqp", check_termination=1, max_iter=20_000),
        "OSQP, checks after 25": loop("osqp", check_termination=25, max_iter=20_000),
        "PIQP": loop("piqp"),
        "Clarabel": loop("clarabel"),
    }
    singles = {title: 1e3 * each.seconds / number for title, each in found.items()}
    algorithms = {"loa, ADMM": loa.ProgramADMM(), "loa, learned": loa.load(folder / f"{name}.safetensors")}
    options = {"criterion": criterion, "horizon": 2000, "key": KEY}
    for title, algorithm in algorithms.items():
        for cores, devices in (("", jax.devices()), (", one core", jax.devices()[:1])):
            run = partial(loa.solve, algorithm, problem_class, problems, devices=devices, **options)
            found[title + cores] = fastest(run)
        singles[title] = one_at_a_time(algorithm, problem_class, problems, criterion)
    solved = np.all([each.outcome == "solved" for each in found.values()], axis=0)
    rows = [
        {
            "solver": title, "mean": float(each.steps[solved].mean()), "median": float(np.median(each.steps[solved])),
            "solved": float((each.outcome == "solved").mean()), "rate": number / each.seconds,
            "single": singles.get(title), "residual": residuals(problem_class, each, problems, eps),
        }
        for title, each in found.items()
    ]  # fmt: skip
    return {"name": name, "number": number, "eps": eps, "solved": int(solved.sum()), "rows": rows}


def section(found):
    by = {row["solver"]: row for row in found["rows"]}
    best = max((row for row in found["rows"] if row["solver"].startswith("OSQP")), key=lambda row: row["rate"])
    ours, one = by["loa, learned"], by["loa, learned, one core"]
    ratio = ours["mean"] / by["OSQP, checks after 1"]["mean"]
    quickest = min((row for row in found["rows"] if row["single"]), key=lambda row: row["single"])
    lines = "\n".join(
        f"| {row['solver']} | {row['mean']:.1f} | {row['median']:.0f} | {row['solved']:.1%} | {row['rate']:,.0f} "
        f"| {'–' if row['single'] is None else format(row['single'], '.3f')} | {row['residual']:.2g} |"
        for row in found["rows"]
    )
    return f"""## {NAMES[found["name"]].capitalize()}

{found["number"]} problems of [`examples/{found["name"]}.py`](../examples/{found["name"]}.py), eps_abs = eps_rel =
{found["eps"]:g}; steps are those on the {found["solved"]} problems that all have solved.

| | mean steps | median | solved | problems/s | ms, one at a time | residual / tolerance |
|---|---:|---:|---:|---:|---:|---:|
{lines}

The learned algorithm needs **{ratio:.2f} of the steps** of OSQP. In a batch it solves
**{ours["rate"] / best["rate"]:.1f} × as many problems per second** as the faster loop over OSQP, and
{one["rate"] / best["rate"]:.1f} × as many on one core. One problem at a time, {quickest["solver"]} is the fastest.
"""


PAGE = """# Quadratic programs against other solvers

This page is written by `benchmarks/programs.py`, on {cores} cores with jax {jax}, osqp {osqp}, piqp {piqp} and clarabel
{clarabel}. ADMM with learned penalties is what `loa run` learns with the preset `quick`. OSQP, PIQP and Clarabel
solve one problem after the other. OSQP is set up once, updated, and warm-started with the solution of the problem
before; Clarabel is set up for each problem. OSQP appears twice: with a check of the residuals after each step, as loa
makes them, and with its usual check after every 25. Times are the best of three runs.

{sections}"""


def write(results):
    versions = {name: version(name) for name in ("jax", "osqp", "piqp", "clarabel")}
    sections = "\n".join(section(each) for each in results)
    (HERE.parent / "docs" / "programs.md").write_text(PAGE.format(cores=os.cpu_count(), sections=sections, **versions))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["learn", "measure", "page"], default="measure")
    parser.add_argument("--problems", type=int, default=250)
    parser.add_argument("--eps", type=float, default=1e-3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "loa-programs")
    given = parser.parse_args()
    if given.what == "learn":
        learn(given.folder, given.eps)
    if given.what == "measure":
        found = [measured(name, given.problems, given.eps, given.folder) for name in NAMES]
        RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    if given.what != "learn":
        write(json.loads(RESULTS.read_text()))
