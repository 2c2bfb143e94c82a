"""Try all faults or one of them, note what came of it, and write docs/reliability.md.

python -m benchmarks.faults                            # full size, hours
python -m benchmarks.faults --small                    # a size that fits into minutes
python -m benchmarks.faults --only "killed runs"       # one of the faults
python -m benchmarks.faults --only lapack              # those whose names begin with this
python -m benchmarks.faults --resume                   # leave out what was tried before at this size
"""

from __future__ import annotations

import argparse
import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax

from . import bad_input, damaged_runs, files, killed_runs, lapack, records
from .bad_input.rows import verdict
from .counts import Count


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


def damage(wrong_values: int) -> Count:
    """Damaged and tampered files of a finished run."""
    folder = Path(tempfile.mkdtemp())
    run = killed_runs.undisturbed(folder)
    kinds = list(damaged_runs.damages(run, wrong_values))
    lost = [f"{kind.name}: {wrong}" for kind in kinds if (wrong := damaged_runs.verdict(kind, run, folder / "damaged"))]
    return Count(
        "file of a run lost, cut, replaced or edited",
        "`loa report` answers in one sentence or with a report, never with a traceback",
        len(kinds),
        tuple(lost),
    )


def faults(size: Size, generator: random.Random) -> dict[str, Callable[[], list[Count]]]:
    """All kinds of faults by name, one after the other."""
    linear = {
        lapack.name(of, devices): lambda of=of, devices=devices: [lapack.side_by_side(size.lapack, [(of, devices)])]
        for of, devices in lapack.ROWS
    }
    return {
        "kills in writes": lambda: [files.kills_in_writes(size.kills_in_writes, generator)],
        "full disks": lambda: [files.full_disks(size.full_disks, generator)],
        "flipped bits": lambda: list(files.flipped_bits(size.bits, generator)),
        "bad arguments": lambda: [bad_arguments()],
        "killed runs": lambda: [killed_runs.killed_runs(size.kills_of_runs, generator, Path(tempfile.mkdtemp()))],
        "damaged runs": lambda: [damage(size.wrong_values)],
        **linear,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--small", action="store_true", help="try each fault less often")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments, bytes and bits")
    parser.add_argument("--only", default="", help="how the names of the faults to try begin; all by default")
    parser.add_argument("--resume", action="store_true", help="leave out what was tried before at this size")
    options = parser.parse_args()
    kind = "small" if options.small else "full"
    done = {name for name, record in records.read().items() if options.resume and record["size"] == kind}
    jax.config.update("jax_enable_x64", True)
    size, any_lost = SMALL if options.small else FULL, False
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    for name, trial in faults(size, random.Random(options.seed)).items():
        if name.startswith(options.only) and name not in done:
            began, counts = time.monotonic(), trial()
            minutes = (time.monotonic() - began) / 60
            records.note(name, counts, size=kind, seed=options.seed, minutes=round(minutes, 2), loa=commit)
            for count in counts:
                print(f"{name}: {count.fault}: {count.survived} of {count.tried} survived", flush=True)
                any_lost = any_lost or bool(count.lost)
                for line in count.lost:
                    print(f"lost: {count.fault}: {line}", flush=True)
            records.PAGE.write_text(records.page(records.read(), tuple(lapack.LOSSES)))
    raise SystemExit(any_lost)


if __name__ == "__main__":
    main()
