"""A run is resumed only if nothing has changed that determines its results; otherwise loa says what has."""

import dataclasses
import json
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from typer.testing import CliRunner

import loa
from loa import cli
from loa.experiments.experiment import Experiment, Prior, Recipe, Task
from loa.run import Order, identity, script
from loa.run.identity import differences

BOWLS = """
import jax, jax.numpy as jnp, loa
from curvatures import LARGEST

class Bowls(loa.ProblemClass):
    def sample(self, key):
        return jax.random.uniform(key, (4,), minval=1.0, maxval=LARGEST)
    def loss(self, x, problem):
        return 0.5 * jnp.sum(problem * x**2)
    def start(self, problem, key):
        return jnp.ones(4)

def learn(setup):
    return loa.HeavyBall(0.15, 0.2)

criterion, horizon = loa.loss_below(1e-1), 100
baselines = {"gradient descent": loa.GradientDescent(0.1)}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a user's file and an interrupted run of it."""
    (tmp_path / "bowls.py").write_text(BOWLS)
    (tmp_path / "curvatures.py").write_text("LARGEST = 10.0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "curvatures", raising=False)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(script, "_learned", interrupt)
    assert "interrupted; `" in run("bowls.py")
    return tmp_path


def run(*arguments):
    done = CliRunner().invoke(cli.app, ["run", *arguments])
    assert done.exit_code == 1
    return done.output


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("loss_below(1e-1)", "loss_below(1e-9)", "criterion: loss < 0.1 before, loss < 1e-09 now"),
        ("0.5 * jnp", "0.7 * jnp", "bowls.py has changed since"),
        ("), 100", "), 200", "horizon: 100 before, 200 now"),
        ("GradientDescent(0.1)", "GradientDescent(0.2)", "baselines, gradient descent: "),
    ],
)
def test_an_edited_file_is_not_resumed(place, old, new, words):
    assert old in BOWLS
    (place / "bowls.py").write_text(BOWLS.replace(old, new))
    refused = run("bowls.py", "--resume")
    assert "the run in runs/bowls cannot be resumed, because it was another one" in refused
    assert f"the file {place / 'bowls.py'} has changed since" in refused
    assert words in refused
    (place / "bowls.py").write_text(BOWLS)
    assert "done so far: nothing" in run("bowls.py", "--resume")


def test_two_files_of_one_name_are_not_taken_for_each_other(place):
    other = place / "other" / "bowls.py"
    other.parent.mkdir()
    other.write_text(BOWLS.replace("0.5 *", "0.7 *"))
    assert f"file: {place / 'bowls.py'} before, {other} now" in run(str(other), "--resume")


def test_a_module_beside_the_file_counts(place):
    (place / "curvatures.py").write_text("LARGEST = 11.0")
    sys.modules.pop("curvatures")
    refused = run("bowls.py", "--resume")
    assert f"the file {place / 'curvatures.py'} has changed since" in refused
    assert "problem class: Bowls() has changed" in refused


class Scaled(loa.ProblemClass):
    """Bowls with an array and a number of their own."""

    scale: jax.Array
    power: float = eqx.field(static=True, default=2.0)

    def sample(self, key):
        return jax.random.uniform(key, (4,))

    def start(self, problem, key):
        return jnp.ones(4)

    def loss(self, x, problem):
        return jnp.sum(self.scale * problem * jnp.abs(x) ** self.power)


def order(task=None, recipe=None, **changes):
    usual = Task(
        "bowls", Scaled(jnp.ones(4)), loa.loss_below(1e-6), 100, (loa.StoppingTime(), loa.OracleCalls()),
        {"slow": loa.GradientDescent(0.1)},
    )  # fmt: skip
    plain = Recipe({"loa": lambda setup: loa.GradientDescent(0.2)}, {"prior": 30, "test": 10}, prior=Prior())
    experiment = Experiment(dataclasses.replace(usual, **(task or {})), dataclasses.replace(plain, **(recipe or {})))
    return Order(experiment, **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            dict(task=dict(problem_class=Scaled(jnp.array(4 * [2.0])))),
            ["problem class: Scaled(scale=f64[4]) has changed"],
        ),
        (
            dict(task=dict(problem_class=Scaled(jnp.ones(4), 3.0))),
            ["Scaled(scale=f64[4]) before, Scaled(scale=f64[4], power=3.0) now"],
        ),
        (dict(task=dict(criterion=loa.loss_below(1e-6 + 1e-14))), ["criterion: loss < 1e-06 has changed"]),
        (
            dict(task=dict(criterion=loa.gap_below(1e-6, lambda c, x, p: c.loss(x, p)))),
            ["criterion: loss < 1e-06 before, "],
        ),
        (dict(task=dict(functionals=(loa.StoppingTime(),))), ["functionals, oracle_calls: ", " before, none now"]),
        (
            dict(task=dict(baselines={"fast": loa.GradientDescent(0.1)})),
            ["baselines, slow: ", "baselines, fast: none before"],
        ),
        (dict(recipe=dict(sizes={"prior": 40, "test": 10})), ["sizes, prior: 30 before, 40 now"]),
        (dict(recipe=dict(effort=0.5)), ["effort: 1.0 before, 0.5 now"]),
        (dict(recipe=dict(prior=Prior(candidates=7))), ["candidates: 100 before, 7 now"]),
        (
            dict(recipe=dict(learned={"loa": lambda setup: loa.GradientDescent(0.3)})),
            ["learned by, loa: <lambda> has changed"],
        ),
        (dict(how="paper"), ["how: loa before, paper now"]),
        (dict(seed=3), ["seed: 0 before, 3 now"]),
        (dict(preset="paper"), ["preset: quick before, paper now"]),
    ],
)
def test_what_differs_is_named(changes, words):
    before, now = (json.loads(json.dumps(each.identity())) for each in (order(), order(**changes)))
    found = "; ".join(differences(before, now))
    for each in words:
        assert each in found


def test_the_same_order_has_the_same_identity():
    assert differences(order().identity(), order().identity()) == []


def test_a_gap_with_the_same_name_and_another_formula_differs():
    def criterion(factor):
        def gap(problem_class, x, problem):
            return factor * problem_class.loss(x, problem)

        return loa.gap_below(1e-6, gap)

    one, other = (order(task=dict(criterion=criterion(factor))).identity() for factor in (1.0, 2.0))
    assert differences(one, other) == ["measurements: loss, criterion and functionals has changed"]


def test_versions_count(monkeypatch):
    before = order().identity()
    monkeypatch.setattr(identity, "versions", lambda: before["versions"] | {"jax": "0.1"})
    assert differences(before, order().identity()) == [f"versions, jax: {before['versions']['jax']} before, 0.1 now"]


def test_a_run_begun_by_an_older_version_is_not_resumed():
    assert differences({"experiment": "bowls", "seed": 0}, order().identity()) == [
        "it was begun by another version of loa"
    ]
