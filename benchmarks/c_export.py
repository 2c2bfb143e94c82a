"""How long one problem takes in C: `solver.export_c` on examples/mpc.py, beside `loa.Solver` and OSQP's generated code.

    python benchmarks/c_export.py                  classical algorithms, and splitting with the known curvature
    python benchmarks/c_export.py runs/mpc         and what a run of `loa run examples/mpc.py` has deployed

Both files of C are compiled with -O3 and timed by the same loop in C, one cold start per state. Printed are
microseconds per problem (median, 99% quantile, minimum), the mean number of steps, the prox residual of the solutions,
by which loa stops and OSQP does not, and the largest difference to the solutions of `loa.Solver`.
"""

import ctypes
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from timing import show

import loa
from loa.architectures.curvature import DenseCurvature

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
PROBLEMS, REPEATS, TOLERANCE = 500, 5, 2.8e-5
PENALTIES = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0)

LOOP = """
#include <string.h>
#include <time.h>
static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
void timed(const double *states, int count, double *seconds, double *points, int *steps) {
  for (int n = 0; n < count; ++n) {
    const double *state = states + n * %(state)d;
    double *x = points + n * %(size)d;
    double before = seconds_now();
    %(solve)s
    seconds[n] = seconds_now() - before;
    memcpy(x, %(x)s, %(size)d * sizeof(double));
    steps[n] = %(steps)s;
  }
}
"""


def timed_in_c(folder, sources, code, problems, size):
    """Seconds (the shortest of several rounds), points and steps of a loop in C over the problems."""
    (folder / "timed.c").write_text(code)
    flags = [
        "-O3",
        "-std=gnu99",
        "-shared",
        "-fPIC",
        f"-I{folder}",
        f"-I{folder}/inc/public",
        f"-I{folder}/inc/private",
    ]
    subprocess.run(["cc", *flags, folder / "timed.c", *sources, "-o", folder / "timed.so", "-lm"], check=True)
    timed = ctypes.CDLL(folder / "timed.so").timed
    count, rounds = len(problems), []
    points, steps, seconds = np.zeros((count, size)), np.zeros(count, np.int32), np.zeros(count)
    for _ in range(REPEATS):
        pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in (problems, seconds, points, steps)]
        timed(pointers[0], count, *pointers[1:])
        rounds.append(seconds.copy())
    return np.min(rounds, axis=0), points, steps


def microseconds(seconds):
    return {"median": 1e6 * np.median(seconds), "p99": 1e6 * np.quantile(seconds, 0.99), "minimum": 1e6 * min(seconds)}


def exported(solver, problems):
    size = solver.point.forms[0].size
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        solver.export_c(folder / "controller.c")
        solve = "controller_solution found; controller(state, 0, &found);"
        code = LOOP % {"state": problems.shape[1], "size": size, "solve": solve, "x": "found.x", "steps": "found.steps"}
        found = timed_in_c(folder, [folder / "controller.c"], '#include "controller.h"\n' + code, problems, size)
        return *found, (folder / "controller.c").stat().st_size


def osqp_generated(problems):
    """OSQP's generated code on the same problems; None if OSQP is not installed.

    Generated code does not adapt its penalty to the problem, so the best one on other states is given to it.
    """
    try:
        import osqp
        from scipy import sparse
    except ImportError:
        return None
    import mpc

    size = len(mpc.HESSIAN)
    bounds = dict(A=sparse.eye(size, format="csc"), l=-np.ones(size), u=np.ones(size))
    hessian = sparse.csc_matrix(np.triu(mpc.HESSIAN))

    def made(rho):
        solver = osqp.OSQP()
        setting = dict(verbose=False, eps_abs=1e-5, eps_rel=0.0, warm_starting=False, rho=rho, adaptive_rho=0)
        solver.setup(P=hessian, q=np.zeros(size), **setting, **bounds)
        return solver

    def steps_with(rho):
        solver, steps = made(rho), []
        for state in np.asarray(mpc.Control().draw(jax.random.key(1), 50)):
            solver.update(q=mpc.LINEAR @ state)
            steps.append(solver.solve().info.iter)
        return np.mean(steps)

    solver = made(min(PENALTIES, key=steps_with))
    linear = ", ".join(map(repr, mpc.LINEAR.ravel().tolist()))
    solve = f"""double q[{size}];
    for (int i = 0; i < {size}; ++i) {{ q[i] = 0; for (int j = 0; j < 6; ++j) q[i] += LINEAR[i*6+j] * state[j]; }}
    osqp_update_data_vec(&mpc_solver, q, 0, 0); osqp_solve(&mpc_solver);"""
    x, steps = "mpc_solver.solution->x", "(int)mpc_solver.info->iter"
    code = LOOP % {"state": problems.shape[1], "size": size, "solve": solve, "x": x, "steps": steps}
    head = f'#include "osqp.h"\n#include "mpc_workspace.h"\nstatic const double LINEAR[] = {{{linear}}};\n'
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "generated"
        solver.codegen(str(folder), parameters="vectors", force_rewrite=True, compile=False, prefix="mpc_")
        sources = [*folder.glob("src/*.c"), folder / "mpc_workspace.c"]
        return timed_in_c(folder, sources, head + code, problems, size)


def seconds_of(solver, problems):
    rounds = []
    for _ in range(REPEATS):
        durations = []
        for problem in problems:
            before = time.perf_counter()
            solver(problem)
            durations.append(time.perf_counter() - before)
        rounds.append(durations)
    return np.min(rounds, axis=0)


def worst_residual(problem_class, points, problems):
    residual = jax.jit(jax.vmap(lambda x, problem: loa.gaps.prox_residual(problem_class, x, problem)))
    return float(np.max(residual(points, problems)))


def measured(algorithm, problem_class, problems):
    solver = loa.Solver(algorithm, problem_class, criterion=loa.prox_residual_below(TOLERANCE), horizon=500)
    seconds, points, steps, size = exported(solver, problems)
    ended = [solver(problem) for problem in problems]
    return {
        "mean_steps": float(steps.mean()),
        "in_c": microseconds(seconds),
        "solver": microseconds(seconds_of(solver, problems)),
        "largest_difference": float(np.max(np.abs(points - np.stack([one.x for one in ended])))),
        "other_steps": int(np.sum(steps != [one.steps for one in ended])),
        "worst_residual": worst_residual(problem_class, points, problems),
        "kilobytes": size / 1e3,
    }


def main():
    jax.config.update("jax_enable_x64", True)
    import mpc

    problem_class = mpc.Control()
    problems = np.ascontiguousarray(problem_class.draw(jax.random.key(0), PROBLEMS))
    learned = loa.architectures.LearnedSplitting(DenseCurvature.of(mpc.HESSIAN), jnp.log(1.0))
    algorithms = {"FISTA with restart": loa.FISTA(restart=True), "ADMM": loa.ADMM(), "splitting": learned}
    if len(sys.argv) > 1:
        algorithms["deployed"] = loa.load(Path(sys.argv[1]) / "algorithm.safetensors")
    numbers = {name: measured(each, problem_class, problems) for name, each in algorithms.items()}
    other = osqp_generated(problems)
    if other is not None:
        seconds, points, steps = other
        numbers["OSQP, generated code"] = {
            "mean_steps": float(steps.mean()),
            "in_c": microseconds(seconds),
            "worst_residual": worst_residual(problem_class, points, problems),
        }
    show("c_export", {"problems": PROBLEMS, "algorithms": numbers})


if __name__ == "__main__":
    main()
