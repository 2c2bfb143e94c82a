"""Sentences that once came out and were false: each is refused now, or says what is true."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa
from loa.certificates import CappedMean, Distribution, Mean, MomentMean, Probability, Quantile, decide
from loa.certificates.from_table import certify_table
from loa.certificates.goal import SEQUENCES
from loa.experiments.from_file.solver import solver_from_file
from loa.results.algorithm_summary import AlgorithmSummary, FunctionalSummary
from loa.results.table import table as table_of
from loa.run.any_solver.script import SolverOrder
from loa.run.identity import differences

HORIZON = 100


class Valleys(loa.ProblemClass):
    """Parabolas, some of which are so flat that gradient descent does not come to their end within the horizon."""

    def sample(self, key):
        return jnp.exp(jax.random.uniform(key, (), minval=-4.0, maxval=0.0))

    def loss(self, x, problem):
        return 0.5 * problem * jnp.sum(x**2)

    def start(self, problem, key):
        return jnp.ones(2)

    def next(self, problem, x, key):
        return 0.5 * problem + 0.1


def evaluated(horizon, *functionals):
    problem_class = Valleys()
    problems = problem_class.draw(jax.random.key(0), 300)
    return loa.evaluate(
        loa.GradientDescent(1.0), problem_class, problems, criterion=loa.loss_below(1e-6), horizon=horizon,
        key=jax.random.key(0), functionals=[loa.StoppingTime(), *functionals],
    )  # fmt: skip


# Calls that were counted until the horizon, where the problem was not solved


@pytest.mark.parametrize("cap", [float("inf"), 2000.0])
def test_calls_of_runs_that_were_stopped_are_no_calls_until_a_solution(cap):
    short, long = (evaluated(horizon, loa.OracleCalls(cap=cap)) for horizon in (HORIZON, 20 * HORIZON))
    assert (short.outcome == "solved").mean() < 0.8
    assert (long.outcome == "solved").all()
    true = long["oracle_calls"].astype(float)
    declared = 1000.0 if np.isinf(cap) else None
    assert loa.certify(short, "oracle_calls", cap=declared).bound > true.mean()
    level, at_most = 0.9, None if np.isinf(cap) else cap
    quantile = loa.certify(short, Quantile("oracle_calls", level, at_most))
    distribution = loa.certify(short, Distribution("oracle_calls", at_most))
    assert quantile.vacuous
    assert quantile.bound >= np.quantile(true, level)
    assert distribution.at(float(short["oracle_calls"].max())) <= (short.outcome == "solved").mean()


def test_who_gives_up_early_has_not_won():
    """The first makes half as many calls a step and solves nothing; the other solves everything."""
    calls, others, cap = np.full(400, 100.0), np.full(400, 160.0), 400.0
    assert decide(calls, others, 0.05, cap).outcome == "better"  # as if all were known
    assert decide(calls, others, 0.05, cap, at_most=np.full(400, cap)).outcome == "not decided"
    assert decide(others, calls, 0.05, cap, baseline_at_most=np.full(400, cap)).outcome == "not decided"
    assert decide(calls, others, 0.05, cap, baseline_at_most=np.full(400, cap)).outcome == "better"


def test_a_comparison_knows_who_has_solved_nothing():
    comparison = loa.compare(
        {"lazy": loa.GradientDescent(1e-9), "busy": loa.NesterovAcceleratedGradient(0.9)}, Valleys(),
        jnp.linspace(0.9, 1.0, 200), criterion=loa.loss_below(1e-6), horizon=4 * HORIZON, key=jax.random.key(0),
        functionals=[loa.StoppingTime(), loa.OracleCalls(cap=1e4)],
    )  # fmt: skip
    values = {name: each.at_most("oracle_calls", 1e4) for name, each in comparison.performances.items()}
    assert (values["lazy"] == 1e4).all()
    assert comparison.verdict("lazy", "busy", "oracle_calls").outcome == "worse"


# Sequences


def rolled(length):
    problem_class = Valleys()
    return loa.rollout(
        loa.GradientDescent(1.0), problem_class, problem_class.draw(jax.random.key(0), 60), length=length,
        criterion=loa.loss_below(1e-6), horizon=HORIZON, key=jax.random.key(1),
    )  # fmt: skip


def test_a_certificate_of_sequences_speaks_of_sequences():
    performance = rolled(3)
    certificate = loa.certify(performance)
    assert "on average on the problems of new sequences of 3 that begin like these 60" in str(certificate)
    assert certificate.n == 60
    assert SEQUENCES in certificate.assumptions
    assert certificate.about["criterion"] == str(loa.loss_below(1e-6))
    assert certificate == type(certificate).from_json(certificate.to_json())
    with pytest.raises(ValueError, match="problems of one sequence depend on each other"):
        loa.certify(performance, Quantile("stopping_time", 0.9, cap=100.0))
    with pytest.raises(ValueError, match="cannot be watched problem by problem"):
        loa.Watch({"stopping_time": [1.0]}, certificates=[certificate])
    assert "new problems drawn like these 60" in str(loa.certify(rolled(1)))


# Tables and instances


def table(folder, header, rows):
    path = folder / "times.csv"
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]))
    return path


def test_several_runs_on_a_problem_are_one_problem(tmp_path):
    rng = np.random.default_rng(0)
    times = rng.exponential(2.0, 20).clip(0, 9)[:, None] + 0.01 * rng.random((20, 10))
    rows = [(f"problem {number}", seed, times[number, seed]) for number in range(20) for seed in range(10)]
    path = table(tmp_path, "instance,seed,seconds", rows)
    with pytest.warns(UserWarning, match="the column 'instance' has 20 different values in 200 rows"):
        (all_rows,) = certify_table(path, "seconds", cap=10.0)
    (certificate,) = certify_table(path, "seconds", cap=10.0, problem="instance")
    assert certificate.n == 20
    assert certificate.empirical == pytest.approx(times.mean())
    assert certificate.bound > all_rows.bound
    with pytest.raises(ValueError, match="a quantile needs one row per problem"):
        certify_table(path, "seconds", quantile=0.5, problem="instance")


def test_the_average_over_runs_does_not_hide_where_they_were_stopped(tmp_path):
    times = np.minimum(np.random.default_rng(0).exponential(2.0, (40, 3)), 3.0)
    rows = [(f"problem {number}", times[number, seed]) for number in range(40) for seed in range(3)]
    path = table(tmp_path, "instance,seconds", rows)
    (certificate,) = certify_table(path, "seconds", cap=3.0, problem="instance")
    assert certificate.at_cap == pytest.approx((times == 3.0).mean())
    with pytest.warns(UserWarning, match="share the maximum 3, which is below the cap 10"):
        certify_table(path, "seconds", cap=10.0, problem="instance")


@pytest.mark.parametrize("label", ["solver", "status"])
def test_rows_of_several_kinds_are_noticed(label, tmp_path):
    path = table(tmp_path, f"{label},seconds", [("ab"[number % 2], number % 7) for number in range(30)])
    with pytest.warns(UserWarning, match=f"the column '{label}' has 2 different values in 30 rows"):
        certify_table(path, "seconds", cap=10.0)


def test_a_column_that_there_is_twice_is_refused(tmp_path):
    with pytest.raises(ValueError, match="two columns 'seconds'"):
        certify_table(table(tmp_path, "seconds,seconds", [(1, 9)] * 30), "seconds", cap=10.0)


def test_an_instance_that_comes_again_is_noticed():
    with pytest.warns(UserWarning, match="only 1 of the 3 instances are different"):
        loa.measure(loa.External("true {instance}"), ["a"] * 3, timeout=20.0)


def failing(instance):
    return {"solved": instance}


def test_a_word_for_not_solved_is_not_taken_for_solved():
    with pytest.warns(UserWarning, match="3 of 5 runs failed"):
        performance = loa.measure(failing, ["false", "no", "", "true", "solved"], timeout=20.0)
    assert performance.outcome.ravel().tolist() == ["failed"] * 3 + ["solved"] * 2


def test_an_executable_that_was_changed_is_another_solver(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "solve.sh"
    script.write_text("#!/bin/sh\ntrue\n")
    script.chmod(0o755)
    before = [loa.External(command).fingerprint for command in ("./solve.sh {instance}", "sh solve.sh {instance}")]
    script.write_text("#!/bin/sh\nsleep 1\n")
    after = [loa.External(command).fingerprint for command in ("./solve.sh {instance}", "sh solve.sh {instance}")]
    assert not set(before) & set(after)


def test_times_of_two_machines_are_not_mixed(tmp_path, monkeypatch):
    """A run of a solver that was begun on one machine is not resumed on another."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "sleeping.py"
    path.write_text("def solve(instance): pass\ninstances = [float(each) for each in range(20)]\ntimeout = 5.0\n")
    order = SolverOrder(solver_from_file(path, 0), path)
    before = order.identity()
    monkeypatch.setattr("loa.run.any_solver.script.machine", lambda: {"processor": "another", "cores": 1})
    assert differences(before, order.identity()) == [f"machine: {before['machine']} before, another, 1 now"]


