"""Try all faults, print the table, and write it to docs/reliability.md.

python -m benchmarks.faults            # full size
python -m benchmarks.faults --small    # a size that fits into minutes
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jax

from . import bad_input, damaged_runs, files, killed_runs, lapack
from .bad_input.rows import verdict
from .counts import Count, table

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"


class Size(NamedTuple):
    """How often each kind of fault is tried."""

    kills_of_runs: int
    kills_in_writes: int
    full_disks: int
    bits: int
    wrong_values: int
    lapack: int


FULL, SMALL = Size(100, 2000, 1000, 2000, 1000, 50), Size(2, 100, 60, 200, 20, 1)


def bad_arguments() -> Count:
    """The table of bad arguments."""
    rows = bad_input.rows()
    lost = [f"{row.name}: {wrong}" for row in rows if (wrong := verdict(row))]
    return Count("bad argument of a public function", "one sentence of loa's own", len(rows), tuple(lost))


def damage(run: Path, copy: Path, wrong_values: int) -> Count:
    """Damaged and tampered files of a finished run."""
    kinds = list(damaged_runs.damages(run, wrong_values))
    lost = [f"{kind.name}: {wrong}" for kind in kinds if (wrong := damaged_runs.verdict(kind, run, copy))]
    return Count(
        "file of a run lost, cut, replaced or edited",
        "`loa report` answers in one sentence or with a report, never with a traceback",
        len(kinds),
        tuple(lost),
    )


def all_faults(size: Size, seed: int) -> Iterator[Count]:
    """All kinds of faults, one after the other."""
    generator, folder = random.Random(seed), Path(tempfile.mkdtemp())
    yield files.kills_in_writes(size.kills_in_writes, generator)
    yield files.full_disks(size.full_disks, generator)
    yield from files.flipped_bits(size.bits, generator)
    yield bad_arguments()
    yield killed_runs.killed_runs(size.kills_of_runs, generator, folder)
    yield damage(folder / "undisturbed", folder / "damaged", size.wrong_values)
    yield lapack.side_by_side(size.lapack)


def page(counts: list[Count], size: Size, seed: int, seconds: float) -> str:
    """The page on reliability."""
    kind = "full" if size == FULL else "small"
    return f"""# Reliability

What loa does when something goes wrong: processes are killed, disks are full, bits flip, files are edited, arguments
make no sense. Each fault is tried many times. It counts as survived as the second column of
the table says.

{table(counts)}

Made by `python -m benchmarks.faults{"" if size == FULL else " --small"}`, at the {kind} size with seed {seed}, in
{seconds / 60:.0f} minutes on {os.cpu_count()} cores. The table of bad arguments is in
`benchmarks/faults/bad_input`; tests go through it, and through the other faults at a small size.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--small", action="store_true", help="try each fault less often")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments, bytes and bits")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    size, began = SMALL if options.small else FULL, time.monotonic()
    counts = []
    for count in all_faults(size, options.seed):
        counts.append(count)
        print(f"{count.fault}: {count.survived} of {count.tried} survived", flush=True)
        for line in count.lost:
            print(f"lost: {count.fault}: {line}", flush=True)
    text = page(counts, size, options.seed, time.monotonic() - began)
    print(text)
    PAGE.write_text(text)
    raise SystemExit(any(count.lost for count in counts))


if __name__ == "__main__":
    main()
