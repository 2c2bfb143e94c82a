"""How long a newcomer waits: seconds until loa is imported, until the README's example has printed, and for a run.

    python benchmarks/startup.py

Every time is that of a fresh process, with a cache of programs that is empty in the beginning. "Known" means that a
process before has kept the programs. `loa run lasso` is run twice; the second run says how long it still compiles.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import show

README = Path(__file__).parent.parent / "README.md"
KNOWN = """
import loa
loa.keep_programs()
import jax
problem_class = loa.problems.Lasso()
problems = problem_class.draw(jax.random.key(0), 250)
result = loa.evaluate(loa.FISTA(), problem_class, problems, criterion=loa.prox_residual_below(1e-3), horizon=600,
                      key=jax.random.key(1))
print(loa.measures.summary(result["stopping_time"]))
"""
COMPILING = """
import jax, sys
spent = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **_: spent.append(seconds) if event.endswith("backend_compile_duration") else None)
from loa.cli import app
try:
    app(sys.argv[1:])
finally:
    print("compiled for", sum(spent), "s")
"""


def run(*command: str, cache: str) -> tuple[float, str]:
    """Seconds of a process, and what it printed."""
    without = {name: value for name, value in os.environ.items() if not name.startswith("JAX_COMPILATION_CACHE")}
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command], check=True, capture_output=True, text=True, env={**without, "LOA_CACHE": cache}
    )
    return time.perf_counter() - started, done.stdout


def best(repeats: int, *command: str, cache: str) -> float:
    return min(run(*command, cache=cache)[0] for _ in range(repeats))


def readme_example() -> str:
    """The first code block of the README."""
    found = re.search(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert found is not None
    return found[1]


def whole_run(directory: Path, cache: str) -> dict[str, float]:
    """Seconds of `loa run lasso`, and how many of them XLA compiled or loaded programs."""
    seconds, said = run("-c", COMPILING, "run", "lasso", "--out", str(directory), cache=cache)
    return {"seconds": seconds, "compiling": float(said.rsplit("compiled for", 1)[1].split()[0])}


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        cache = str(root / "cache")
        numbers = {
            "import_loa": best(5, "-c", "import loa", cache=cache),
            "import_loa_and_use_it": best(5, "-c", "import loa; loa.evaluate, loa.measures, loa.problems", cache=cache),
            "loa_help": best(5, "-m", "loa", "--help", cache=cache),
            "readme_example": best(3, "-c", readme_example(), cache=cache),
            "unknown_evaluation": run("-c", KNOWN, cache=cache)[0],
            "known_evaluation": best(3, "-c", KNOWN, cache=cache),
            "lasso_first": whole_run(root / "first", cache),
            "lasso_second": whole_run(root / "second", cache),
        }
    targets = {"import_loa": 1.5, "loa_help": 0.5, "readme_example": 4, "known_evaluation": 2.5}
    show("startup", {**numbers, "targets": {**targets, "lasso_first": 60, "lasso_second": 35, "compiling": 5}})


if __name__ == "__main__":
    main()
