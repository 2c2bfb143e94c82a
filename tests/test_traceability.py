"""A certificate names what it is about and can be recomputed; the ledger of a directory forgets nothing."""

import dataclasses
import io
import json
from typing import Any

import jax
import numpy as np
import pytest
from classes import Bowls
from rich.console import Console

import loa
import loa.certificates as c
from loa.certificates.known_samples import recognized, remembered
from loa.certificates.sequential import AnytimeCertificate
from loa.experiments.experiment import Experiment, Prior, Recipe, Task
from loa.problems.role import Role, own_key
from loa.results.run_results import Results
from loa.results.table import tell
from loa.run import Order, carry_out
from loa.storage.ledger import EditedLedgerError, Ledger
from loa.storage.plain_json import CHECKSUM, digest

RNG = np.random.default_rng(18)
TIMES = RNG.integers(1, 90, size=300).astype(float)
TABLE = np.stack([TIMES, np.minimum(1.2 * TIMES, 100.0)], axis=1)
GOALS = [
    c.Mean("stopping_time", cap=100.0),
    c.Probability("solved"),
    c.Tail("stopping_time", 80.0, cap=100.0),
    c.Quantile("stopping_time", 0.9, cap=100.0),
    c.CVaR("stopping_time", 0.9, 80.0, cap=100.0),
    c.Distribution("stopping_time", cap=100.0),
]
POSTERIOR_GOALS = [
    c.PosteriorMean("stopping_time", 100.0, 0.3),
    c.PosteriorMean("stopping_time", 100.0, (0.2, 0.4)),
    c.PaperMean("stopping_time", 100.0),
    c.PaperMean("stopping_time", 100.0, sharp=True),
    c.KLMean("stopping_time", 100.0),
    c.PosteriorProbability("solved"),
]


def sample(goal):
    values = TABLE if isinstance(goal, c.PosteriorGoal) else TIMES
    return (values < 85.0).astype(float) if goal.measure == "probability" else values


def made():
    for goal in GOALS:
        yield goal.certify(sample(goal), 0.95), sample(goal)
        yield goal.certify(sample(goal), 0.95, prior_mass=0.1), sample(goal)
    for goal in POSTERIOR_GOALS:
        yield goal.certify(sample(goal), [0.9, 0.1], [0.5, 0.5], 0.95), sample(goal)


@pytest.mark.parametrize(("certificate", "values"), list(made()))
def test_a_certificate_can_be_made_again_from_its_values_and_from_no_others(certificate, values):
    read = c.Certificate.from_json(certificate.to_json())
    assert read == certificate
    read.check(values)
    with pytest.raises(ValueError, match="not the values that the certificate was made from"):
        read.check(values[::-1])
    for changed in (
        dataclasses.replace(read, bound=0.999 * read.bound),
        dataclasses.replace(read, confidence=0.5),
    ):
        with pytest.raises(ValueError, match="the certificate says"):
            changed.check(values)


@pytest.mark.parametrize("goal", [goal for goal in GOALS if type(goal) not in (c.Quantile, c.Distribution)])
def test_an_any_time_certificate_is_no_better_than_the_best_time(goal):
    growing = AnytimeCertificate(goal)
    for part in np.split(sample(goal), 3):
        growing.add(part)
    certificate = growing.certificate()
    certificate.check(sample(goal))
    better = certificate.bound * (1.1 if goal.measure == "probability" else 0.5)
    with pytest.raises(ValueError, match="the certificate says"):
        dataclasses.replace(certificate, bound=min(better, 1.0) if better < 2 else better).check(sample(goal))


