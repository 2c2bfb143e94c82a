"""Solvers in files: the same solutions, checked before they are loaded, and without loa."""

import hashlib
import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa
from loa.deployment import load_exported

SNIPPET = """
import json, sys
import jax, jax.export, numpy as np
with open(sys.argv[1], "rb") as file:
    header, program = json.loads(file.readline()), jax.export.deserialize(bytearray(file.read()))
jax.config.update("jax_enable_x64", header["float64"])
problem, start = [np.array([1.0, 1.2]), np.array(0.3)], [np.zeros(2), np.zeros(())]
*x, numbers, counts = jax.jit(program.call)(*problem, *start, False)
assert not any(name.split(".")[0] in ("loa", "equinox", "optax") for name in sys.modules)
print(json.dumps([[np.asarray(part).tolist() for part in x], header["outcomes"][counts[0]], int(counts[1])]))
"""


class Shifted(loa.ProblemClass):
    def sample(self, key):
        return {"curvature": jax.random.uniform(key, (2,), minval=0.5, maxval=1.5), "shift": jax.random.normal(key)}

    def loss(self, x, problem):
        factor = jnp.linalg.cholesky(jnp.diag(problem["curvature"]))
        return 0.5 * jnp.sum((factor @ x["a"] - problem["shift"]) ** 2) + 0.5 * x["b"] ** 2

    def start(self, problem, key):
        return {"a": jnp.ones(2), "b": jnp.asarray(2.0)}


@pytest.fixture(scope="module")
def solver():
    return loa.Solver(loa.LBFGS(memory=3), Shifted(), criterion=loa.gradient_norm_below(1e-6), horizon=60)


@pytest.fixture(scope="module")
def path(solver, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "solver.loa"
    solver.export(path, certificates=[loa.certify(np.array([3.0, 4.0, 5.0]), cap=60.0)])
    return path


def test_an_exported_solver_gives_the_same_solutions(solver, path):
    again = load_exported(path)
    for number in range(5):
        problem = Shifted().sample(jax.random.key(number))
        one, other = solver(problem), again(problem)
        assert (one.outcome, one.steps, one.calls) == (other.outcome, other.steps, other.calls)
        np.testing.assert_allclose(other.x["a"], one.x["a"], rtol=1e-12, atol=1e-12)
    assert again(list(problem.values()), start=one.x).steps == 0
    assert again.certificates[0].cap == 60.0
    assert again.header["horizon"] == 60


def test_it_runs_where_loa_is_not_installed(solver, path):
    done = subprocess.run([sys.executable, "-I", "-c", SNIPPET, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    x, outcome, steps = json.loads(done.stdout)
    one = solver({"curvature": np.array([1.0, 1.2]), "shift": 0.3})
    assert (outcome, steps) == (one.outcome, one.steps)
    np.testing.assert_allclose(x[0], one.x["a"], atol=1e-12)


def test_what_does_not_fit_is_refused(path):
    again = load_exported(path)
    with pytest.raises(ValueError, match=r"problem\['curvature'\] must have shape \[2\], like what was exported"):
        again({"curvature": np.ones(3), "shift": 0.0})
    with pytest.raises(ValueError, match="problem must be"):
        again(np.ones(2))


def changed(path, place, *, sealed=True, **facts):
    """The file with another description, with the right fingerprint or without."""
    line, whole = path.read_bytes().split(b"\n", 1)
    header = json.loads(line) | facts
    if sealed:
        said = {name: each for name, each in header.items() if name != "fingerprint"}
        content = json.dumps(said, sort_keys=True).encode() + b"\n" + whole
        header["fingerprint"] = hashlib.sha256(content).hexdigest()
    place.write_bytes(json.dumps(header).encode() + b"\n" + whole)
    return place


def test_files_are_checked(path, tmp_path):
    other = changed(path, tmp_path / "other.loa", platforms=["tpu"])
    with pytest.raises(ValueError, match="was exported for tpu, and JAX runs on cpu here"):
        load_exported(other)
    forged = changed(path, tmp_path / "forged.loa", sealed=False, criterion="a stricter one")
    with pytest.raises(ValueError, match="is damaged"):
        load_exported(forged)
    (tmp_path / "damaged.loa").write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match="is damaged"):
        load_exported(tmp_path / "damaged.loa")
    (tmp_path / "text.loa").write_text("import os\n")
    with pytest.raises(ValueError, match="is not a solver exported by loa"):
        load_exported(tmp_path / "text.loa")
    with pytest.raises(ValueError, match="is damaged, or was exported by another version"):
        load_exported(changed(path, tmp_path / "older.loa", loa="0"))
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load_exported(tmp_path / "none.loa")


def test_a_fallback_is_not_dropped_silently():
    both = loa.Solver(
        loa.GradientDescent(0.1), Shifted(), criterion=loa.gradient_norm_below(1e-6), horizon=60,
        fallback=loa.GradientDescent(0.2),
    )  # fmt: skip
    with pytest.raises(ValueError, match="a file holds one algorithm"):
        both.export("solver.loa")
