"""A ledger: a file to which lines are only ever added, and in which a change is noticed.

Every line is JSON with a time, an event, its content, and a hash of all this and of the line before. So no line can be
edited, removed or inserted without breaking the chain, except for lines at the end.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

FILE = "ledger.jsonl"


class EditedLedgerError(ValueError):
    """The chain of hashes is broken."""


class Entry(NamedTuple):
    """A line of the ledger."""

    event: str
    content: Mapping[str, Any]
    time: str
    hash: str


class Ledger:
    """What was planned, drawn and found in a directory, in the order in which it happened.

    >>> import tempfile
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / FILE)
    >>> ledger.append("plan", fingerprint="4f2a")
    >>> [(entry.event, entry.content["fingerprint"]) for entry in ledger.entries()]
    [('plan', '4f2a')]
    """

    def __init__(self, path: Path):
        self.path = path

    def append(self, event: str, **content: Any) -> None:
        """Add a line; it is on disk when this returns."""
        entries = self.entries()
        line = {
            "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "event": event,
            **content,
        }
        line = json.loads(json.dumps(line))
        text = json.dumps({**line, "hash": _hash(line, entries[-1].hash if entries else "")})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())

    def entries(self) -> list[Entry]:
        """All lines, refused if one of them was changed. A line that a killed process left unfinished is not there."""
        return list(self._read())

    def _read(self) -> Iterator[Entry]:
        if not self.path.exists():
            return
        before, lines = "", self.path.read_text(encoding="utf-8").splitlines(keepends=True)
        for number, text in enumerate(lines, start=1):
            if number == len(lines) and not text.endswith("\n"):
                self.path.write_text("".join(lines[:-1]), encoding="utf-8")
                return
            try:
                line = json.loads(text)
                noted, event, time = line.pop("hash"), line["event"], line["time"]
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise self._edited(number) from error
            if noted != _hash(line, before):
                raise self._edited(number)
            before = noted
            content = {name: value for name, value in line.items() if name not in ("event", "time")}
            yield Entry(event, content, time, noted)

    def _edited(self, number: int) -> EditedLedgerError:
        return EditedLedgerError(
            f"line {number} of {self.path} was changed or removed, so the ledger no longer says what was seen: "
            "restore the file, or choose another directory."
        )


def _hash(line: Mapping[str, Any], before: str) -> str:
    return hashlib.sha256((before + json.dumps(line, sort_keys=True)).encode()).hexdigest()[:32]
