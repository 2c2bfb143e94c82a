"""The directory of a run. Finished stages are kept there, so that an interrupted run can be resumed."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from rich.console import Console

from ..algorithms.algorithm import Algorithm
from ..certificates import Plan
from ..results.run_results import SUMMARY
from ..storage.files import write_json, write_whole
from ..storage.public_classes import classes_of
from ..storage.saved_algorithms import SUFFIX, load, save

ORDER, PLAN, STAGES, SECONDS = "order.json", "plan.json", "stages", "seconds.json"


class OccupiedError(ValueError):
    """The directory holds another run, or an interrupted one."""


class ChangedPlanError(ValueError):
    """The plan in the directory is not the plan of this run."""


class RunDirectory:
    """A place for one run. Each stage is done once; its result and its duration are kept until the run ends."""

    def __init__(self, path: Path, console: Console, classes: Iterable[type] = ()):
        self.path = path
        self.console = console
        self.classes = set(classes)
        self.stages = path / STAGES
        self.evaluations = self.stages / "evaluations"
        self.seconds: dict[str, float] = {}

    def open(self, order: dict[str, Any], *, resume: bool, overwrite: bool) -> None:
        """Begin the run that was ordered, or resume it; a directory that holds another run is refused."""
        finished, begun = (self.path / SUMMARY).exists(), (self.path / ORDER).exists()
        if overwrite:
            self._clear()
        elif finished:
            raise OccupiedError(
                f"{self.path} already holds a run; choose another --out, or add --overwrite to replace it."
            )
        elif begun and not resume:
            raise OccupiedError(
                f"{self.path} holds an interrupted run; add --resume to continue it, --overwrite to start again, or "
                "choose another --out."
            )
        elif begun:
            self._resume(order)
        self.stages.mkdir(parents=True, exist_ok=True)
        write_json(self.path / ORDER, order)

    def kept(
        self,
        stage: str,
        suffix: str,
        compute: Callable[[], Any],
        write: Callable[[Any, Path], None],
        read: Callable[[Path], Any],
    ) -> Any:
        """The result of a stage: read if it was done before, otherwise computed and kept."""
        path = self.file(stage, suffix)
        if not path.exists():
            write(self._timed(stage, compute), path)
        return read(path)

    def file(self, stage: str, suffix: str) -> Path:
        """The file of a stage, whose name may contain any characters."""
        return self.stages / f"{quote(stage, safe=' ')}{suffix}"

    def algorithm(self, stage: str, compute: Callable[[], Algorithm]) -> Algorithm:
        """A stage that results in an algorithm."""

        def write(algorithm: Algorithm, path: Path) -> None:
            save(path, algorithm)
            self.classes |= classes_of(algorithm)

        return self.kept(stage, SUFFIX, compute, write, lambda path: load(path, classes=self.classes))

    def arrays(self, stage: str, compute: Callable[[], dict[str, Any]]) -> dict[str, np.ndarray]:
        """A stage that results in arrays by name."""
        return self.kept(stage, ".npz", compute, _write_arrays, _read_arrays)

    def fix(self, plan: Plan) -> None:
        """Write the plan to disk, to be called before any problem is drawn that the plan speaks of.

        A plan that is already there, from the run that is resumed, must be the same.
        """
        path = self.path / PLAN
        content = json.loads(json.dumps({**plan.to_dict(), "fingerprint": plan.fingerprint}, default=float))
        if not path.exists():
            write_json(path, content)
        elif _read_json(path) != content:
            raise ChangedPlanError(
                f"{path} is not the plan that this run had fixed, so its certificates would not be valid: restore the "
                "file, or add --overwrite to start again."
            )

    def close(self) -> None:
        """Remove what served only to resume the run, which is complete."""
        (self.path / ORDER).unlink(missing_ok=True)
        shutil.rmtree(self.stages, ignore_errors=True)

    def _timed(self, stage: str, compute: Callable[[], Any]) -> Any:
        self.console.print(f"{stage} …", style="dim")
        started = time.perf_counter()
        result = compute()
        self.seconds[stage] = time.perf_counter() - started
        write_json(self.stages / SECONDS, self.seconds)
        self.console.print(f"{stage}: {self.seconds[stage]:.1f} s")
        return result

    def _resume(self, order: dict[str, Any]) -> None:
        before = json.loads((self.path / ORDER).read_text())
        if before != order:
            other = ", ".join(f"{name} {before.get(name)!r}" for name in before if before[name] != order.get(name))
            raise OccupiedError(
                f"{self.path} holds an interrupted run with other settings ({other}): give the same ones to continue "
                "it, add --overwrite to start again, or choose another --out."
            )
        if (self.stages / SECONDS).exists():
            self.seconds = json.loads((self.stages / SECONDS).read_text())
        done = ", ".join(self.seconds) or "nothing"
        self.console.print(f"resuming the run in {self.path}; done so far: {done}")

    def _clear(self) -> None:
        for name in (SUMMARY, ORDER, PLAN):
            (self.path / name).unlink(missing_ok=True)
        shutil.rmtree(self.stages, ignore_errors=True)


def _read_json(path: Path) -> Any:
    """The content of a JSON file, or None if it is not JSON."""
    try:
        return json.loads(path.read_text())
    except ValueError:
        return None


def _write_arrays(arrays: dict[str, Any], path: Path) -> None:
    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, **{name: np.asarray(value) for name, value in arrays.items()})  # pyright: ignore

    write_whole(path, write)


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
