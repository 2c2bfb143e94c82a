"""How the benchmarks measure: the best of several runs, side by side in one process; results as JSON."""

import json
import os
import platform
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def best_seconds(run: Callable[[], Any], repeats: int = 5) -> float:
    """The shortest of several timings, after one run that compiles."""
    jax.block_until_ready(run())
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        jax.block_until_ready(run())
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def matrix_product_rate(size: int = 2000) -> float:
    """Floating-point operations per second in a float64 matrix product, by XLA or NumPy, whichever is faster."""
    matrix = np.random.default_rng(0).normal(size=(size, size))
    on_device, product = jax.numpy.asarray(matrix), jax.jit(lambda a: a @ a)
    seconds = min(best_seconds(lambda: product(on_device)), best_seconds(lambda: matrix @ matrix))
    return 2 * size**3 / seconds


def show(name: str, numbers: dict[str, Any]) -> None:
    """Print the result of a benchmark as JSON."""
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "jax": jax.__version__}
    print(json.dumps({"benchmark": name, **numbers, "machine": machine}, indent=2))
