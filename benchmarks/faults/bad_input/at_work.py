"""Bad arguments of what is new at work: solvers, sequences, watches, guards, external solvers, executors, tables."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import loa
from loa import certificates as c
from loa.deployment import load_exported

from .rows import INF, NAN, NOT_COUNTS, NOT_FRACTIONS, NOT_POSITIVE, NOT_VALUES, Row, each, not_keys, things

NOT_ALGORITHMS = (3.0, "sgd", loa.GradientDescent, None)
NOT_CRITERIA = (1e-6, None, loa.loss_below, "loss")


class Drift(loa.problems.RunningExample):
    """Problems that follow each other."""

    def next(self, problem: Any, x: Any, key: Any) -> Any:
        return 0.9 * problem


class Wrong(loa.problems.RunningExample):
    """The problem that follows has another form."""

    def next(self, problem: Any, x: Any, key: Any) -> Any:
        return problem, x


def identity(instance: Any, **parameters: Any) -> dict[str, Any]:
    """A solver."""
    return {"value": 1.0}


def _setting(**changed: Any) -> dict[str, Any]:
    given = dict(criterion=loa.gap_below(1e-6), horizon=5, key=things()["key"])
    return {**given, **changed}


def _rollout(algorithm: Any = None, problem_class: Any = None, problems: Any = None, **changed: Any) -> Any:
    algorithm = loa.GradientDescent(0.1) if algorithm is None else algorithm
    problems = things()["problems"] if problems is None else problems
    return loa.rollout(algorithm, problem_class or Drift(), problems, **_setting(**{"length": 2, **changed}))


def _solve(**changed: Any) -> Any:
    given = dict(algorithm=loa.GradientDescent(0.1), problem_class=things()["example"], problems=things()["problems"])
    given = {**given, **_setting(), **changed}
    return loa.solve(**given)


def _solver(**changed: Any) -> Any:
    given = dict(criterion=loa.gap_below(1e-6), horizon=5) | changed
    return loa.Solver(given.pop("algorithm", loa.GradientDescent(0.1)), given.pop("of", things()["example"]), **given)


def solving_rows() -> Iterator[Row]:
    yield from each("rollout length", lambda v: _rollout(length=v), NOT_COUNTS)
    for name, call in (("rollout", _rollout), ("solve", _solve)):
        yield from each(f"{name} horizon", lambda v, f=call: f(horizon=v), NOT_COUNTS)
        yield from each(f"{name} criterion", lambda v, f=call: f(criterion=v), NOT_CRITERIA)
        yield from each(f"{name} key", lambda v, f=call: f(key=v), not_keys())
        yield from each(f"{name} algorithm", lambda v, f=call: f(algorithm=v), NOT_ALGORITHMS[:3])
    yield Row("rollout without next", lambda: _rollout(problem_class=things()["example"]), "next")
    yield Row("rollout to another form", lambda: _rollout(problem_class=Wrong()), "next")
    yield from each("solve start", lambda v: _solve(start=v), ("zero", jnp.ones(7), [1.0, 2.0], {"a": 1.0}))
    yield from each("Solver horizon", lambda v: _solver(horizon=v), NOT_COUNTS)
    yield from each("Solver criterion", lambda v: _solver(criterion=v), NOT_CRITERIA)
    yield from each("Solver algorithm", lambda v: _solver(algorithm=v), NOT_ALGORITHMS)
    yield from each("Solver problem_class", lambda v: _solver(of=v), ("lasso", 3, loa.problems.Lasso))
    yield from each("Solver fallback", lambda v: _solver(fallback=v), (3.0, "sgd", loa.GradientDescent))
    for name in ("learned", "fallback"):
        others = {"learned": loa.SGD(0.1), "fallback": loa.GradientDescent(0.1)}
        yield from each(
            f"safeguard {name}", lambda v, n=name, o=others: loa.safeguard(**{**o, n: v}), (3.0, "sgd", None, jnp.sin)
        )
    yield from each(
        "safeguard patience", lambda v: loa.safeguard(loa.SGD(0.1), loa.GradientDescent(0.1), patience=v), NOT_COUNTS
    )


def _measure(**changed: Any) -> Any:
    given = dict(solver=identity, instances=[1.0, 2.0], timeout=5.0) | changed
    return loa.measure(given.pop("solver"), given.pop("instances"), **given)


def external_rows() -> Iterator[Row]:
    yield from each("measure timeout", lambda v: _measure(timeout=v), NOT_POSITIVE)
    yield from each("measure replicates", lambda v: _measure(replicates=v), NOT_COUNTS)
    yield from each("measure memory", lambda v: _measure(memory=v), tuple(v for v in NOT_COUNTS if v is not None)[:-4])
    yield from each("measure executor", lambda v: _measure(executor=v), (3, "threads", Path, []))
    yield from each("measure instances", lambda v: _measure(instances=v), (3, None, [], 2.5))
    yield from each("measure solver", lambda v: _measure(solver=v), (3, None, "", [], ()), "solve")
    yield from each("External space", lambda v: loa.External(identity, v), (3, "a", [1, 2]))
    yield from each("External parameters", lambda v: loa.External(identity, None, v), (3, "a", [1, 2]))
    yield from each("Processes workers", loa.Processes, NOT_COUNTS)


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp())
    (folder / "times.csv").write_text("name,seconds\n" + "\n".join(f"p{k},{0.1 * k}" for k in range(20)))
    (folder / "words.csv").write_text("seconds\nslow\n")
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("seconds\n")
    (folder / "twice.csv").write_text("seconds,seconds\n1,2\n")
    (folder / "ragged.csv").write_text("seconds,more\n1\n")
    (folder / "binary.csv").write_bytes(bytes(range(256)))
    (folder / "text.txt").write_text("seconds\n1\n")
    (folder / "exported").write_bytes(b"not a program" * 9)
    return folder


def _table(path: Any = "times.csv", column: Any = "seconds", **changed: Any) -> Any:
    return c.certify_table(_folder() / path, column, **{"cap": 10.0, **changed})


def table_rows() -> Iterator[Row]:
    yield from each("certify_table cap", lambda v: _table(cap=v), tuple(v for v in NOT_POSITIVE if v is not None))
    yield Row("certify_table without cap and quantile", lambda: _table(cap=None), "cap")
    yield from each(
        "certify_table quantile",
        lambda v: _table(quantile=v),
        tuple(v for v in NOT_FRACTIONS if v is not None),
        "level",
    )
    yield from each("certify_table confidence", lambda v: _table(confidence=v), NOT_FRACTIONS)
    yield from each("certify_table column", lambda v: _table(column=v), ("", "hours", "Seconds", 3, None))
    yield from each("certify_table problem", lambda v: _table(problem=v), ("", "hours", 3), "column")
    files = (
        "words.csv",
        "empty.csv",
        "header.csv",
        "twice.csv",
        "ragged.csv",
        "binary.csv",
        "text.txt",
        "none.csv",
        ".",
    )
    yield from each("certify_table path", lambda v: _table(v), files, "")
    yield from each(
        "from_files files", lambda v: loa.problems.from_files(v), (3, None, [], str(_folder() / "none*")), ""
    )
    yield from each("load_exported path", load_exported, (3, None, _folder() / "exported", _folder() / "nothing"), "")
    yield from each("Watch.load path", loa.Watch.load, (3, None, _folder() / "exported", _folder() / "nothing"), "")


@cache
def _certificate() -> c.Certificate:
    return c.Mean("steps", cap=500.0).certify(np.tile([100.0, 300.0], 50), 0.95)


def _watch(calibration: Any = None, **changed: Any) -> loa.Watch:
    return loa.Watch({"steps": [1.0, 2.0]} if calibration is None else calibration, **changed)


def watch_rows() -> Iterator[Row]:
    yield from each("Watch calibration", _watch, ({}, 3, "steps", [1.0], {3: [1.0]}), "calibration|quantity")
    yield from each("Watch calibration of steps", lambda v: _watch({"steps": v}), NOT_VALUES[2:], "calibration")
    yield from each("Watch false_alarms", lambda v: _watch(false_alarms=v), NOT_FRACTIONS)
    yield from each("Watch seed", lambda v: _watch(seed=v), (-1, 2.5, "a", None, NAN, INF))
    yield from each("Watch certificates", lambda v: _watch(certificates=v), ([3], ["a"], [None]), "certificate")
    yield from each("Watch.see steps", lambda v: _watch().see(steps=v), ("a", None, [1.0, 2.0], object()))
    with_claim = (-1.0, "a", None)
    yield from each(
        "Watch.see certified steps", lambda v: _watch(certificates=[_certificate()]).see(steps=v), with_claim
    )
    choosing = c.certify_while_choosing
    two = np.array([[1.0, 2.0], [2.0, 1.0]])
    yield from each("certify_while_choosing values", lambda v: choosing(v, cap=2.0), (*NOT_VALUES[:7], [1.0], [[3.0]]))
    yield from each("certify_while_choosing cap", lambda v: choosing(two, cap=v), NOT_POSITIVE)
    yield from each("certify_while_choosing confidence", lambda v: choosing(two, cap=2.0, confidence=v), NOT_FRACTIONS)
    yield from each(
        "certify_while_choosing first", lambda v: choosing(two, cap=2.0, first=v), (0, -1, 2, 2.5, NAN, "a", True)
    )
