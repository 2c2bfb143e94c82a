"""Without any extra: the core works, and whatever needs more says which extra brings it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from loa.messages.extras import EXTRAS

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DISTRIBUTIONS = {"PIL": "pillow", "skimage": "scikit-image", "sklearn": "scikit-learn"}

WITHOUT_EXTRAS = f"import sys; sys.modules.update(dict.fromkeys({[*EXTRAS, 'pandas']!r}))\n"
"""A module that is None in `sys.modules` cannot be imported."""

CORE = """
import jax, jax.numpy as jnp, loa
parabolas = loa.FromFunctions(jax.random.uniform, lambda x, slope: (1 + slope) * x**2, start=jnp.ones(()))
problems = parabolas.draw(jax.random.key(0), 30)
setting = dict(criterion=loa.loss_below(1e-3), horizon=50, key=jax.random.key(1))
performance = loa.evaluate(loa.GradientDescent(0.1), parabolas, problems, **setting)
print(loa.certify(performance, "stopping_time", confidence=0.95))
print(loa.solve(loa.GradientDescent(0.1), parabolas, problems, **setting).outcome[0])
try:
    performance.to_xarray()
except ModuleNotFoundError as error:
    print(error)
"""


def run(script, *arguments):
    command = [sys.executable, "-c", WITHOUT_EXTRAS + script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))


def test_evaluate_certify_and_solve_need_no_extra():
    done = run(CORE)
    assert done.returncode == 0, done.stderr
    certificate, outcome, refusal = done.stdout.splitlines()
    assert certificate.startswith("With 95% confidence")
    assert outcome == "solved"
    assert refusal == "this needs xarray, which is not installed: pip install 'loa[run]'."


def test_every_public_name_and_experiment_can_be_had_without_extras():
    script = """
import loa
for name in loa.__all__:
    getattr(loa, name)
for name in loa.experiments.DESCRIPTIONS:
    if name != "images":  # whose photographs come with scikit-image
        loa.experiments.get(name)
"""
    done = run(script)
    assert done.returncode == 0, done.stderr


def test_a_command_names_the_missing_extra_before_it_begins():
    done = run("sys.argv = ['loa', 'run', 'lasso']; from loa.cli import app; app()")
    assert done.returncode == 1
    assert done.stderr == "loa: this needs matplotlib, which is not installed: pip install 'loa[run]'.\n"


def test_the_named_extra_brings_the_module():
    extras = PROJECT["optional-dependencies"]
    for module, extra in EXTRAS.items():
        brought = {re.split(r"[<>=!\[]", requirement)[0] for requirement in extras[extra]}
        assert DISTRIBUTIONS.get(module, module) in brought


def test_all_brings_every_extra_for_users():
    (everything,) = PROJECT["optional-dependencies"]["all"]
    named = set(re.fullmatch(r"loa\[(.*)\]", everything)[1].split(","))
    assert named == set(PROJECT["optional-dependencies"]) - {"all", "docs", "test"}
