"""A run as a whole: what it leaves behind, what it promises, and how it goes on after an interruption."""

import dataclasses
import json

import jax
import numpy as np
import pytest
from rich.console import Console

import loa
from loa.experiments.experiment import Experiment, Prior, Quick
from loa.experiments.from_file import experiment_for, from_file
from loa.results.run_results import Results
from loa.run import Order, carry_out
from loa.run.directory import OccupiedError
from loa.run.prior import WeightedPrior, shipped_prior

SIZES = {"prior": 30, "posterior": 60, "validation": 10, "held-out": 80, "test": 40}


class Bowls(loa.ProblemClass):
    """Parabolas in four dimensions with curvatures between 1 and 10."""

    def sample(self, key):
        return jax.random.uniform(key, (4,), minval=1.0, maxval=10.0)

    def loss(self, x, problem):
        return 0.5 * jax.numpy.sum(problem * x**2)

    def start(self, problem, key):
        return jax.numpy.ones(4)

    def optimal_loss(self, problem):
        return 0.0


def learn(lesson):
    problems = lesson.problems(20)
    found = loa.tune(
        loa.HeavyBall, {"step_size": (0.05, 0.3), "momentum": (0.0, 0.6)}, Bowls(), problems, key=lesson.key,
        criterion=lesson.experiment.criterion, horizon=lesson.experiment.horizon, candidates=16, rounds=2,
    )  # fmt: skip
    return found.algorithm


def small(**changes):
    setting = Experiment(
        name="bowls",
        problem_class=Bowls(),
        criterion=loa.loss_below(1e-6),
        horizon=100,
        functionals=(loa.StoppingTime(), loa.ContractionFactor(cap=1.0), loa.OracleCalls()),
        baselines={"gradient/descent": loa.GradientDescent(0.1)},
        sizes=SIZES,
        learned={"loa": learn},
        title="Bowls",
        prior=Prior(candidates=6, chains=3, thinning=4, batch=4, at_least=0.5),
        shown=10,
        quick=Quick(effort=1.0, candidates=3, sizes={"test": 20}),
    )
    return dataclasses.replace(setting, **changes)


QUIET = Console(quiet=True)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("run")
    return carry_out(Order(small(), "paper", seed=1), directory, QUIET), directory


def test_a_network_goes_through_the_pipeline_as_a_whole(tmp_path):
    """Nothing in it is a single number, so that all of its weights vary in the prior, a little."""
    networks = {"loa": learn, "paper": lambda lesson: loa.architectures.LearnedQuadratics(key=lesson.key)}
    order = Order(small(learned=networks), "paper", how="paper")
    carry_out(order, tmp_path, QUIET)
    first, last = (WeightedPrior.load(tmp_path / "prior.eqx").stack[place] for place in (0, -1))
    weights = [np.asarray(network.direction.weights[0]) for network in (first, last)]
    assert 1e-5 < np.abs(weights[0] - weights[1]).mean() < 0.1


def test_a_run_leaves_everything_and_nothing_else(finished):
    _, directory = finished
    assert {path.name for path in directory.iterdir()} == {
        "summary.json", "certificates.json", "performance.nc", "algorithm.eqx", "prior.eqx", "report.html",
        "figure.png", "figure.pdf", "distribution.png", "profile.png", "functionals.png",
    }  # fmt: skip
    again = Results.load(directory)
    assert again.summary == finished[0].summary
    assert again.certificates == finished[0].certificates
    assert isinstance(loa.load(directory / "algorithm.eqx"), loa.HeavyBall)


def test_the_summary_holds_what_others_rely_on(finished):
    summary = finished[0].summary.to_json()
    for numbers in (summary["learned"], *summary["baselines"].values()):
        for functional in ("stopping_time", "contraction_factor", "oracle_calls"):
            assert {"mean", "median", "q95", "cvar95"} <= set(numbers[functional])
        assert 0 <= numbers["solved"] <= 1
    assert {"functional", "kind", "target", "bound", "empirical", "confidence", "n", "cap"} <= set(
        summary["certificates"][0]
    )
    assert {"train", "certify", "evaluate", "total"} <= set(summary["seconds"])
    assert summary["sizes"] == SIZES
    times = finished[0].performance["stopping_time"].sel(algorithm="learned")
    assert float(times.mean()) == summary["learned"]["stopping_time"]["mean"]


