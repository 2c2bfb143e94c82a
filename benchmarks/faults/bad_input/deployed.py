"""Bad arguments of what leaves Python or comes from elsewhere: exported solvers, executables, configurations, logs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import loa
from loa import problems
from loa.deployment import load_exported, solve_with
from loa.parallel.config import executor_for, read_config

from .at_work import identity
from .rows import INF, NAN, NOT_COUNTS, NOT_POSITIVE, Row, each, things

NOTHING: Any = None
NOT_PATHS = (3, None, [], 2.5, object())


@cache
def _solver(**options: Any) -> loa.Solver:
    given: dict[str, Any] = dict(criterion=loa.gap_below(1e-6), horizon=3)
    return loa.Solver(loa.GradientDescent(0.1), things()["example"], **given, **options)


@cache
def folder() -> Path:
    """Files in which something is wrong, and a place to write to."""
    place = Path(tempfile.mkdtemp())
    (place / "file").write_text("in the way")
    contents = {
        "text": "hello", "list": "- a\n- b\n", "number": "3", "nothing": "", "tabs": "backend:\tloky\n\t- x",
        "other": "backend: ray", "none": "backend: null", "many": "backend: [loky, dask]",
        "typo": "backend: loky\nnjobs: 3",
        "zero": "backend: loky\nn_jobs: 0", "words": "backend: loky\nn_jobs: many", "keys": "backend: loky\n3: 4",
        "binary": "\0\1\2", "coiled": "backend: dask\ncoiled_name: x",
    }  # fmt: skip
    for name, content in contents.items():
        (place / f"{name}.yaml").write_text(content)
    (place / "latin.yaml").write_bytes("backend: Grüße".encode("latin-1"))
    (place / "half.npz").write_bytes(b"PK\3\4 and no more")
    (place / "pickled.npy").write_bytes(b"\x93NUMPY\1\0" + b"\xff" * 60)
    (place / "open.json").write_text('[{"a": 1.0},')
    (place / "deep.json").write_text("[" * 50_000)
    (place / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (place / "words.csv").write_text("a,b\none,two\n")
    (place / "empty.csv").write_text("")
    (place / "empty").mkdir()
    return place


def solver_rows() -> Iterator[Row]:
    for_one = ("one", None, {"a": 1.0}, jnp.ones(2), [1.0, 2.0], object(), 1j)
    yield from each("Solver call problem", lambda v: _solver()(v), for_one, "problem|example|class")
    for_start = ("zero", {"a": 1.0}, jnp.ones(7), [1.0, 2.0], object(), 1j)
    yield from each("Solver call start", lambda v: _solver()(1.0, start=v), for_start)
    yield from each("Solver call deadline", lambda v: _solver()(1.0, deadline=v), ("soon", -1.0, NAN, 1j, [1.0]))
    yield from each(
        "Solver many problems", lambda v: _solver().many(v), (None, "all", [], 3.0, np.ones((0,))), "problems"
    )
    yield from each("Solver key", lambda v: _solver(key=v), (0, "key"))
    yield from each("Solver example", lambda v: _solver(example=v), ("one", object()), "")
    yield from each("Solver export path", lambda v: _solver().export(v), NOT_PATHS)
    yield from each("Solver export_c path", lambda v: _solver().export_c(v), NOT_PATHS)
    names = ("x", "x.py", "3.c", "a b.c", "int.c", "main.c", "a-b.c", ".c", "ä.c")
    yield from each("Solver export_c name", lambda v: _solver().export_c(folder() / v), names, "")
    yield from each(
        "Solver export certificates", lambda v: _solver().export(folder() / "x", certificates=v), ([3], "ab", 3)
    )
    yield from each(
        "Solver export_c certificates", lambda v: _solver().export_c(folder() / "x.c", certificates=v), ([3], "ab", 3)
    )
    files = ("file", "empty", "half.npz", "open.json")
    yield from each("load_exported file", lambda v: load_exported(folder() / v), files, "")
    yield from each(
        "solve_with name", lambda v: solve_with(v, NOTHING, None, eps_abs=1.0, eps_rel=1.0), ("a", 3, None), "solver"
    )


def _tune(space: Any = None, instances: Any = (1.0, 2.0), **changed: Any) -> Any:
    solver = changed.pop("solver", None) or loa.External(identity, {"size": (1, 5)} if space is None else space)
    return loa.tune_solver(solver, list(instances), **{"timeout": 5.0, "trials": 1, **changed})


def tune_solver_rows() -> Iterator[Row]:
    yield from each("tune_solver timeout", lambda v: _tune(timeout=v), NOT_POSITIVE)
    yield from each("tune_solver trials", lambda v: _tune(trials=v), NOT_COUNTS)
    yield from each(
        "tune_solver most_runs", lambda v: _tune(most_runs=v), tuple(v for v in NOT_COUNTS if v is not None)
    )
    yield from each("tune_solver seed", lambda v: _tune(seed=v), (-1, 2.5, "a", NAN, 1j))
    yield from each("tune_solver minimize", lambda v: _tune(minimize=v), (3, None, "", []))
    yield from each("tune_solver cap", lambda v: _tune(minimize="value", cap=v), (NAN, "a", 1j, [1.0]))
    yield Row("tune_solver minimize without cap", lambda: _tune(minimize="value"), "cap")
    yield from each("tune_solver solver", lambda v: _tune(solver=v), ("sort", identity, 3.0), "solver|External")
    yield Row("tune_solver without space", lambda: _tune(solver=loa.External(identity)), "space")
    spaces = ({}, {"size": ()}, {"size": (5, 1)}, {"size": (1, 1)}, {"size": (NAN, 1.0)}, {"size": []}, {"size": 3},
              {"size": "abc"}, {"size": None}, {"size": (1, 2, 3)}, {"size": (0.0, INF)}, {3: (1, 2)})  # fmt: skip
    yield from each("tune_solver space", lambda v: _tune(space=v), spaces, "space|size|name|parameter")
    yield from each("tune_solver record", lambda v: _tune(record=v), (3, [], 2.5))
    yield Row("tune_solver record that is a folder", lambda: _tune(record=folder() / "empty"), "record|empty")
    yield Row("tune_solver without instances", lambda: _tune(instances=()), "instances")
    yield from each("External command", loa.External, ("", [], (), 3, None), "solve")


def configuration_rows() -> Iterator[Row]:
    names = (
        "text",
        "list",
        "number",
        "nothing",
        "tabs",
        "other",
        "none",
        "many",
        "typo",
        "keys",
        "binary",
        "latin",
        "no",
    )
    yield from each("parallel-config file", lambda v: read_config(folder() / f"{v}.yaml"), names, "")
    yield Row("parallel-config that is a folder", lambda: read_config(folder() / "empty"), "there is no file")
    used = ("zero", "words", "coiled")
    yield from each(
        "parallel-config at work",
        lambda v: ExitStack().enter_context(executor_for(None, folder() / f"{v}.yaml")),
        used,
        "",
    )
    yield from each(
        "executor_for jobs", lambda v: ExitStack().enter_context(executor_for(v, None)), (0, -1, 2.5, "a"), "jobs"
    )
    yield Row(
        "executor_for jobs and file",
        lambda: ExitStack().enter_context(executor_for(2, folder() / "zero.yaml")),
        "exclude",
    )
    yield from each("keep_programs directory", loa.keep_programs, (3, [], 2.5, object()))


def log_rows() -> Iterator[Row]:
    files = (
        "half.npz",
        "pickled.npy",
        "open.json",
        "deep.json",
        "ragged.csv",
        "words.csv",
        "empty.csv",
        "empty",
        "no.npz",
    )
    yield from each("from_files file", lambda v: problems.from_files(str(folder() / v)), files, "")
    of = problems.Instances.of
    odd = (3, None, "ab", [], [None], [{}], [{"a": "b"}], [{"a": 1.0}, {"b": 1.0}], {"a": np.ones(2), "b": np.ones(3)})
    yield from each("Instances.of instances", of, odd, "")
    yield from each("Instances.of order", lambda v: of(np.arange(3.0), order=v), (3, "random", ""))
    yield from each("Instances.of repeats", lambda v: of(np.arange(3.0), repeats=v), (3, None, "maybe"))
    yield from each("Instances.of time", lambda v: of([{"t": 1.0, "a": 2.0}], time=v), (3, "when", ""))
    yield from each("Instances.of pad", lambda v: of([np.ones(2), np.ones(3)], pad=v), (False, None, 0), "")
    yield from each(
        "Log sizes", lambda v: problems.Log(of(np.arange(30.0)), v), (3, {"tests": 3}, {"test": 0}, {"test": 99}), ""
    )
    yield from each("Log order", lambda v: problems.Log(of(np.arange(30.0)), {}, v), ("random", 3))
    yield from each("Log instances", lambda v: problems.Log(v, {}), (3, None, np.ones(3)))
