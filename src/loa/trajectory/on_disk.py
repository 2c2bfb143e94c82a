"""Evaluations that are larger than memory: problems are drawn, and results written to Parquet files, part by part."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm, Stack
from ..messages.arguments import as_path, check_type, shown
from ..messages.extras import require
from ..parallel.tasks import check_executor
from ..problems.criterion import Criterion
from ..problems.drawn import Drawn
from ..problems.problem_class import ProblemClass, count_problems, whole_number
from ..storage.checkpoint import fingerprint
from ..storage.files import write_json, write_whole
from ..storage.plain_json import decoded, encoded
from .checks import check_arguments
from .devices import Device
from .evaluation import Performance, evaluate_numbered
from .functionals import Functional, StoppingTime
from .job import OUTCOMES
from .progress import counted

TRAJECTORIES = 2**20
"""Trajectories in a file, at most."""

BYTES = 2**28
"""Bytes of the problems of a file, at most."""

GROUP = 2**16
"""Rows of a file that are read together: whole candidates, about this many rows."""

ABOUT, FORMAT = "about.json", 1


@dataclasses.dataclass(frozen=True, repr=False)
class Stored:
    """The result of an evaluation on disk; `loa.evaluate_on_disk` makes it, and `Stored.at` finds it again.

    The files `part-….parquet` have one row for each trajectory, with the columns candidate, problem, replicate,
    outcome, and one for each functional. Nothing here loads more than one file, or one candidate.
    """

    path: Path
    shape: tuple[int, int, int]
    """The numbers of candidates, problems and replicates."""
    facts: dict[str, Any]

    @classmethod
    def at(cls, path: Path | str) -> Stored:
        """The evaluation in a directory, which must be complete.

        Arguments:
            path: the directory.
        """
        path = as_path("path", path)
        facts = _facts(path)
        if facts is None:
            raise ValueError(f"{path} holds no evaluation: there is no file {ABOUT} in it.")
        candidates, problems, replicates = facts["shape"]
        stored = cls(path, (candidates, problems, replicates), facts)
        missing = sum(not file.exists() for file in stored.files)
        if missing:
            raise ValueError(
                f"{path} holds an evaluation of which {missing} of {len(stored.files)} parts are missing: make the "
                "same call of loa.evaluate_on_disk again, which resumes it."
            )
        return stored

    def __repr__(self) -> str:
        candidates, problems, replicates = self.shape
        sizes = f"{candidates} candidates × {problems} problems × {replicates} replicates"
        return f"Stored({sizes}; {', '.join(self.names)}; {self.bytes / 1e6:.1f} MB in {self.path})"

    @property
    def names(self) -> list[str]:
        """The names of the functionals."""
        return list(self.facts["caps"])

    @property
    def files(self) -> list[Path]:
        """The files, in the order of the problems."""
        return [self._file(number) for number in range(len(_parts(self.shape[1], self.facts["part"])))]

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.stat().st_size for file in self.files)

    @property
    def seconds(self) -> float:
        """How long all parts took to compute, without compilation."""
        return sum(float(self._metadata(file)[b"seconds"]) for file in self.files)

    def performance(self, candidate: int = 0) -> Performance:
        """The performance of one candidate on all problems, for measures, certificates and comparisons.

        Arguments:
            candidate: its number.
        """
        number = whole_number("candidate", candidate, least=0, most=self.shape[0] - 1)
        parts = [self._read(file, number) for file in self.files]
        return self._joined(parts, (self.shape[2],))

    def parts(self) -> Iterator[Performance]:
        """The performances of all candidates on the problems of one file after the other."""
        for file in self.files:
            values = self._read(file, None)
            yield self._joined([values], (self.shape[0], -1, self.shape[2]))

    def outcomes(self) -> np.ndarray:
        """How many trajectories of each candidate ended in each way, in an array (candidate, outcome)."""
        counts = np.zeros((self.shape[0], len(OUTCOMES)), int)
        for part in self.parts():
            for number, word in enumerate(OUTCOMES):
                counts[:, number] += (part.outcome == word).reshape(self.shape[0], -1).sum(axis=1)
        return counts

    def means(self, name: str) -> np.ndarray:
        """The mean of a functional, of each candidate.

        Arguments:
            name: of the functional.
        """
        sums = np.zeros(self.shape[0])
        for part in self.parts():
            sums += part[name].reshape(self.shape[0], -1).sum(axis=1, dtype=float)
        return sums / (self.shape[1] * self.shape[2])

    def _file(self, number: int) -> Path:
        return self.path / f"part-{number:06}.parquet"

    def _metadata(self, file: Path) -> dict[bytes, bytes]:
        import pyarrow.parquet  # pyright: ignore[reportMissingImports]

        return pyarrow.parquet.read_schema(file).metadata or {}

    def _read(self, file: Path, candidate: int | None) -> dict[str, np.ndarray]:
        """Outcomes and values in a file, of one candidate or of all of them, in the order of the rows."""
        import pyarrow.parquet  # pyright: ignore[reportMissingImports]

        columns = ["candidate", "outcome", *self.names]
        with pyarrow.parquet.ParquetFile(file) as opened:
            if candidate is None:
                table = opened.read(columns)
            else:
                rows = opened.metadata.num_rows // self.shape[0]
                group = candidate // _candidates_in_group(rows)
                table = opened.read_row_group(group, columns)
        found = {name: table[name].to_numpy() for name in columns}
        own = found.pop("candidate")
        return found if candidate is None else {name: each[own == candidate] for name, each in found.items()}

    def _joined(self, parts: Sequence[dict[str, np.ndarray]], shape: tuple[int, ...]) -> Performance:
        whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        if len(shape) == 1:
            shape = (-1, *shape)
        whole = {name: each.reshape(shape) for name, each in whole.items()}
        outcome, facts = np.asarray(OUTCOMES)[whole.pop("outcome")], self.facts
        about, until = dict(facts["about"]), tuple(facts["until_solved"])
        return Performance(whole, outcome, facts["horizon"], None, 0.0, facts["caps"], facts["units"], about, until)


def evaluate_on_disk(
    path: Path | str,
    algorithm: Algorithm | Stack,
    problem_class: ProblemClass,
    problems: Any,
    *,
    criterion: Criterion,
    horizon: int,
    key: Key[Array, ""],
    functionals: Sequence[Functional] = (StoppingTime(),),
    replicates: int = 1,
    width: int | None = None,
    devices: Sequence[Device] | None = None,
    executor: Any = None,
    progress: bool = False,
) -> Stored:
    """Run an algorithm on more problems than fit into memory, and write what is measured to a directory.

    The numbers are those of `loa.evaluate`. Problems are drawn and run part by part, and each part is a Parquet file
    that is written when it is done, so memory does not grow with the number of problems. The same call resumes.

    Arguments:
        path: a directory, which is made if it is not there. `pip install 'loa[tables]'` installs what writes the files.
        algorithm: one algorithm, or a stack of them (`loa.stack`).
        problem_class: the class of the problems.
        problems: `loa.problems.Drawn(key, 10**6)` for problems that are drawn when they are needed; or a stack of them.
        criterion, horizon, key, functionals, replicates, width, devices, executor: as for `loa.evaluate`.
        progress: whether to show a progress bar on a terminal, or elsewhere a line every few minutes.

    Returns:
        What is on disk.

    >>> import loa, tempfile
    >>> folder, problems = tempfile.mkdtemp(), loa.problems.Drawn(jax.random.key(0), 1000)
    >>> stored = evaluate_on_disk(folder, loa.GradientDescent(0.1), loa.problems.RunningExample(), problems,
    ...                           criterion=loa.gap_below(1e-6), horizon=500, key=jax.random.key(1))
    >>> stored.shape, stored.performance()["stopping_time"].shape, bool(stored.means("stopping_time") < 100)
    ((1, 1000, 1), (1000, 1), True)
    """
    require("pyarrow")
    path, drawn = as_path("path", path), isinstance(problems, Drawn)
    count = problems.number if isinstance(problems, Drawn) else count_problems(problems)
    check_type("problem_class", problem_class, ProblemClass, "an instance of a loa.ProblemClass")
    first = problems.some(problem_class, 0, 1) if isinstance(problems, Drawn) else _rows(problems, 0, 1)
    functionals, devices = check_arguments(
        algorithm, problem_class, first, criterion, horizon, key, functionals, replicates, width, devices
    )
    check_executor(executor)
    for functional in functionals:
        if not functional.is_number:
            raise ValueError(f"{functional.name} is not a number, so it cannot be a column of a table.")
    candidates = len(algorithm) if isinstance(algorithm, Stack) else 1
    per_part = max(1, min(count, TRAJECTORIES // (candidates * replicates), BYTES // max(1, _bytes(first))))
    options: dict[str, Any] = dict(
        criterion=criterion, horizon=int(horizon), key=key, functionals=functionals, replicates=int(replicates),
        width=width, devices=devices, executor=executor, checkpoints=None, progress=False,
    )  # fmt: skip

    def part(start: int, stop: int) -> Performance:
        lazy = isinstance(problems, Drawn)
        some = problems.some(problem_class, start, stop) if lazy else _rows(problems, start, stop)
        return evaluate_numbered(algorithm, problem_class, some, jnp.arange(start, stop, dtype=jnp.int32), **options)

    measured = [repr(each) for each in functionals]
    setting = (type(problem_class).__name__, problem_class, str(criterion), int(horizon), measured)
    which = (problems.key, problems.number) if isinstance(problems, Drawn) else problems
    trial = part(0, min(8, count))  # what it computes belongs to the identity: the text of a class may have changed
    identity = fingerprint(setting, algorithm, key, replicates, per_part, drawn, which, trial.values)
    shape = (candidates, count, int(replicates))
    facts = {
        "format": FORMAT, "identity": identity, "shape": shape, "part": per_part, "horizon": int(horizon),
        "caps": {name: float(cap) for name, cap in trial.caps.items()}, "units": trial.units, "about": trial.about,
        "until_solved": trial.until_solved,
        "weights": None if not isinstance(algorithm, Stack) else np.asarray(algorithm.weights).tolist(),
    }  # fmt: skip
    stored = Stored(path, shape, decoded(json.loads(json.dumps(encoded(facts)))))
    _begin(path, stored.facts)
    with counted(progress, "trajectories", [int(np.prod(shape))]) as report:
        for number, (start, stop) in enumerate(_parts(count, per_part)):
            if not stored.files[number].exists():
                _write(stored.files[number], part(start, stop), start, candidates)
            report(0, stop * candidates * int(replicates))
    return stored


def _begin(path: Path, facts: dict[str, Any]) -> None:
    """Make the directory, or refuse one that holds another evaluation."""
    path.mkdir(parents=True, exist_ok=True)
    before = _facts(path)
    if before is not None and before["identity"] != facts["identity"]:
        raise ValueError(f"{path} holds another evaluation: choose another directory, or remove it.")
    if before is None:
        if next(path.glob("part-*.parquet"), None) is not None:
            raise ValueError(f"{path} holds Parquet files of something else: choose another directory.")
        write_json(path / ABOUT, encoded(facts))


def _facts(path: Path) -> dict[str, Any] | None:
    try:
        facts = decoded(json.loads((path / ABOUT).read_text()))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ValueError(f"{path / ABOUT} is damaged: remove the directory.") from error
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        found = facts.get("format") if isinstance(facts, dict) else facts
        raise ValueError(f"{path} has the format {shown(found)}, but this version of loa reads {FORMAT}.")
    return facts


def _write(file: Path, performance: Performance, start: int, candidates: int) -> None:
    """One row for each trajectory, sorted by candidate, problem and replicate."""
    import pyarrow  # pyright: ignore[reportMissingImports]
    import pyarrow.parquet  # pyright: ignore[reportMissingImports]

    outcome = performance.outcome.reshape(candidates, *performance.outcome.shape[-2:])
    candidate, problem, replicate = np.indices(outcome.shape, np.int32)
    words = np.select([outcome == word for word in OUTCOMES], range(len(OUTCOMES))).astype(np.int8)
    columns = {"candidate": candidate, "problem": problem + np.int32(start), "replicate": replicate, "outcome": words}
    columns |= performance.values
    table = pyarrow.table({name: np.asarray(each).ravel() for name, each in columns.items()})
    noted = {"seconds": str(performance.seconds), "outcomes": ", ".join(OUTCOMES)}
    rows = outcome[0].size
    size = rows * _candidates_in_group(rows)
    table = table.replace_schema_metadata(noted)
    few, counting = [name for name in columns if name != "problem"], {"problem": "DELTA_BINARY_PACKED"}

    def write(place: Path) -> None:
        options = {"compression": "zstd", "use_dictionary": few, "column_encoding": counting}
        pyarrow.parquet.write_table(table, place, row_group_size=size, **options)

    write_whole(file, write)


def _candidates_in_group(rows: int) -> int:
    """How many candidates are read together, where each has this many rows in a file."""
    return max(1, GROUP // rows)


def _parts(count: int, size: int) -> list[tuple[int, int]]:
    return [(start, min(start + size, count)) for start in range(0, count, size)]


def _rows(problems: Any, start: int, stop: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[start:stop], problems)


def _bytes(problem: Any) -> int:
    return sum(int(np.prod(np.shape(leaf))) * np.asarray(leaf).dtype.itemsize for leaf in jax.tree.leaves(problem))