# The watch


def test_a_watch_refuses_what_cannot_be_observed():
    time, solved = Mean("time", cap=500.0).certify(np.tile([100.0, 300.0], 50), 0.95), Probability("solved")
    watch = loa.Watch({"time": [100.0]}, certificates=[time, solved.certify(np.ones(50), 0.95)])
    for wrong in ({"time": -5.0, "solved": 1}, {"time": 5.0, "solved": 0.5}):
        with pytest.raises(ValueError, match=r"never negative|must be 0 or 1"):
            watch.see(**wrong)
    assert watch.time == 0
    watch.see(time=5.0, solved=True)
    assert watch.time == 1


def test_a_watch_refuses_certificates_of_which_a_stream_shows_only_a_part():
    times = np.random.default_rng(0).exponential(0.5, 200)
    for goal in (CappedMean("time", cap=5.0), MomentMean("time", moment=1.0, power=2.0)):
        with pytest.raises(ValueError, match="without a largest value cannot be watched"):
            loa.Watch({"time": times}, certificates=[goal.certify(times, 0.95)])


def test_the_page_of_a_watch_does_not_say_that_nothing_speaks_against_it(tmp_path):
    certificate = Probability("solved").certify(np.ones(200), 0.95)
    watch = loa.Watch({"size": np.arange(50.0)}, certificates=[certificate])

    def page():
        loa.watch_page(watch, tmp_path / "watch.html")
        return (tmp_path / "watch.html").read_text()

    assert "Nothing was observed yet." in page()
    for value in np.random.default_rng(0).integers(0, 50, 30):
        watch.see(size=value, solved=False)
    assert not watch.alarms
    assert watch.verdicts == {certificate.claim(): "contradicted"}
    assert "in size. But 1 of the 1 certificates is contradicted." in page()


