"""Damage to the files of a finished run, and what `loa report` says of it: one sentence, or a report all the same."""

from __future__ import annotations

import json
import random
import shutil
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from loa import cli

LONGEST = 500
"""The largest number of characters of a sentence, which contains a path."""

FILES = ("summary.json", "certificates.json", "performance.nc")
CONTENTS = {
    "empty": b"",
    "text": b"hello",
    "list": b"[]",
    "number": b"3",
    "null": b"null",
    "no fields": b"{}",
    "nan": b"NaN",
    "deep": b"[" * 100_000,
    "not text": bytes(range(128, 256)),
    "zeros": bytes(1000),
}
WRONG = (None, "text", -1, 1e308, float("nan"), True, [], {}, [None], {"a": None})


class Damage(NamedTuple):
    """What is done to the directory of a run, and whether a report may still be written."""

    name: str
    do: Callable[[Path], Any]
    harmless: bool = False


def verdict(damage: Damage, run: Path, copy: Path) -> str:
    """What is wrong with what `loa report` does with a damaged copy of a run; empty if nothing is."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(run, copy)
    damage.do(copy)
    done = CliRunner().invoke(cli.app, ["report", str(copy)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        where = traceback.extract_tb(done.exception.__traceback__)[-1]
        return f"{type(done.exception).__name__} in {where.filename}:{where.lineno}: {str(done.exception)[:200]}"
    if done.exit_code == 0:
        return "" if damage.harmless else "a report was written"
    lines = done.stderr.strip().splitlines()
    if len(lines) != 1 or not lines[0].startswith("loa: ") or len(lines[0]) > LONGEST:
        return f"not one sentence: {done.stderr[:300]}"
    return ""


def damages(run: Path, wrong_values: int, seed: int = 0) -> Iterator[Damage]:
    """Whole files that are lost or replaced, and some of the values in them, chosen at random."""
    yield Damage("no directory", shutil.rmtree)
    for name in FILES:
        yield Damage(f"{name} is missing", lambda copy, n=name: (copy / n).unlink())
        yield Damage(f"{name} is a directory", lambda copy, n=name: ((copy / n).unlink(), (copy / n).mkdir()))
        yield Damage(f"{name} is cut", lambda copy, n=name: _cut(copy / n))
        yield Damage(
            f"{name} is another file", lambda copy, n=name: shutil.copy(copy / FILES[FILES.index(n) - 1], copy / n)
        )
        for kind, content in CONTENTS.items():
            yield Damage(f"{name} is {kind}", lambda copy, n=name, c=content: (copy / n).write_bytes(c))
    yield from _other_variables()
    generator = random.Random(seed)
    contents = {name: json.loads((run / name).read_text()) for name in FILES[:2]}
    places = [(name, place) for name, content in contents.items() for place in _places(content)]
    for _ in range(wrong_values):
        name, place = generator.choice(places)
        value = generator.choice((*WRONG, _Missing))
        shown = "missing" if value is _Missing else repr(value)
        yield Damage(
            f"{name}: {'.'.join(map(str, place))} is {shown}",
            lambda copy, n=name, p=place, v=value: _change(copy / n, p, v),
            harmless=value == _at(contents[name], place) or (name == "certificates.json" and value is _Missing),
        )


class _Missing:
    """Stands for a value that is removed."""


def _other_variables() -> Iterator[Damage]:
    import xarray

    def changed(change: Callable[[xarray.Dataset], xarray.Dataset]) -> Callable[[Path], Any]:
        def do(copy: Path) -> None:
            with xarray.open_dataset(copy / "performance.nc", engine="scipy") as data:
                new = change(data.load())
            new.to_netcdf(copy / "performance.nc", engine="scipy")

        return do

    yield Damage("performance.nc without the gap", changed(lambda data: data.drop_vars("gap")))
    yield Damage("performance.nc without algorithms", changed(lambda data: data.drop_vars("algorithm")))
    yield Damage("performance.nc without problems", changed(lambda data: data.isel(problem=slice(0))))
    yield Damage("performance.nc of one algorithm", changed(lambda data: data.isel(algorithm=[0])))
    yield Damage("performance.nc with texts", changed(lambda data: data.assign(stopping_time=data["outcome"])))
    yield Damage(
        "performance.nc with NaN", changed(lambda data: data.assign(gap=data["gap"] * float("nan"))), harmless=True
    )
    yield Damage(
        "performance.nc transposed",
        changed(lambda data: data.assign(stopping_time=data["stopping_time"].mean("replicate"))),
    )


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything inside of a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield (*place, key)
        yield from _places(part, (*place, key))


def _at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def _change(path: Path, place: tuple[Any, ...], value: Any) -> None:
    content = json.loads(path.read_text())
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    if value is _Missing:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    path.write_text(json.dumps(content))
