"""`loa.tune_solver` against Optuna used by hand, at the same number of runs of the solver.

By hand means: Optuna's default sampler, and an objective that runs the solver on all training instances. Both minimize
the iterations of OSQP, which do not depend on the load of the machine, and both results are judged on fresh instances.

    python benchmarks/tuning_solvers.py [seeds] [runs]
"""

import sys
import warnings

import numpy as np
import optuna
import osqp
from scipy import sparse

import loa
from loa.deployment.any_solver.space import distributions

CAP = 4000.0
SPACE = {"rho": (1e-4, 1e2), "alpha": (1.0, 1.9), "scaling": (0, 20), "adaptive_rho": [True, False]}


def draw(seed, count):
    """Quadratic programs under constraints of very different sizes."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        root, scale = random.normal(size=(30, 15)), 10 ** random.uniform(-2, 2)
        yield root.T @ root / 30, random.normal(size=15), scale * random.normal(size=(25, 15))


def solve(problem, rho=0.1, alpha=1.6, scaling=10, adaptive_rho=True):
    quadratic, linear, rows = problem
    model, ones = osqp.OSQP(), np.ones(len(rows))
    model.setup(
        sparse.csc_matrix(quadratic), linear, sparse.csc_matrix(rows), -ones, ones, verbose=False, rho=rho, alpha=alpha,
        scaling=scaling, adaptive_rho=adaptive_rho, max_iter=int(CAP), eps_abs=1e-5, eps_rel=1e-5,
    )  # fmt: skip
    found = model.solve(raise_error=False)
    return {"solved": found.info.status_val == 1, "iterations": found.info.iter}


def cost(problem, parameters):
    """As `loa.tune_solver` counts: what is not solved counts as the cap."""
    found = solve(problem, **parameters)
    return found["iterations"] if found["solved"] else CAP


def by_hand(training, runs, seed):
    def objective(trial):
        parameters = {name: trial._suggest(name, each) for name, each in distributions(SPACE).items()}
        return float(np.mean([cost(problem, parameters) for problem in training]))

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, n_trials=max(1, runs // len(training)))
    return study.best_params


def main(seeds=5, runs=400):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    fresh = list(draw(10**6, 100))
    rows = []
    for seed in range(seeds):
        training = list(draw(seed, 20))
        solver = loa.External(solve, SPACE)
        ours = loa.tune_solver(
            solver, training, timeout=60.0, trials=10**4, most_runs=runs, minimize="iterations", cap=CAP, seed=seed
        )
        settings = ({}, by_hand(training, runs, seed), ours.parameters)
        rows.append([np.mean([cost(problem, each) for problem in fresh]) for each in settings])
        print(
            f"seed {seed}: defaults {rows[-1][0]:.1f}, by hand {rows[-1][1]:.1f}, loa {rows[-1][2]:.1f} iterations on "
            f"{len(fresh)} fresh instances; {ours.runs} runs for {len(ours.tried)} settings instead of "
            f"{runs // len(training)}",
            flush=True,
        )
    means = np.mean(rows, axis=0)
    print(f"mean: defaults {means[0]:.1f}, by hand {means[1]:.1f}, loa {means[2]:.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
