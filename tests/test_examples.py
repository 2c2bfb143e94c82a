"""Every file in examples/ is short and is a problem class that loa can load, draw from and evaluate."""

import functools
import importlib.util
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from loa.experiments.from_file import problem_class as own_problem_class
from loa.experiments.from_file.logged import instances_in
from loa.problems.from_functions import of_log

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
EXTRAS = {
    "risk_parity": "skfolio",
    "portfolio_limits": "skfolio",
    "logged_portfolios": "skfolio",
    "power_flow": "pandapower",
}
"""Packages that are not among loa's own requirements, by the example that needs them."""

pytestmark = pytest.mark.filterwarnings("default")


def test_there_are_families_enough():
    assert len(EXAMPLES) >= 17


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 40
    assert f"`loa run examples/{path.name}`" in text.split('"""')[1]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_problem_of_an_example_has_a_finite_loss_and_a_gradient(path):
    if path.stem in EXTRAS:
        pytest.importorskip(EXTRAS[path.stem], reason=f"{path.name} needs {EXTRAS[path.stem]}, of the extra gallery")
    module = own_problem_class.imported(path)
    logged = instances_in(module, path)
    problem_class = own_problem_class._problem_class(module, logged)
    problem_class = problem_class if logged is None else of_log(problem_class, logged)

    options = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}

    @functools.partial(jax.jit, compiler_options=options)
    def at_start(key):
        problem = problem_class.sample(key)
        return problem, problem_class.loss(problem_class.start(problem, key), problem)

    key = jax.random.key(0, impl="rbg")  # compiles faster than the usual keys
    problem, loss = at_start(key)
    assert jnp.isfinite(loss)
    assert loss.shape == ()
    start = jax.eval_shape(problem_class.start, problem, key)
    assert shapes(jax.eval_shape(problem_class.gradient, start, problem)) == shapes(start)
    if problem_class.has("prox"):
        assert shapes(jax.eval_shape(problem_class.prox, start, 0.1, problem)) == shapes(start)


def shapes(point):
    return jax.tree.map(lambda part: part.shape, point)


@pytest.fixture
def gallery():
    specification = importlib.util.spec_from_file_location("gallery", ROOT / "benchmarks" / "gallery.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_page_compares_each_cost_with_the_best_in_it_and_names_what_was_not_done(gallery, tmp_path):
    shipped = json.loads((ROOT / "docs" / "results" / "lasso" / "summary.json").read_text())
    (tmp_path / "seconds" / "mpc").mkdir(parents=True)
    (tmp_path / "seconds" / "mpc" / "summary.json").write_text(json.dumps(shipped))
    (tmp_path / "seconds" / "ridge.log").write_text("learning\nnot done in 15 min\n")
    page = gallery.page(gallery.found(tmp_path, list(gallery.EXAMPLES)))
    fewest = min(each["stopping_time"]["mean"] for each in shipped["baselines"].values())
    fastest = min(each["milliseconds"] / each["solved"] for each in shipped["baselines"].values() if each["solved"])
    own = shipped["learned"]["milliseconds"] / shipped["learned"]["solved"]
    row = next(line for line in page.splitlines() if line.startswith("| [mpc](#mpc)"))
    assert f"| {fewest / shipped['learned']['stopping_time']['mean']:.2f} × |" in row
    assert f"| **{fastest / own:.2f} ×** |" in row
    assert "| [ridge](#ridge) | | not done in 15 min |" in page
    assert "Of 2 families, 1 were finished" in page
    assert all(name in page.split("### mpc")[1] for name in shipped["baselines"])
    assert "portfolios" not in page


def test_a_run_that_is_there_is_not_repeated_and_one_that_takes_too_long_is_stopped(gallery, tmp_path, capsys):
    (tmp_path / "summary.json").write_text("{}")
    gallery.run("ridge", "steps", tmp_path, minutes=1e-6)
    gallery.run("ridge", "steps", tmp_path / "new", minutes=1e-6)
    assert capsys.readouterr().out.splitlines() == [
        "steps, ridge: done before.",
        "steps, ridge: not done in 1e-06 min, 0.0 min.",
    ]
    assert gallery.outcome(tmp_path / "new") == "not done in 1e-06 min"
