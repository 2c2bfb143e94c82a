"""How long stages take, added up over all the processes that worked on them."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..storage.files import write_json


class Durations:
    """Seconds by stage, kept in a file, so that those of an interrupted stage are not lost.

    A process that is killed cannot note how long it has worked. The time of its last file shows it, up to work that was
    lost.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "seconds.json"
    >>> with Durations(path, list).measured("tuning"):
    ...     time.sleep(0.01)
    >>> again = Durations(path, list)
    >>> again.read()
    >>> again.finished["tuning"] > 0.01
    True
    """

    def __init__(self, path: Path, evidence: Callable[[], Iterable[Path]]):
        """`evidence` gives the files that show by their times how long a process has worked."""
        self.path = path
        self.evidence = evidence
        self.finished: dict[str, float] = {}
        self._unfinished: dict[str, float] = {}

    def read(self) -> None:
        """Read what earlier processes have left; a damaged file counts as none."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            content = json.loads(self.path.read_text())
            self.finished, self._unfinished = dict(content["finished"]), dict(content["unfinished"])
            if content["running"] is not None:
                stage, since = content["running"]
                worked = max(0.0, max(map(_written, self.evidence()), default=since) - since)
                self._unfinished[stage] = self._unfinished.get(stage, 0.0) + worked

    @contextlib.contextmanager
    def measured(self, stage: str) -> Iterator[None]:
        """Add the duration of the block to the seconds of a stage, which is finished if no exception comes."""
        before = self._unfinished.pop(stage, 0.0) + self.finished.pop(stage, 0.0)
        self._unfinished[stage], started = before, time.perf_counter()
        self._write((stage, time.time()))
        try:
            yield
        except BaseException:
            self._unfinished[stage] = before + time.perf_counter() - started
            with contextlib.suppress(OSError):
                self._write(None)
            raise
        del self._unfinished[stage]
        self.finished[stage] = before + time.perf_counter() - started
        self._write(None)

    def _write(self, running: tuple[str, float] | None) -> None:
        write_json(self.path, {"finished": self.finished, "unfinished": self._unfinished, "running": running})


def _written(path: Path) -> float:
    """When a file was last written; long ago if it is gone."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