def test_certificates_hold_together_and_on_fresh_problems(finished):
    results, directory = finished
    joint = loa.certificates.joint_confidence(results.certificates.values())
    assert joint >= results.summary.confidence - 1e-9
    fresh = small().draw("fresh", 1, 400)
    performance = loa.evaluate(
        loa.load(directory / "algorithm.eqx"), Bowls(), fresh, criterion=loa.loss_below(1e-6), horizon=100,
        key=jax.random.key(0), functionals=[loa.StoppingTime(), loa.ContractionFactor(cap=1.0)],
    )  # fmt: skip
    for name in ("stopping time", "contraction factor"):
        certificate = results.certificates[name]
        assert not certificate.vacuous
        assert not certificate.verify(performance[certificate.functional]).contradicted
        assert certificate.verify(np.full(400, certificate.cap)).contradicted


def test_the_same_seed_gives_the_same_numbers_and_another_others(finished, tmp_path):
    same = carry_out(Order(small(), "paper", seed=1), tmp_path / "same", QUIET)
    assert same.summary.certificates == finished[0].summary.certificates
    np.testing.assert_array_equal(same.performance["stopping_time"], finished[0].performance["stopping_time"])
    other = carry_out(Order(small(), "paper", seed=2), tmp_path / "other", QUIET)
    assert other.summary.certificates != finished[0].summary.certificates


def test_an_interrupted_run_goes_on_where_it_was(finished, tmp_path, monkeypatch):
    from loa.run import run as stages

    def interrupted(*_):
        raise KeyboardInterrupt

    order, calls = Order(small(), "paper", seed=1), []
    counted = small(learned={"loa": lambda lesson: calls.append(1) or learn(lesson)})
    with monkeypatch.context() as patch:
        patch.setattr(stages, "examine", interrupted)
        with pytest.raises(KeyboardInterrupt):
            carry_out(dataclasses.replace(order, experiment=counted), tmp_path, QUIET)
    assert not (tmp_path / "summary.json").exists()
    with pytest.raises(OccupiedError, match="--resume"):
        carry_out(order, tmp_path, QUIET)
    with pytest.raises(OccupiedError, match="other settings"):
        carry_out(dataclasses.replace(order, seed=2), tmp_path, QUIET, resume=True)
    results = carry_out(dataclasses.replace(order, experiment=counted), tmp_path, QUIET, resume=True)
    assert len(calls) == 1
    assert results.summary.certificates == finished[0].summary.certificates


def test_a_finished_run_is_replaced_only_when_told(finished):
    order = Order(small(), "paper", seed=1)
    with pytest.raises(OccupiedError, match="--overwrite"):
        carry_out(order, finished[1], QUIET)
    before = json.loads((finished[1] / "summary.json").read_text())
    assert before["seed"] == 1


def test_the_quick_preset_has_less():
    quick = small().at("quick")
    assert quick.sizes["test"] == 20
    assert quick.sizes["prior"] == SIZES["prior"]
    assert quick.prior.candidates == 3
    with pytest.raises(ValueError, match="no preset 'fast'"):
        small().at("fast")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("import nowhere_to_be_found", "cannot be imported: ModuleNotFoundError"),
        ("x = 1", "must define one subclass of loa.ProblemClass .it has none"),
        ("problem_class = 3", "must be an instance of loa.ProblemClass"),
        ("experiment = 3", "must be a loa.experiments.Experiment"),
    ],
)
def test_a_file_that_defines_no_problem_is_refused(tmp_path, content, sentence):
    path = tmp_path / "mine.py"
    path.write_text(content)
    with pytest.raises(ValueError, match=sentence):
        from_file(path)


def test_defaults_fit_what_a_class_knows():
    smooth = experiment_for(Bowls(), name="bowls")
    assert list(smooth.baselines) == ["L-BFGS", "CG"]
    assert smooth.gap is loa.gaps.loss_gap
    assert "gradient_norm" in str(smooth.criterion)
    lasso = experiment_for(loa.problems.Lasso(rows=4, columns=6), name="lasso")
    assert "FISTA with restart" in lasso.baselines
    with pytest.raises(ValueError, match=r"criterion = loa.loss_below"):
        experiment_for(loa.problems.StochasticNetworkTraining(), name="stochastic")


@pytest.mark.parametrize("name", ["quadratics", "lasso", "network", "stochastic-network"])
def test_priors_ship_beside_the_weights(name):
    prior, algorithm = shipped_prior(name), loa.load(name)
    assert len(prior.stack) == 20
    np.testing.assert_allclose(prior.weights.sum(), 1.0)
    assert set(prior.lam) == {"stopping_time", "contraction_factor"}
    first = prior.stack[0]
    assert jax.tree.structure(first) == jax.tree.structure(algorithm)
    for ours, theirs in zip(jax.tree.leaves(first), jax.tree.leaves(algorithm), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert shipped_prior("no-such-experiment") is None