# Tables of results


def test_only_all_is_a_hundred_percent_and_margins_reach_both_ends():
    times = np.full((4000, 1), 3.0)
    times[0] = 500.0
    outcome = np.where(times == 500.0, "exhausted", "solved")
    found = AlgorithmSummary.of({"stopping_time": times}, outcome, 1.0, caps={"stopping_time": 500.0})
    time = FunctionalSummary("stopping_time", "Stopping time", "iterations", "τ", 500.0)
    made = table_of("4000 problems", {"learned": found}, [time])
    mean, solved = next(made.columns[1].cells), next(made.columns[5].cells)
    assert solved == "99.9%"
    assert float(mean.split("±")[1]) >= found.functionals["stopping_time"].intervals["mean"][1] - times.mean()


def test_a_certificate_of_more_problems_than_there_are_values_is_refused():
    values = np.random.default_rng(0).random(50)
    certificate = dataclasses.replace(Mean("time", cap=1.0).certify(values, 0.95), n=5000)
    with pytest.raises(ValueError, match="speaks of 5000 problems, but there are 50 values"):
        certificate.check(values)


def test_a_damaged_watch_is_refused_in_a_sentence(tmp_path):
    """A flipped bit that changes anything is noticed by the format, and never ends in an error of zipfile."""
    watch = loa.Watch({"time": np.arange(50.0)})
    for value in range(20):
        watch.see(time=value)
    watch.save(tmp_path / "watch.npz")
    content = (tmp_path / "watch.npz").read_bytes()
    refused = 0
    for place in np.random.default_rng(0).integers(0, len(content), 100):
        changed = bytearray(content)
        changed[place] ^= 1 << int(place) % 8
        (tmp_path / "watch.npz").write_bytes(changed)
        try:
            again = loa.Watch.load(tmp_path / "watch.npz")
        except ValueError:
            refused += 1
        else:
            assert (again.evidence, again.time) == (watch.evidence, watch.time)
    assert refused > 50
