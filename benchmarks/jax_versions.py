"""Which versions of JAX and Python loa works with: installs each in an environment of its own and tests it there.

    python benchmarks/jax_versions.py                    oldest and newest allowed, on this Python
    python benchmarks/jax_versions.py 0.8.0 0.9.2 --python python3.13
    python benchmarks/jax_versions.py 0.8.0 --check      fails if something does, and writes nothing

For each version, `tests/test_jax.py` and `tests/test_core_only.py` are run, and the self-test of `loa doctor`. The
results are added to `benchmarks/results/jax_versions.json`, and docs/versions.md is written from all of them.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "benchmarks" / "results" / "jax_versions.json"
PAGE = ROOT / "docs" / "versions.md"
OLDEST, NEWEST = "0.8.0", "0.10.1"
TESTS = ("tests/test_jax.py", "tests/test_core_only.py")

START = """# Versions of JAX and Python

This page is written by `benchmarks/jax_versions.py`, which installs each version of JAX in an environment of its own
and runs there `tests/test_jax.py` (everything that loa relies on and that would fail silently),
`tests/test_core_only.py`, and the self-test of `loa doctor`. The whole suite runs in CI with the newest version that is
allowed.

| JAX | Python | tests | self-test | tried |
|---|---|---|---|---|
"""

END = """
`pip` installs what `jax>=0.8,!=0.10.2,<0.11` allows; versions that are not in the table were not tried.
Version 0.10.2 computes wrong results on CPUs
([jax-ml/jax#39103](https://github.com/jax-ml/jax/issues/39103)); loa warns if it finds it. Run the script with a
newer version before raising the upper end.
"""


def attempt(version: str, python: str) -> dict[str, Any]:
    """Install a version of JAX beside loa and test it."""
    with tempfile.TemporaryDirectory() as directory:
        interpreter = Path(directory) / "bin" / "python"
        subprocess.run([python, "-m", "venv", directory], check=True)
        packages = ["pytest", "pytest-xdist", "beartype", f"jax=={version}", f"jaxlib=={version}", f"{ROOT}"]
        subprocess.run([interpreter, "-m", "pip", "install", "--quiet", *packages], check=True)
        own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        tests = [interpreter, "-m", "pytest", "-n0", "-p", "no:cacheprovider", *TESTS]
        tested = subprocess.run(tests, cwd=ROOT, env=own, capture_output=True, text=True, check=False)
        doctor = [interpreter, "-m", "loa", "doctor"]
        examined = subprocess.run(doctor, cwd=directory, env=own, capture_output=True, text=True, check=False)
        said = subprocess.run([interpreter, "--version"], capture_output=True, text=True, check=True).stdout
    print(tested.stdout[-3000:], tested.stderr[-1000:], examined.stdout, sep="\n", flush=True)
    return {
        "jax": version,
        "python": said.split()[1],
        "tests": "passed" if tested.returncode == 0 else "failed",
        "self_test": "passed" if examined.returncode == 0 else "failed",
        "tried": datetime.date.today().isoformat(),
    }


def key(entry: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Versions as numbers, for their order."""
    return [int(part) for part in entry["jax"].split(".")], [int(part) for part in entry["python"].split(".")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", default=[OLDEST, NEWEST])
    parser.add_argument("--python", default="python3")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    record = json.loads(RECORD.read_text()) if RECORD.exists() else []
    for version in arguments.versions:
        entry = attempt(version, arguments.python)
        if arguments.check and "failed" in (entry["tests"], entry["self_test"]):
            raise SystemExit(f"loa does not work with JAX {version}.")
        record = [each for each in record if key(each) != key(entry)] + [entry]
        if arguments.check:
            continue
        RECORD.write_text(json.dumps(sorted(record, key=key), indent=2) + "\n")
    if not arguments.check:
        write_page(record)


def write_page(record: list[dict[str, Any]]) -> None:
    """Write docs/versions.md."""
    rows = [
        f"| {each['jax']} | {each['python']} | {each['tests']} | {each['self_test']} | {each['tried']} |\n"
        for each in sorted(record, key=key)
    ]
    PAGE.write_text(START + "".join(rows) + END)


if __name__ == "__main__":
    main()
