"""What was tried so far, fault by fault, and the page on reliability that is made from it."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loa.storage.files import write_whole

from . import lapack
from .counts import Count, table

RECORDS = Path(__file__).parents[1] / "results" / "faults.json"
PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"


def read(path: Path = RECORDS) -> dict[str, dict[str, Any]]:
    """The records by name; none if nothing was tried."""
    return json.loads(path.read_text()) if path.exists() else {}


def note(name: str, counts: list[Count], path: Path = RECORDS, **circumstances: Any) -> None:
    """Write down what came of a fault, in the place of what was known of it before."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # several faults may be tried simultaneously
        records = read(path) | {name: {"counts": [count._asdict() for count in counts], **circumstances}}
        write_whole(path, lambda temporary: temporary.write_text(json.dumps(records, indent=1) + "\n"))
    finally:
        os.close(folder)


def counts_of(record: Mapping[str, Any]) -> list[Count]:
    """The counts in a record."""
    return [Count(**{**each, "lost": tuple(each["lost"])}) for each in record["counts"]]


def together(counts: list[Count]) -> Count:
    """Counts of one kind of fault, added up."""
    lost = tuple(line for count in counts for line in count.lost)
    return Count(counts[0].fault, counts[0].survival, sum(count.tried for count in counts), lost)


def page(records: Mapping[str, Mapping[str, Any]], losses: tuple[str, ...]) -> str:
    """The page on reliability, from the records of all faults; losses are those that there are rows of LAPACK for."""
    rows = {name: counts_of(record) for name, record in records.items()}
    linear = {name: counts for name, counts in rows.items() if name.startswith("lapack")}
    counts = [count for name, some in rows.items() if name not in linear for count in some]
    counts += [together([count for some in linear.values() for count in some])] if linear else []
    return f"""# Reliability

This page shows what loa does when something goes wrong: processes are killed, disks are full, bits flip, files are
edited, arguments make no sense. Each fault is tried many times. The second column of the table says what counts as
survived.

{table(counts)}

`python -m benchmarks.faults` tries all of them at full size, `--small` at a size that fits into minutes, and
`--only NAME` one of them. Each writes its results to `benchmarks/results/faults.json`, from which this page is
made. The table of bad arguments is in `benchmarks/faults/bad_input`. The test suite tries all of them, and the other
faults at a small size.

Each fault was last tried with:

{_circumstances(records)}

Losses that call LAPACK used to deadlock, because several threads of jaxlib waited for each other. Each of these losses
goes through every stage in a process of its own, on a machine whose cores are all busy:

{_linear_algebra(linear, losses)}
"""


def _circumstances(records: Mapping[str, Mapping[str, Any]]) -> str:
    lines = ["| fault | size | seed | minutes | loa |", "|---|---|--:|--:|---|"]
    for name, record in records.items():
        if not name.startswith("lapack"):
            lines.append(
                f"| {name} | {record['size']} | {record['seed']} | {record['minutes']:.1f} | {record['loa']} |"
            )
    return "\n".join(lines)


def _linear_algebra(rows: Mapping[str, list[Count]], losses: tuple[str, ...]) -> str:
    def cell(of: str, devices: int) -> str:
        counts = rows.get(lapack.name(of, devices))
        return f"{together(counts).survived} of {together(counts).tried}" if counts else "not tried"

    lines = ["| loss | survived repetitions, one device | two devices |", "|---|--:|--:|"]
    return "\n".join([*lines, *(f"| {of} | {cell(of, 1)} | {cell(of, 2)} |" for of in losses)])
