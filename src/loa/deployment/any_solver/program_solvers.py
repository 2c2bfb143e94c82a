"""Solvers of quadratic programs that are not part of loa, one problem after the other, to compare with."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import scipy.sparse

from ...messages.extras import require
from ...problems.oracle import Calls
from ...problems.problem_class import count_problems
from ...problems.programs.cones import Cones, onto_bounds
from ...problems.programs.quadratic_programs import PrimalDual, Program, QuadraticPrograms
from ..solution import Solution, Solutions

One = Callable[[Program], tuple[Any, Any, Any, int, str]]
"""Solves one program: x, z, y, the number of iterations, and the outcome."""


def solve_with(
    name: str, problem_class: QuadraticPrograms, problems: Any, *, eps_abs: float, eps_rel: float, **settings: Any
) -> Solutions:
    """Solve quadratic programs with OSQP, Clarabel or PIQP, in a loop.

    OSQP is set up once; each further problem is an update of it, with the solution of the previous problem as its warm
    start. Clarabel is set up for every problem, PIQP is updated. `pip install loa[programs]` installs all three.

    Arguments:
        name: "osqp", "clarabel" or "piqp".
        problem_class: a class of quadratic programs.
        problems: a stack of problems.
        eps_abs, eps_rel: the tolerances that the solver is given.
        settings: further settings of the solver.

    Returns:
        The solutions, as of `loa.solve`; `seconds` is the time of updates and solutions, without the first setup.
    """
    makers = {"osqp": _osqp, "clarabel": _clarabel, "piqp": _piqp}
    if name not in makers:
        raise ValueError(f"the solver must be one of {', '.join(makers)}, got {name!r}.")
    stacked = jax.tree.map(np.asarray, jax.jit(jax.vmap(problem_class.arrays))(problems))
    programs = [Program(*(part[n] for part in stacked)) for n in range(count_problems(problems))]
    if problem_class.cones and name != "clarabel":
        raise ValueError(f"{name} has no second-order cones, which {type(problem_class).__name__} has: use clarabel.")
    try:
        solve = makers[name](programs, eps_abs, eps_rel, settings, problem_class.cones)
    except ImportError as error:
        raise ImportError(f"{name} is not installed: `pip install loa[programs]`.") from error
    before = time.perf_counter()
    found = [solve(program) for program in programs]
    seconds = time.perf_counter() - before
    rows = [
        Solution(PrimalDual(x, z, y), outcome, steps, _objective(program, x), None, Calls.none(), name)
        for program, (x, z, y, steps, outcome) in zip(programs, found, strict=True)
    ]
    return Solutions.of(rows, seconds)


def _objective(program: Program, x: np.ndarray) -> float:
    return float(0.5 * x @ program.P @ x + program.q @ x)


def _osqp(programs: list[Program], eps_abs: float, eps_rel: float, settings: dict[str, Any], cones: Cones = ()) -> One:
    require("osqp")
    import osqp  # pyright: ignore[reportMissingImports]

    first = programs[0]
    curved, linear = _pattern([np.triu(each.P) for each in programs]), _pattern([each.A for each in programs])
    solver, last = osqp.OSQP(), [first]
    P, A = _sparse(first.P, curved), _sparse(first.A, linear)
    options = dict(verbose=False, eps_abs=eps_abs, eps_rel=eps_rel) | settings
    solver.setup(P, first.q, A, first.lower, first.upper, **options)

    def solve(program: Program) -> tuple[Any, Any, Any, int, str]:
        changes: dict[str, Any] = {}
        if not np.array_equal(program.P, last[0].P):
            changes["Px"] = program.P[curved]
        if not np.array_equal(program.A, last[0].A):
            changes["Ax"] = program.A[linear]
        last[0] = program
        solver.update(q=program.q, l=program.lower, u=program.upper, **changes)
        found = solver.solve(raise_error=False)
        words = {"solved": "solved", "primal infeasible": "infeasible", "dual infeasible": "unbounded"}
        x, y = np.asarray(found.x, float), np.asarray(found.y, float)
        z = np.clip(program.A @ x, program.lower, program.upper)
        return x, z, y, found.info.iter, words.get(found.info.status, "exhausted")

    return solve


def _pattern(matrices: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Where any of the matrices has an entry, by columns, as sparse matrices hold them."""
    columns, rows = np.nonzero(np.any([each != 0 for each in matrices], axis=0).T)
    return rows, columns


