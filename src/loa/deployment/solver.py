"""A solver: an algorithm compiled once, then one problem at a time with the latency of its arithmetic."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm
from ..certificates.certificate import Certificate
from ..messages.arguments import is_number, shown
from ..problems.criterion import Criterion
from ..problems.oracle import Calls
from ..problems.problem_class import ProblemClass, check_arrays, sampled
from ..trajectory.checks import check_algorithm, check_setting
from .c_code import write_c
from .export import write_exported
from .inputs import Shapes
from .program import Program
from .solution import Solution, Solutions
from .solve import solve


class Solver:
    """Solve one problem at a time with an algorithm that is compiled once, when the solver is made.

    The steps are those of `loa.solve`, without its overhead for batches. A solver may be used by several threads at the
    same time. Problems and points are arrays of NumPy or JAX (or pytrees of them), of the shapes of the example.

    Arguments:
        algorithm: one algorithm.
        problem_class: the class of the problems.
        criterion: when a problem counts as solved.
        horizon: the largest number of steps, at least 1.
        fallback: an algorithm that runs where the first one does not solve the problem, from the same start; the better
            point of the two is returned, and `by` says whose it is. Steps and calls are then those of both.
        example: a problem of the shapes to come; by default one is drawn by `problem_class.sample`.
        key: a PRNG key for random starts and algorithms, `jax.random.key(0)` by default. The same problem always has
            the same solution, that of `loa.solve` for the first problem of a stack.

    >>> import loa
    >>> solver = loa.Solver(loa.GradientDescent(0.5), loa.problems.RunningExample(), criterion=loa.gap_below(1e-6),
    ...                     horizon=100)
    >>> one = solver(1.0)
    >>> one.outcome, one.steps, round(float(one.x), 2)
    ('solved', 10, 1.0)
    >>> solver(1.0, start=one.x).steps
    0
    """

    def __init__(
        self,
        algorithm: Algorithm,
        problem_class: ProblemClass,
        *,
        criterion: Criterion,
        horizon: int,
        fallback: Algorithm | None = None,
        example: Any = None,
        key: Key[Array, ""] | None = None,
    ):
        key = jax.random.key(0) if key is None else key
        check_algorithm("algorithm", algorithm)
        check_setting(problem_class, criterion, horizon, key)
        if fallback is not None:
            check_algorithm("fallback", fallback)
        self.algorithm, self.problem_class, self.fallback = algorithm, problem_class, fallback
        self.criterion, self.horizon, self.key = criterion, int(horizon), key
        self._float64 = _float64()
        problem = sampled(problem_class, key) if example is None else example
        check_arrays("example must be one problem:", problem)
        self.problem = Shapes("problem", problem, "the example" if example is not None else "what the class samples")
        arrays = self.problem.tree([jax.numpy.asarray(leaf) for leaf in jax.tree.leaves(problem)])
        self.point = Shapes("start", problem_class.start(arrays, key), "what `start` of the class returns")
        setting = problem_class, criterion, self.horizon, key, self.problem, self.point
        self._program = Program(algorithm, *setting)
        self._other = None if fallback is None else Program(fallback, *setting)

    def __call__(self, problem: Any, *, start: Any = None, deadline: float | None = None) -> Solution:
        """Solve one problem.

        Arguments:
            problem: one problem, without a leading axis.
            start: a point to start from, such as the solution of a similar problem; by default that of the class.
            deadline: the seconds after which the best point so far is returned, with the outcome "late". Steps are not
                interrupted, so it may be exceeded by the time that one of them takes.

        Returns:
            The solution.
        """
        began = time.perf_counter()
        until = math.inf if deadline is None else began + _seconds(deadline)
        if _float64() != self._float64:
            with jax.enable_x64(self._float64):
                return self._solved(problem, start, until)
        return self._solved(problem, start, until)

    def _solved(self, problem: Any, start: Any, until: float) -> Solution:
        leaves = self.problem.leaves(problem)
        x0 = None if start is None else self.point.leaves(start)
        found = self._program(leaves, x0, until)
        if self._other is None or found.outcome in ("solved", "late"):
            return found
        return _better(found, self._other(leaves, x0, until))

    def many(self, problems: Any, **options: Any) -> Solutions:
        """Solve a stack of problems together, by `loa.solve`.

        Arguments:
            problems: a stack of problems, along a leading axis.
            options: `width`, `devices`, `checkpoints` and `progress`, as for `loa.solve`.

        Returns:
            The solutions, in the order of the problems.
        """
        setting: Any = dict(criterion=self.criterion, horizon=self.horizon, key=self.key)
        with jax.enable_x64(self._float64):
            found = solve(self.algorithm, self.problem_class, problems, **setting, **options)
            unsolved = np.flatnonzero(found.outcome != "solved")
            if self._other is None or not len(unsolved):
                return found
            rows = list(found)
            for number in unsolved:
                leaves = self.problem.leaves(jax.tree.map(lambda leaf, n=number: np.asarray(leaf[n]), problems))
                rows[number] = _better(rows[number], self._other(leaves, None))
            return Solutions.of(rows, found.seconds)

    def export(self, path: Path | str, *, certificates: Iterable[Certificate] = ()) -> None:
        """Write the compiled program with its weights to a file, which runs where only JAX is installed.

        The file is for the platform of this process; `loa.deployment.load_exported` reads it, and the page
        docs/at-work.md shows how to run it without loa. Deadlines and the fallback are not part of it.

        Arguments:
            path: the file; an existing file is replaced.
            certificates: what was certified of the algorithm, to be kept in the file.
        """
        with jax.enable_x64(self._float64):
            write_exported(path, self._program, self._facts(), certificates)

    def export_c(self, path: Path | str, *, certificates: Iterable[Certificate] = ()) -> None:
        """Write the program with its weights as a self-contained file of C that allocates nothing, and its header.

        It is meant for small dense problems, up to a few hundred unknowns, where neither Python nor JAX is available.
        The file `controller.c` has the function `controller`; the page docs/at-work.md shows how to call it. Its
        results are those of the solver up to rounding. It has no deadline, no fallback and no random numbers.

        Arguments:
            path: the file, the name of a function followed by .c; existing files (.c and .h) are replaced.
            certificates: what was certified of the algorithm; their sentences come into a comment.
        """
        with jax.enable_x64(self._float64):
            write_c(path, self._program, self._facts(), certificates)

    def _facts(self) -> dict[str, Any]:
        """What a file says about the program in it."""
        if self.fallback is not None:
            raise ValueError(
                "a file holds one algorithm: export a solver without a fallback, and one for the fallback."
            )
        return {
            "algorithm": type(self.algorithm).__name__,
            "problem_class": type(self.problem_class).__name__,
            "criterion": repr(self.criterion),
            "horizon": self.horizon,
        }

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Solver is a compiled program, which can be neither copied nor pickled: make one in each process, or "
            "write it to a file with solver.export."
        )

    def __repr__(self) -> str:
        guarded = "" if self.fallback is None else f", fallback={type(self.fallback).__name__}"
        names = f"{type(self.algorithm).__name__} on {type(self.problem_class).__name__}"
        return f"Solver({names}, {self.criterion!r}, horizon={self.horizon}{guarded})"


def _better(first: Solution, other: Solution) -> Solution:
    """The better of two solutions, with the cost of both."""
    steps, calls = first.steps + other.steps, Calls._make(map(sum, zip(first.calls, other.calls, strict=True)))
    if other.solved or not (first.loss <= other.loss or math.isnan(other.loss)):
        return dataclasses.replace(other, steps=steps, calls=calls, by="fallback")
    outcome = other.outcome if other.outcome == "late" else first.outcome
    return dataclasses.replace(first, outcome=outcome, steps=steps, calls=calls)


def _seconds(deadline: Any) -> float:
    if not (is_number(deadline) and deadline >= 0):
        raise ValueError(f"deadline must be a number of seconds, at least 0, got {shown(deadline)}.")
    return float(deadline)


def _float64() -> bool:
    return bool(jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]