@pytest.mark.parametrize("change", ["order", "beginning", "end", "slice", "shuffled half"])
@pytest.mark.parametrize("kind", ["times", "table", "rates"])
def test_the_sample_of_a_certificate_is_not_fresh(change, kind):
    values = {"times": TIMES, "table": TABLE, "rates": RNG.random(300)}[kind]
    if change == "shuffled half" and kind != "rates":
        pytest.skip("half of the same whole numbers in another order look like any others")
    again = {
        "order": values[RNG.permutation(300)],
        "beginning": values[:120],
        "end": values[41:],
        "slice": values[7:60],
        "shuffled half": values[RNG.permutation(300)[:150]],
    }[change]
    if kind == "table":
        certificate = c.certify_posterior(values, [0.5, 0.5], [0.5, 0.5], cap=100.0, lam=0.3)
    else:
        certificate = c.certify(values, cap=100.0)
    with pytest.raises(ValueError, match="as in the sample of the certificate"):
        certificate.verify(again)
    fresh = RNG.random(300) if kind == "rates" else RNG.integers(1, 90, size=values.shape).astype(float)
    certificate.verify(fresh)


def test_samples_that_agree_by_chance_are_fresh():
    """That all are solved, or nearly all, happens again and again: in a thousand tries, none is taken for another."""
    rng = np.random.default_rng(7)
    for chance in (0.0, 0.01, 0.5):
        memory = remembered(rng.random(200) < chance)
        assert all(
            recognized(memory, rng.random(size) < chance) is None for size in (100, 200, 250) for _ in range(100)
        )


def test_a_batch_that_was_added_before_is_refused():
    growing = AnytimeCertificate(c.Mean("stopping_time", cap=100.0))
    growing.add(TIMES[:50])
    growing.add(TIMES[50:100])
    with pytest.raises(c.OverlapError, match="were added before"):
        growing.add(TIMES[:50])
    solved = AnytimeCertificate(c.Probability("solved"))
    for _ in range(3):
        solved.add(np.ones(50))
    assert solved.n == 150


def test_a_certificate_of_an_evaluation_names_what_it_is_about():
    problems = Bowls().draw(Role.test.key(0), 30)
    options: Any = dict(criterion=loa.loss_below(1e-4), horizon=200, key=own_key(0, 1))
    first, second = (
        loa.certify(loa.evaluate(loa.GradientDescent(rate), Bowls(), problems, **options)) for rate in (0.4, 0.5)
    )
    assert {name: first.about[name] for name in ("problem class", "criterion", "horizon")} == {
        "problem class": "Bowls",
        "criterion": str(loa.loss_below(1e-4)),
        "horizon": "200",
    }
    assert first.about["algorithm"] != second.about["algorithm"]


def test_a_ledger_only_grows(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path)
    for number in range(4):
        ledger.append("draw", size=number)
    assert [entry.content["size"] for entry in Ledger(path).entries()] == [0, 1, 2, 3]
    lines = path.read_text().splitlines(keepends=True)
    for changed in (
        lines[1:],
        [lines[0], *lines[2:]],
        [lines[0].replace('"size": 0', '"size": 9'), *lines[1:]],
        ["x\n"],
    ):
        path.write_text("".join(changed))
        with pytest.raises(EditedLedgerError, match="was changed or removed"):
            Ledger(path).append("draw", size=5)
    path.write_text("".join(lines) + lines[0][:20])  # as a process leaves it that is killed while it writes
    ledger.append("draw", size=4)
    assert [entry.content["size"] for entry in ledger.entries()] == [0, 1, 2, 3, 4]


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    """Three runs in one directory, at the seeds 1, 1 and 2."""
    place = tmp_path_factory.mktemp("looks")
    task = Task("bowls", Bowls(), loa.loss_below(1e-4), 100, (loa.StoppingTime(),), {"slow": loa.GradientDescent(0.3)})
    sizes = {"prior": 12, "posterior": 20, "held-out": 20, "validation": 8, "test": 15}
    recipe = Recipe(
        {"loa": lambda setup: loa.GradientDescent(0.9)}, sizes, prior=Prior(2, chains=1, thinning=1, batch=4)
    )
    found = []
    for seed in (1, 1, 2):
        order = Order(Experiment(task, recipe), "quick", seed)
        found.append(carry_out(order, place, Console(quiet=True), overwrite=True))
    return found, place


