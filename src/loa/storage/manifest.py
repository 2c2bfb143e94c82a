"""The manifest of a directory: the names of what loa wrote there. Everything else belongs to others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from .files import write_json

MANIFEST = ".loa-run.json"


class ForeignFileError(ValueError):
    """A file that loa would have to replace was not written by loa."""


class Manifest:
    """The names of the files and folders in a directory that loa wrote, kept in a hidden file there.

    Names are announced before anything is written under them, so that a killed process leaves nothing unnamed.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> manifest = Manifest(folder)
    >>> manifest.announce(["report.html"])
    >>> _ = (folder / "report.html").write_text("ours")
    >>> _ = (folder / "notes.txt").write_text("theirs")
    >>> Manifest(folder).remove(manifest.names)
    >>> sorted(path.name for path in folder.iterdir())
    ['.loa-run.json', 'notes.txt']
    """

    def __init__(self, directory: Path):
        self.directory = directory

    @property
    def names(self) -> set[str]:
        """What loa has announced here; nothing if there is no manifest or it is damaged."""
        try:
            files = list(json.loads(self._path.read_text())["files"])
        except (OSError, ValueError, TypeError, KeyError):
            return set()
        return {name for name in files if isinstance(name, str) and Path(name).name == name and name != ".."}

    def check(self, names: Iterable[str]) -> None:
        """Refuse if something with one of these names is there that loa did not write."""
        known = self.names
        foreign = [
            self.directory / name for name in sorted(names) if name not in known and _exists(self.directory / name)
        ]
        if foreign:
            listed, were = " and ".join(map(str, foreign)), "was" if len(foreign) == 1 else "were"
            raise ForeignFileError(
                f"{listed} {were} not written by loa, which would have to replace it: move it away, or choose another "
                "directory."
            )

    def announce(self, names: Iterable[str]) -> None:
        """Add names of what will be written here, unless something of others has one of them."""
        names = set(names)
        self.check(names)
        if not names <= self.names or not self._path.exists():
            self._write(self.names | names)

    def remove(self, names: Iterable[str]) -> None:
        """Remove what loa wrote under these names, and then the names. Other files are left alone."""
        names = set(names) & self.names
        for name in names:
            path = self.directory / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        self.forget(names)

    def forget(self, names: Iterable[str]) -> None:
        """Remove names of what was not written after all."""
        names = set(names)
        if names & self.names:
            self._write(self.names - names)

    @property
    def _path(self) -> Path:
        return self.directory / MANIFEST

    def _write(self, names: set[str]) -> None:
        write_json(self._path, {"files": sorted(names)})


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()
