"""Whole runs that are killed at random moments, in every stage, and resumed until they are done."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .counts import Count

OWN_FILE = """
import jax, jax.numpy as jnp
import loa

class Bowls(loa.ProblemClass):
    def sample(self, key):
        return jax.random.uniform(key, (3,), minval=0.5, maxval=2.0)

    def loss(self, x, problem):
        return 0.5 * jnp.sum(problem * x**2)

    def start(self, problem, key):
        return jnp.ones(3)

    def optimal_loss(self, problem):
        return 0.0

criterion = loa.loss_below(1e-6)
horizon = 50
baselines = {"gradient descent": loa.GradientDescent(0.5)}
sizes = {"prior": 20, "posterior": 40, "validation": 20, "held-out": 40, "test": 20}

def learn(setup):
    return loa.GradientDescent(0.7)
"""
"""The smallest experiment of a user's own."""

DIFFERENT = ("seconds", "milliseconds", "provenance", "checksum")
"""What differs from one run to the next."""


def command(file: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "loa", "run", str(file), "--out", str(out), *more]


def undisturbed(folder: Path) -> Path:
    """The directory of a run that nothing happened to."""
    file = folder / "own.py"
    file.write_text(OWN_FILE)
    subprocess.run(command(file, folder / "undisturbed"), check=True, capture_output=True)
    return folder / "undisturbed"


def killed_runs(kills: int, generator: random.Random, folder: Path) -> Count:
    """Kill one run after the other, resume each until the kills are used up, and compare with an undisturbed run."""
    began = time.monotonic()
    right, file = _numbers(undisturbed(folder)), folder / "own.py"
    seconds = time.monotonic() - began
    lost, done, number = [], 0, 0
    while done < kills:
        out, more, number = folder / f"run-{number}", (), number + 1
        for _ in range(generator.randint(1, 4)):
            if _finished(command(file, out, *more), generator.uniform(0, seconds)):
                break
            done, more = done + 1, ("--resume",) if (out / "order.json").exists() or out.exists() else ()
        last = subprocess.run(command(file, out, *more), capture_output=True, text=True)
        if (out / "summary.json").exists() and _numbers(out) != right:
            lost.append(f"run {number}: other numbers")
        elif not (out / "summary.json").exists():
            lost.append(f"run {number}: {last.stderr.strip()[-200:]}")
    return Count("SIGKILL at a random moment of `loa run`", "resumes to identical numbers", done, tuple(lost))


def _finished(words: list[str], seconds: float) -> bool:
    """Start a command and kill it after some seconds; whether it had ended before."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return False
    return True


def _numbers(out: Path) -> Any:
    def without_time(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: without_time(each) for name, each in value.items() if name not in DIFFERENT}
        return [without_time(each) for each in value] if isinstance(value, list) else value

    return without_time(json.loads((out / "summary.json").read_text()))