def test_the_ledger_counts_looks_also_those_that_were_overwritten(looked):
    found, place = looked
    assert [each.summary.look for each in found] == [1, 2, 3]
    assert [each.summary.earlier_seeds for each in found] == [(), (1,), (1, 1)]
    assert "These very problems were seen before" in found[1].summary.looks()
    assert "These very problems" not in found[2].summary.looks()
    assert "look 3 at this problem class" in (place / "report.html").read_text()
    for each, words in zip(found, ("unseen", "test problems of an earlier look", "unseen"), strict=True):
        told = Console(record=True, width=100, file=io.StringIO())
        tell(each, told)
        assert f"15 {words}" in told.export_text()
    certificates = found[0].certificates
    twice = dataclasses.replace(found[0], certificates=certificates | {"again": next(iter(certificates.values()))})
    told = Console(record=True, width=100, file=io.StringIO())
    tell(twice, told)
    assert told.export_text().count("\n- ") == len(certificates)
    assert Results.load(place).summary == found[2].summary


def test_the_ledger_holds_every_plan_seed_draw_and_bound(looked):
    found, place = looked
    lines = [json.loads(line) for line in (place / "ledger.jsonl").read_text().splitlines()]
    assert [line["seed"] for line in lines if line["event"] == "run"] == [1, 1, 2]
    assert [line["fingerprint"] for line in lines if line["event"] == "plan"] == [each.summary.plan for each in found]
    bounds = [line["bound"] for line in lines if line["event"] == "bound"]
    assert bounds == [repr(each.bound) for result in found for each in result.certificates.values()]
    roles = [line["role"] for line in lines if line["event"] == "draw"]
    assert roles == 3 * roles[: len(roles) // 3]
    assert {"posterior", "test"} <= set(roles)
    first = [line for line in lines if line["event"] == "draw" and line["role"] == "posterior"]
    assert first[0]["fingerprint"] == first[1]["fingerprint"] != first[2]["fingerprint"]


def test_certificates_of_a_run_name_what_they_are_about(looked):
    found, _ = looked
    for each in (*found[2].certificates.values(), *found[2].references):
        assert set(each.about) == {
            "experiment", "problem class", "criterion", "horizon", "seed", "version", "algorithm",
        }  # fmt: skip
        assert (each.about["seed"], each.about["horizon"]) == ("2", "100")
        assert each.draws["plan"] == found[2].summary.plan


def test_a_stack_is_named_whichever_way_it_runs(monkeypatch):
    """Candidates with many parameters run one after the other; certificates are about the same thing either way."""
    example = loa.problems.RunningExample()
    stack = loa.stack([loa.GradientDescent(0.1), loa.GradientDescent(0.2)])
    setting = dict(criterion=loa.distance_below(1e-3), horizon=50, key=jax.random.key(1))
    problems = example.draw(jax.random.key(0), 3)
    together = loa.evaluate(stack, example, problems, **setting)
    monkeypatch.setattr("loa.trajectory.evaluation.LARGE_CANDIDATE", 0)
    apart = loa.evaluate(stack, example, problems, **setting)
    assert apart.about == together.about
    assert np.array_equal(apart["stopping_time"], together["stopping_time"])


def test_a_certificate_of_a_version_with_fewer_fields_is_not_called_edited():
    made = GOALS[0].certify(TIMES, 0.95).to_dict()
    earlier = {name: each for name, each in made.items() if name not in ("beyond", "moment", "power", CHECKSUM)}
    assert c.Certificate.from_dict({**earlier, CHECKSUM: digest(earlier)}).bound == made["bound"]
    with pytest.raises(ValueError, match="was edited"):
        c.Certificate.from_dict({**earlier, "bound": made["bound"] - 1, CHECKSUM: digest(earlier)})
