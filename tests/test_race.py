"""The race among families: what wins, by which cost, and that nothing deployed is worse than a baseline."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

import loa
from loa.experiments.from_file.problem_class import experiment_for
from loa.learning.cost import Cost
from loa.learning.race import Family, Race, Standing
from loa.learning.verdict import Verdict, unreliable
from loa.results.choice import Choice, Entrant
from loa.run import choice as the_choice
from loa.run.certification import caps_of
from loa.run.directory import RunDirectory

KEY = jax.random.key(8)


class Valleys(loa.ProblemClass):
    """Parabolas of curvature 1 and 10 or so; the best step size is 2/11 or so."""

    def sample(self, key):
        return jnp.array([1.0, 10.0]) * jax.random.uniform(key, (2,), minval=0.9, maxval=1.1)

    def loss(self, x, problem):
        return 0.5 * jnp.sum(problem * x**2)

    def start(self, problem, key):
        return jnp.ones(2)


def race(cost="steps", **changes):
    options = dict(
        problem_class=Valleys(),
        training=Valleys().draw(KEY, 16),
        validation=Valleys().draw(jax.random.key(9), 16),
        criterion=loa.gradient_norm_below(1e-4),
        horizon=500,
        cost=Cost.parse(cost),
        functionals=(loa.StoppingTime(), loa.OracleCalls()),
        key=KEY,
    )
    return Race(**(options | changes))


BAD = Family("bad", "learned", loa.GradientDescent, {"step_size": (1e-4, 1e-3)})
GOOD = Family("good", "tuned", loa.GradientDescent, {"step_size": (0.05, 0.25)})
NEWTON = Family.classical("Newton", loa.Newton())


def test_the_best_setting_of_the_best_family_wins():
    first, second = race().run([BAD, GOOD])
    assert (first.family, second.family) == (GOOD, BAD)
    assert first.setting["step_size"] == pytest.approx(2 / 11, rel=0.1)  # the largest curvature is up to 11
    alone = loa.evaluate(
        first.algorithm,
        Valleys(),
        Valleys().draw(jax.random.key(9), 16),
        criterion=loa.gradient_norm_below(1e-4),
        horizon=500,
        key=KEY,
    )
    assert first.cost == alone["stopping_time"].mean()


def test_a_classical_method_that_is_better_wins():
    standings = race().run([BAD, GOOD, NEWTON])
    assert [each.family.name for each in standings] == ["Newton", "good", "bad"]
    assert standings[0].setting == {}


def test_calls_count_differently_from_steps():
    """Newton takes the fewest steps, but a Hessian counts as two products, besides value and gradient."""
    by_calls = race("calls").judged({"Newton": loa.Newton(), "steps": loa.GradientDescent(0.17)})
    by_steps = race("steps").judged({"Newton": loa.Newton(), "steps": loa.GradientDescent(0.17)})
    assert by_calls["Newton"].cost == pytest.approx(4 * by_steps["Newton"].cost)
    assert by_calls["steps"].cost == pytest.approx(by_steps["steps"].cost)
    assert by_calls["Newton"].calls_per_step == pytest.approx(4)


def test_oracle_calls_are_certified_up_to_what_the_chosen_algorithm_needs():
    """A Newton step in 30 dimensions asks 32 times, so a cap at 4 calls for each step would be below the mean."""
    lasso = loa.experiments.get("lasso")
    for rate, most in ((0.0, 4), (31.2, 32)):
        assert caps_of(lasso.charging(rate))["oracle_calls"] == most * lasso.horizon


def test_who_gives_up_is_not_cheap():
    costs = race("seconds", horizon=20).judged({"no": loa.GradientDescent(1e-5), "yes": loa.Newton()})
    assert math.isinf(costs["no"].cost)
    assert not costs["no"].solved.any()
    assert 0 < costs["yes"].cost < 1


def test_who_solves_fewer_problems_than_a_classical_method_is_behind_it_whatever_it_costs():
    many, most, few = np.arange(100) < 99, np.arange(100) < 98, np.arange(100) < 93
    losses = np.ones(100), np.zeros(100)
    solved = {"classical": many, "cheap": few, "cheaper": most}
    solved = {name: Verdict(1.0, each, *losses) for name, each in solved.items()}
    assert unreliable(Cost.parse("seconds"), solved, ["classical"]) == {"cheap"}
    assert unreliable(Cost.parse("seconds"), solved, []) == set()
    assert unreliable(Cost.parse("q50(steps)"), solved, ["classical"]) == set()
    lazy = Family("lazy", "learned", lambda: loa.GradientDescent(1e-5))
    entrants = [(lazy, {}), (NEWTON, {}), (BAD, {"step_size": 1e-4})]
    order = race("seconds", horizon=20)._final([Standing(*each, cost=0.0, problems=1, came_to="") for each in entrants])
    assert [each.reliable for each in order] == [False, True, False]


class Wells(loa.ProblemClass):
    """Two minima and, between them, a maximum, where the gradient is 0 as well."""

    def sample(self, key):
        return jax.random.uniform(key, minval=1.0, maxval=2.0)

    def loss(self, x, problem):
        return 0.25 * problem * jnp.sum((x**2 - 1) ** 2)

    def start(self, problem, key):
        return jnp.full(2, 0.2)


def race_in_wells(**changes):
    draws = {name: Wells().draw(jax.random.key(k), 16) for k, name in enumerate(("training", "validation"))}
    return race(problem_class=Wells(), horizon=200, **draws, **changes)


UPHILL = Family("uphill", "learned", loa.GradientDescent, {"step_size": (-0.9, -0.6)})
DOWNHILL = Family.classical("downhill", loa.GradientDescent(0.1))


@pytest.mark.parametrize("cost", ["steps", "q95(steps)"])
def test_few_steps_to_a_maximum_are_no_advantage(cost):
    standings = race_in_wells(cost=cost).run([UPHILL, DOWNHILL])
    assert [each.family.name for each in standings] == ["downhill", "uphill"]
    fast, slow = (race_in_wells(cost=cost).judged({"x": each.algorithm})["x"] for each in reversed(standings))
    assert fast.cost < slow.cost
    assert fast.solved.all()
    assert fast.worse_than(slow).all()
    assert not slow.worse_than(fast).any()


def test_among_its_settings_a_family_finds_one_that_reaches_the_minimum():
    both = Family("both", "learned", loa.GradientDescent, {"step_size": (-0.9, 0.4)})
    winner = race_in_wells().run([both, DOWNHILL])[0]
    assert winner.family is both
    assert winner.setting["step_size"] > 0.1


def test_times_are_measured_and_not_read_from_checkpoints(tmp_path, monkeypatch):
    """Each algorithm is timed several times, on the machine and not from what an earlier evaluation has left."""
    timed = []

    def noted(*arguments, checkpoints=None, **options):
        timed.append(checkpoints)
        return loa.evaluate(*arguments, checkpoints=checkpoints, **options)

    monkeypatch.setattr("loa.learning.race.evaluate", noted)
    race("seconds", checkpoints=tmp_path).judged({"one": loa.Newton(), "other": loa.GradientDescent(0.17)})
    assert timed[:2] == [tmp_path, tmp_path]
    assert len(timed) > 4
    assert set(timed[2:]) == {None}


def test_a_family_of_many_cheap_steps_is_not_cut_off_by_one_of_few():
    slow = Family("slow", "tuned", loa.GradientDescent, {"step_size": (0.025, 0.03)})
    standings = race("calls").run([slow, Family("Newton", "tuned", loa.Newton, {"log_damping": (-9.0, -5.0)})])
    assert all(math.isfinite(each.cost) for each in standings)
    assert standings[-1].cost > 200


def test_a_family_that_fails_comes_last_and_is_named():
    lines = []
    broken = Family("broken", "learned", lambda step_size: loa.ProximalGradient(step_size), {"step_size": (0.1, 0.2)})
    standings = race(report=lines.append).run([broken, GOOD])
    assert standings[-1].family is broken
    assert any("broken does not work here" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("steps", np.arange(101), 50.0),
        ("q95(steps)", np.arange(101), 95.0),
        ("cvar90(calls)", np.arange(100), 94.5),
        ("P(steps > 50)", np.arange(100), 0.49),
        ("mean(stopping_time)", np.arange(3), 1.0),
    ],
)
def test_costs_in_words(text, values, expected):
    cost = Cost.parse(text)
    assert cost.of(values) == pytest.approx(expected)
    assert Cost.parse(str(cost)) == cost
    if cost.measure != "quantile":
        assert np.mean(cost.losses(values, cost.knee(values))) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(
    "text", ["", "q(steps)", "q0(steps)", "q100(steps)", "mean95(steps)", "P(steps)", "q95(seconds)"]
)
def test_costs_that_make_no_sense(text):
    with pytest.raises(ValueError, match=r"minimized"):
        Cost.parse(text)


def test_of_equal_costs_that_of_fewer_steps_is_chosen(tmp_path):
    setting = dict(criterion=loa.gradient_norm_below(1e-4), horizon=500, sizes={"validation": 16})
    experiment = experiment_for(Valleys(), name="valleys", **setting)
    place = RunDirectory(tmp_path, Console(quiet=True))
    slow, fast = loa.GradientDescent(0.05), loa.GradientDescent(0.17)
    with place.opened({}, (), resume=False, overwrite=False):
        cost, methods = Cost.parse("P(steps > 450)"), {"learned": fast, "slow": slow, "fast": fast}
        choice, _ = the_choice.chosen(experiment, methods, cost, 0, {}, place)
    assert set(choice.costs.values()) == {0.0}
    assert (choice.chosen, choice.rival) == ("fast", "fast")


def test_the_sentence_says_when_a_classical_method_is_deployed():
    costs = {"learned": 20.0, "CG": 20.0}
    winner = Entrant("CG", "classical", 20.0, 100, "the final")
    for chosen in (Choice("steps", "CG", costs, 100), Choice("steps", "learned", costs, 100, (winner,))):
        assert chosen.sentence().startswith("Nothing that was learned beats CG")
    behind = Choice(
        "steps", "CG", {"learned": 9.0, "CG": 20.0}, 100, (), {"learned": 0.9, "CG": 1.0}, {"learned": 0.01}
    )
    assert "but solves 90% of them instead of 100%, so CG is deployed" in behind.sentence()
    assert "0.5 × the steps of CG" in Choice("steps", "learned", {"learned": 10.0, "CG": 20.0}, 100).sentence()