def _sparse(matrix: np.ndarray, pattern: tuple[np.ndarray, np.ndarray]) -> Any:
    """A sparse matrix with this pattern, which holds zeros where it must."""
    held = scipy.sparse.csc_matrix((np.ones(len(pattern[0])), pattern), shape=matrix.shape)
    held.data = matrix[pattern].astype(float)
    return held


def _clarabel(
    programs: list[Program], eps_abs: float, eps_rel: float, settings: dict[str, Any], cones: Cones = ()
) -> One:
    require("clarabel")
    import clarabel as module  # pyright: ignore[reportMissingImports]

    clarabel: Any = module

    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_feas = options.tol_gap_abs = eps_abs
    options.tol_gap_rel = eps_rel
    for key, value in settings.items():
        setattr(options, key, value)
    words = {"Solved": "solved", "PrimalInfeasible": "infeasible", "DualInfeasible": "unbounded"}

    def solve(program: Program) -> tuple[Any, Any, Any, int, str]:
        above, below = np.isfinite(program.upper), np.isfinite(program.lower)
        below &= np.arange(len(below)) < len(below) - sum(cones)
        last = slice(len(below) - sum(cones), None)
        rows = scipy.sparse.csc_matrix(np.vstack([program.A[above], -program.A[below], -program.A[last]]))
        right = np.concatenate([program.upper[above], -program.lower[below], -program.lower[last]])
        flat = clarabel.NonnegativeConeT(len(right) - sum(cones))
        kinds = [flat, *map(clarabel.SecondOrderConeT, cones)]
        matrix = scipy.sparse.csc_matrix(np.triu(program.P))
        found = clarabel.DefaultSolver(matrix, program.q, rows, right, kinds, options).solve()
        x, duals, y = np.asarray(found.x), np.asarray(found.z), np.zeros(len(program.A))
        y[above] += duals[: above.sum()]
        y[below] -= duals[above.sum() : above.sum() + below.sum()]
        y[last] -= duals[len(duals) - sum(cones) :]
        z = np.asarray(onto_bounds(program.A @ x, program.lower, program.upper, cones))
        return x, z, y, found.iterations, words.get(str(found.status), "exhausted")

    return solve


def _piqp(programs: list[Program], eps_abs: float, eps_rel: float, settings: dict[str, Any], cones: Cones = ()) -> One:
    require("piqp")
    import piqp  # pyright: ignore[reportMissingImports]

    first = programs[0]
    solver, nothing = piqp.DenseSolver(), (np.zeros((0, len(first.q))), np.zeros(0))
    solver.settings.eps_abs, solver.settings.eps_rel, solver.settings.verbose = eps_abs, eps_rel, False
    for key, value in settings.items():
        setattr(solver.settings, key, value)
    solver.setup(first.P, first.q, *nothing, first.A, first.lower, first.upper)
    words = {
        piqp.PIQP_SOLVED: "solved",
        piqp.PIQP_PRIMAL_INFEASIBLE: "infeasible",
        piqp.PIQP_DUAL_INFEASIBLE: "unbounded",
    }

    def solve(program: Program) -> tuple[Any, Any, Any, int, str]:
        solver.update(P=program.P, c=program.q, G=program.A, h_l=program.lower, h_u=program.upper)
        status = solver.solve()
        x = np.array(solver.result.x)  # a copy: the solver uses its arrays again
        y = np.asarray(solver.result.z_u) - np.asarray(solver.result.z_l)
        z = np.clip(program.A @ x, program.lower, program.upper)
        return x, z, y, solver.result.info.iter, words.get(status, "exhausted")

    return solve
