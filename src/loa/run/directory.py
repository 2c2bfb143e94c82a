"""The directory of a run. Finished stages are kept there, so that an interrupted run can be resumed."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from rich.console import Console

from ..algorithms.algorithm import Algorithm
from ..certificates import Plan
from ..messages.waiting import waiting_for
from ..results.run_results import SUMMARY, read_data, write_data
from ..storage.claim import claimed
from ..storage.files import write_json, write_whole
from ..storage.ledger import FILE as LEDGER
from ..storage.ledger import Ledger
from ..storage.manifest import Manifest
from ..storage.public_classes import classes_of
from ..storage.saved_algorithms import SUFFIX, load, provenance, save
from .durations import Durations
from .identity import differences
from .record import RunRecord

if TYPE_CHECKING:
    import xarray

ORDER, PLAN, STAGES, SECONDS, LOCK = "order.json", "plan.json", "stages", "seconds.json", ".loa-run.lock"


class OccupiedError(ValueError):
    """The directory holds another run, or an interrupted one."""


class ChangedPlanError(ValueError):
    """The plan in the directory is not the plan of this run."""


class RunDirectory:
    """A place for one run. Each stage is done once; its result and its duration are kept until the run ends.

    Arguments:
        path: the directory.
        console: for progress.
        classes: the user's own, of which saved algorithms may be made.
        executor: whose workers compute what can be divided; None for this process alone.
    """

    def __init__(self, path: Path, console: Console, classes: Iterable[type] = (), executor: Any = None):
        self.path = path
        self.executor = executor
        self.console = console
        self.classes = set(classes)
        self.stages = path / STAGES
        self.evaluations = self.stages / "evaluations"
        self.manifest = Manifest(path)
        self.durations = Durations(self.stages / SECONDS, lambda: self.stages.rglob("*"))

    @contextlib.contextmanager
    def opened(
        self, identity: dict[str, Any], files: Iterable[str], *, resume: bool, overwrite: bool
    ) -> Iterator[None]:
        """Begin or resume a run while no other process can; loa touches only what it wrote here.

        Arguments:
            identity: what determines the results; a run with another identity is not resumed.
            files: the names of all files that the run may leave here.
            resume: continue an interrupted run.
            overwrite: remove what an earlier run has written, and nothing else.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with claimed(self.path / LOCK, self.path):
            resumed = self._begin(identity, {*files, ORDER, PLAN, STAGES}, resume, overwrite)
            self.record = RunRecord(Ledger(self.path / LEDGER), identity)
            self.record.begin(resumed=resumed)
            yield

    def _begin(self, identity: dict[str, Any], files: set[str], resume: bool, overwrite: bool) -> bool:
        """Make room for the run; whether it is one that was interrupted. The ledger stays whatever happens."""
        self.manifest.check(files)
        resumed = not overwrite and (self.path / ORDER).exists()
        if overwrite:
            self.manifest.remove(self.manifest.names)
        elif (self.path / SUMMARY).exists():
            raise OccupiedError(
                f"{self.path} already holds a run; choose another --out, or add --overwrite to replace it."
            )
        elif (self.path / ORDER).exists():
            self._resume(identity, resume)
        self.manifest.announce(files)
        self.stages.mkdir(exist_ok=True)
        write_json(self.path / ORDER, identity)
        return resumed

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

    def algorithm(
        self, stage: str, compute: Callable[[], Algorithm], facts: Mapping[str, Any] | None = None
    ) -> tuple[Algorithm, dict[str, Any]]:
        """A stage that results in an algorithm, and the facts that were noted while it was computed."""

        def write(algorithm: Algorithm, path: Path) -> None:
            save(path, algorithm, facts)
            self.classes |= classes_of(algorithm)

        def read(path: Path) -> tuple[Algorithm, dict[str, Any]]:
            return load(path, classes=self.classes), provenance(path)

        return self.kept(stage, SUFFIX, compute, write, read)

    def arrays(self, stage: str, compute: Callable[[], dict[str, Any]]) -> dict[str, np.ndarray]:
        """A stage that results in arrays by name."""
        return self.kept(stage, ".npz", compute, _write_arrays, _read_arrays)

    def data(self, stage: str, compute: Callable[[], xarray.Dataset]) -> xarray.Dataset:
        """A stage that results in a data set."""
        return self.kept(stage, ".nc", compute, lambda data, path: write_data(path, data), read_data)

    def number(self, path: Path, compute: Callable[[], float]) -> float:
        """A number that takes long to measure, as part of a stage: read if it is known, otherwise computed and kept."""
        path = path.with_name(f"{path.name}.json")
        if not path.exists():
            write_json(path, float(compute()))
        return json.loads(path.read_text())

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
        self.record.plan(plan)

    def finish(self, later: Iterable[str] = ()) -> None:
        """Remove what served only to resume the run, which is complete, and the names of what was not written.

        Names in `later` are kept: files that will still be written.
        """
        self.manifest.remove((ORDER, STAGES))
        missing = {name for name in self.manifest.names if not (self.path / name).exists()}
        self.manifest.forget(missing - set(later))

    @property
    def seconds(self) -> Mapping[str, float]:
        """How long each finished stage took, in all the processes that worked on it."""
        return self.durations.finished

    def _timed(self, stage: str, compute: Callable[[], Any]) -> Any:
        self.console.print(f"{stage} …", style="dim")
        with self.durations.measured(stage), waiting_for(f"the stage {stage!r}"):
            result = compute()
        self.console.print(f"{stage}: {self.seconds[stage]:.1f} s")
        return result

    def _resume(self, identity: dict[str, Any], resume: bool) -> None:
        if not resume:
            raise OccupiedError(
                f"{self.path} holds an interrupted run; add --resume to continue it, --overwrite to start again, or "
                "choose another --out."
            )
        before = _read_json(self.path / ORDER)
        different = differences(before if isinstance(before, dict) else {}, json.loads(json.dumps(identity)))
        if different:
            raise OccupiedError(
                f"the run in {self.path} cannot be resumed, because it was another one ({'; '.join(different)}): "
                "restore what it was to continue it, add --overwrite to start again, or choose another --out."
            )
        self.durations.read()
        done = ", ".join(self.seconds) or "nothing"
        self.console.print(f"resuming the run in {self.path}; done so far: {done}")


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
