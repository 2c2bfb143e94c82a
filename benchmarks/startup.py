"""Seconds to `import loa` (all of it) and to `loa --help`, best of five fresh processes."""

import subprocess
import sys
import time

from timing import show


def seconds(*command: str) -> float:
    timings = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        timings.append(time.perf_counter() - started)
    return min(timings)


def main() -> None:
    numbers = {
        "import_loa": seconds("-c", "import loa"),
        "import_loa_and_use_it": seconds("-c", "import loa; loa.evaluate, loa.measures, loa.problems"),
        "loa_help": seconds("-m", "loa", "--help"),
        "targets": {"import_loa": 1.5, "loa_help": 0.5},
    }
    show("startup", numbers)


if __name__ == "__main__":
    main()
