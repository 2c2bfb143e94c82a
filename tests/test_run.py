"""A run as a whole: what it leaves behind, what it promises, what it fixes beforehand, and how it is resumed."""

import dataclasses
import hashlib
import json

import jax
import numpy as np
import pytest
from rich.console import Console

import loa
from loa.experiments.experiment import Experiment, Presentation, Preset, Prior, Recipe, Task
from loa.experiments.from_file.problem_class import experiment_for, from_file
from loa.learning import lambda_on, posterior_on, prior_on
from loa.presentation.figures import figure_files
from loa.problems.role import Role
from loa.results.run_results import Results
from loa.run import Order, carry_out, script
from loa.run.certification import certified, parts_of, plan_for, posterior_share
from loa.run.directory import ChangedPlanError, OccupiedError
from loa.run.prior import WeightedPrior, lambda_of_success, shipped_prior
from loa.storage.saved_algorithms import SUFFIX

SIZES = {"prior": 30, "posterior": 60, "validation": 10, "held-out": 200, "test": 40}


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


def learn(setup):
    problems = setup.problems(20)
    found = loa.tune(
        loa.HeavyBall, {"step_size": (0.05, 0.3), "momentum": (0.0, 0.6)}, Bowls(), problems, key=setup.key,
        criterion=setup.experiment.criterion, horizon=setup.experiment.horizon, candidates=16, rounds=2,
    )  # fmt: skip
    return found.algorithm


def small(learned=None, **task):
    """An experiment of a few seconds, with changes to its task."""
    return Experiment(
        Task(
            **{
                "name": "bowls",
                "problem_class": Bowls(),
                "criterion": loa.loss_below(1e-6),
                "horizon": 100,
                "functionals": (loa.StoppingTime(), loa.ContractionFactor(cap=1.0), loa.OracleCalls()),
                "baselines": {"gradient/descent": loa.GradientDescent(0.1)},
                **task,
            }
        ),
        Recipe(
            learned=learned or {"loa": learn},
            sizes=SIZES,
            prior=Prior(candidates=6, chains=3, thinning=4, batch=4, at_least=0.5),
            presets={
                "quick": Preset({"test": 20}, candidates=3, shown=7),
                "paper": Preset({"held-out": 800}),
                "pretrained": Preset({"held-out": 90}),
            },
        ),
        Presentation(title="Bowls", shown=10),
    )


QUIET = Console(quiet=True)


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A run, its directory, and the plan that was there when problems of each role were first drawn."""
    directory, plans, draw = tmp_path_factory.mktemp("run"), {}, Experiment.draw

    def watching(experiment, role, *arguments, **options):
        plan = directory / "plan.json"
        plans.setdefault(Role.named(role), plan.read_text() if plan.exists() else None)
        return draw(experiment, role, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Experiment, "draw", watching)
        return carry_out(Order(small(), "paper", seed=1), directory, QUIET), directory, plans


@pytest.fixture(scope="module")
def finished(watched):
    return watched[:2]


def test_a_network_goes_through_a_run_as_a_whole(tmp_path):
    """Nothing in it is a single number, so that all of its weights vary in the prior, a little."""
    networks = {"loa": learn, "paper": lambda setup: loa.architectures.LearnedQuadratics(key=setup.key)}
    order = Order(small(networks, baselines={}), "paper", how="paper")
    carry_out(order, tmp_path, QUIET)
    first, last = (WeightedPrior.load(tmp_path / f"prior{SUFFIX}").stack[place] for place in (0, -1))
    weights = [np.asarray(network.direction.weights[0]) for network in (first, last)]
    assert 1e-5 < np.abs(weights[0] - weights[1]).mean() < 0.1


def test_a_classical_method_that_is_better_is_deployed_and_the_report_says_so(tmp_path):
    slow = {"loa": lambda setup: loa.HeavyBall(1e-6, 0.0)}
    order = Order(small(slow, baselines={"descent": loa.GradientDescent(0.1)}), "quick")
    summary = carry_out(order, tmp_path, QUIET).summary
    assert (summary.choice.chosen, summary.algorithm, summary.candidates) == ("descent", "GradientDescent", 1)
    assert summary.learned.functionals["stopping_time"] == summary.baselines["descent"].functionals["stopping_time"]
    deployed = loa.load(tmp_path / f"algorithm{SUFFIX}")
    assert isinstance(deployed, loa.GradientDescent)
    assert float(deployed.step_size) == pytest.approx(0.1, rel=1e-6)
    report = (tmp_path / "report.html").read_text()
    lead = report[report.index('class="lead"') :]
    assert lead.startswith('class="lead">Nothing that was learned beats descent in steps on')


def test_a_run_leaves_everything_and_nothing_else(finished):
    _, directory = finished
    names, figures = {path.name for path in directory.iterdir()}, set(figure_files(pictures=False))
    assert names - figures == {
        "plan.json", "summary.json", "certificates.json", "performance.nc", f"algorithm{SUFFIX}", f"prior{SUFFIX}",
        f"posterior{SUFFIX}", "report.html", ".loa-run.json", "ledger.jsonl",
    }  # fmt: skip
    assert {"figure.png", "figure.pdf", "pairs.png", "functionals.png"} <= names & figures
    again = Results.load(directory)
    assert again.summary == finished[0].summary
    assert again.certificates == finished[0].certificates
    deployed = loa.load(directory / f"algorithm{SUFFIX}")
    assert [type(each) for each in (deployed.learned, deployed.fallback)] == [loa.HeavyBall, loa.GradientDescent]
    assert again.summary.algorithm == "HeavyBall, guarded by GradientDescent"


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
        loa.load(directory / f"algorithm{SUFFIX}"), Bowls(), fresh, criterion=loa.loss_below(1e-6), horizon=100,
        key=jax.random.key(0), functionals=[loa.StoppingTime(), loa.ContractionFactor(cap=1.0)],
    )  # fmt: skip
    for name in ("stopping time", "contraction factor"):
        certificate = results.certificates[name]
        assert not certificate.vacuous
        assert not certificate.verify(performance[certificate.functional]).contradicted
        assert certificate.verify(np.full(400, certificate.cap)).contradicted


def test_another_seed_gives_other_numbers(finished, tmp_path):
    """That the same seed gives the same numbers is tested with runs that are resumed."""
    other = carry_out(Order(small(), "paper", seed=2), tmp_path, QUIET)
    assert other.summary.certificates != finished[0].summary.certificates


def interrupted(order, directory, monkeypatch, stage):
    """A run that is interrupted when it comes to a function of the script."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(script, stage, interrupt)
        with pytest.raises(KeyboardInterrupt):
            carry_out(order, directory, QUIET)


@pytest.mark.parametrize("stage", ["mode", "examine"])
def test_an_interrupted_run_is_resumed_to_the_same_results(finished, tmp_path, monkeypatch, stage):
    calls = []
    counted = small({"loa": lambda setup: calls.append(1) or learn(setup)})
    order = Order(counted, "paper", seed=1)
    interrupted(order, tmp_path, monkeypatch, stage)
    assert not (tmp_path / "summary.json").exists()
    with pytest.raises(OccupiedError, match="--resume"):
        carry_out(order, tmp_path, QUIET)
    with pytest.raises(OccupiedError, match=r"was another one \(seed: 1 before, 2 now\)"):
        carry_out(dataclasses.replace(order, seed=2), tmp_path, QUIET, resume=True)
    results = carry_out(order, tmp_path, QUIET, resume=True)
    assert len(calls) == 1
    assert results.certificates == finished[0].certificates
    assert results.references == finished[0].references
    assert results.performance.equals(finished[0].performance)
    assert (tmp_path / "plan.json").read_text() == (finished[1] / "plan.json").read_text()


def test_the_plan_is_on_disk_before_the_problems_it_speaks_of_are_drawn(watched):
    _, directory, plans = watched
    assert plans[Role.training] is plans[Role.prior] is None
    assert plans[Role.posterior] == plans[Role.held_out] == plans[Role.test] == (directory / "plan.json").read_text()


def test_every_certificate_carries_the_fingerprint_of_the_plan_on_disk(finished):
    results, directory = finished
    plan = json.loads((directory / "plan.json").read_text())
    fingerprint = plan.pop("fingerprint")
    assert hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()[:32] == fingerprint
    assert plan["deployed_on"] == "held-out"
    every = [*results.certificates.values(), *results.references]
    assert len(every) > 10
    assert {each.draws["plan"] for each in every} == {fingerprint}
    assert set(plan["goals"]) | set(plan["posterior_goals"]) == set(results.certificates)
    deployed = results.certificates["stopping time"]
    assert set(deployed.draws) == {"training", "prior", "posterior", "held-out", "plan"}


def test_a_plan_that_was_changed_by_hand_is_refused(tmp_path, monkeypatch):
    order = Order(small(), "paper", seed=1)
    interrupted(order, tmp_path, monkeypatch, "mode")
    path = tmp_path / "plan.json"
    fixed = path.read_text()
    for changed in (fixed.replace('"cap": 100.0', '"cap": 90.0'), "no JSON"):
        assert changed != fixed
        path.write_text(changed)
        with pytest.raises(ChangedPlanError, match=r"plan\.json is not the plan that this run had fixed.*--overwrite"):
            carry_out(order, tmp_path, QUIET, resume=True)


def test_the_documented_functions_give_the_prior_and_posterior_of_a_run(finished):
    """On the same problems, with the failure probability that the run has for them: one rule for λ."""
    results, directory = finished
    prior = WeightedPrior.load(directory / f"prior{SUFFIX}")
    share = 0.05 * 3 / 17

    def values(role):
        return loa.evaluate(
            prior.stack, Bowls(), small().draw(role, 1, optimal_losses=True), criterion=loa.loss_below(1e-6),
            horizon=100, key=jax.random.key(0), functionals=certified(small()),
        )  # fmt: skip

    options = dict(num_posterior=SIZES["posterior"], failure_probability=share)
    again = prior_on(prior.stack, values("prior")["stopping_time"], cap=100.0, **options)
    np.testing.assert_allclose(again.stack.weights, prior.weights, rtol=1e-12)
    contraction = lambda_on(again.stack, values("prior")["contraction_factor"], cap=1.0, **options)
    failed = values("prior").outcome != "solved"
    success = lambda_of_success(failed, prior.weights, SIZES["posterior"], certified(small()))
    assert prior.lam == {"stopping_time": again.lam, "contraction_factor": contraction, "solved": success}
    posterior = posterior_on(again, values("posterior")["stopping_time"], cap=100.0)
    certificate = results.certificates["posterior stopping time"]
    assert certificate.lam == again.lam
    np.testing.assert_allclose(posterior.stack.weights, certificate.posterior, rtol=1e-12)


def test_the_deployed_algorithm_is_certified_by_occam_if_the_plan_says_so(tmp_path):
    few = dataclasses.replace(small(), recipe=dataclasses.replace(small().recipe, sizes={**SIZES, "held-out": 5}))
    results = carry_out(Order(few, "paper", seed=1), tmp_path, QUIET)
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert (plan["deployed_on"], plan["sizes"]) == ("posterior", {"posterior": 65})
    assert results.certificates["stopping time"].kind == "occam"
    assert {each.draws["plan"] for each in results.certificates.values()} == {plan["fingerprint"]}


class Detour(loa.Functional):
    """How much further than at the start an iterate ever is, up to twice."""

    name: str = "detour"
    cap: float = 2.0

    @property
    def unit(self):
        return "starting distances"

    def init(self, record):
        return (record.iterate**2).sum() ** 0.5, jax.numpy.zeros(())

    def update(self, carry, record):
        distance = (record.iterate**2).sum() ** 0.5
        return carry[0], jax.numpy.maximum(carry[1], distance / carry[0])

    def result(self, carry, end):
        return jax.numpy.where(end.diverged, self.cap, jax.numpy.minimum(carry[1], self.cap))


def test_a_functional_of_the_user_is_certified_if_it_is_bounded(tmp_path):
    functionals = (*small().functionals, Detour(), loa.SmallestGap(), loa.Indicator("slow", lambda tau: tau > 30))
    results = carry_out(Order(small(functionals=functionals), "paper", seed=1), tmp_path, QUIET)
    assert "smallest gap" not in results.certificates
    certificate = results.certificates["detour"]
    assert (certificate.functional, certificate.cap, certificate.unit) == ("detour", 2.0, "starting distances")
    assert 0 < certificate.empirical < certificate.bound < 2
    assert results.certificates["slow"].measure == "probability"
    assert "posterior detour" not in results.certificates
    assert {"detour", "smallest_gap", "slow"} <= set(results.performance)
    assert loa.certificates.joint_confidence(results.certificates.values()) == pytest.approx(0.95)


def test_the_parts_of_the_budget_come_from_the_functionals():
    usual, more = certified(small()), certified(small(functionals=(*small().functionals, Detour())))
    assert parts_of(usual) == {
        "stopping time": 3, "contraction factor": 3, "oracle calls": 1, "success": 1, "95% quantile": 1,
        "distribution": 1, "posterior stopping time": 3, "posterior contraction factor": 3, "posterior success": 1,
    }  # fmt: skip
    assert parts_of(more) == parts_of(usual) | {"detour": 1}
    assert posterior_share(more) == pytest.approx(0.05 * 3 / 18)
    lam = {"stopping_time": 0.5, "contraction_factor": 0.5}
    budget = plan_for(small(), np.full(6, 1 / 6), lam, ()).budget()
    assert budget.shares["posterior stopping time"] == pytest.approx(posterior_share(usual))
    with pytest.raises(ValueError, match="must include"):
        certified(small(functionals=(loa.OracleCalls(),)))


def test_a_functional_that_leaves_its_range_is_refused_on_the_prior_problems(tmp_path):
    class Wrong(Detour):
        def largest(self, horizon):
            return 0.5

    wrong = small(functionals=(*small().functionals, Wrong()))
    with pytest.raises(ValueError, match=r"detour is certified .* values in \[0, 0.5\], but on a prior problem it is"):
        carry_out(Order(wrong, "paper", seed=1), tmp_path, QUIET)


def test_a_finished_run_is_replaced_only_when_told(finished):
    order = Order(small(), "paper", seed=1)
    with pytest.raises(OccupiedError, match="--overwrite"):
        carry_out(order, finished[1], QUIET)
    before = json.loads((finished[1] / "summary.json").read_text())
    assert before["seed"] == 1


def test_presets_change_what_they_say_and_nothing_else():
    quick, paper, pretrained = (small().at(preset) for preset in ("quick", "paper", "pretrained"))
    assert (quick.sizes["test"], quick.recipe.prior.candidates, quick.presentation.shown) == (20, 3, 7)
    assert quick.sizes["prior"] == SIZES["prior"]
    assert (paper.sizes["held-out"], pretrained.sizes["held-out"]) == (800, 90)
    assert (paper.recipe.prior, paper.presentation) == (small().recipe.prior, small().presentation)
    assert Order(pretrained, "pretrained").pretrained
    assert not Order(paper, "paper").pretrained
    with pytest.raises(ValueError, match="no preset 'fast'; there are quick, paper, pretrained"):
        small().at("fast")


@pytest.mark.parametrize("name", ["quadratics", "images", "lasso", "network", "stochastic-network"])
def test_the_paper_preset_is_larger_than_that_of_the_shipped_weights(name):
    paper, pretrained = (loa.experiments.get(name).at(preset).sizes for preset in ("paper", "pretrained"))
    assert all(paper[role] > pretrained[role] for role in ("posterior", "held-out", "test"))
    assert all(paper[role] == pretrained[role] for role in ("prior", "validation"))


def test_the_number_of_a_role_decides_its_problems():
    """These numbers are in the keys of all draws: others would change every result."""
    numbers = {"training": 0, "prior": 1, "posterior": 2, "validation": 3, "test": 4, "held-out": 5, "fresh": 6}
    numbers["comparison"] = 7
    assert {role.text: int(role) for role in Role} == numbers
    for role, number in numbers.items():
        own = jax.random.fold_in(jax.random.key(8), 0x10A0DD5)
        expected = Bowls().draw(jax.random.fold_in(own, number), 2)
        np.testing.assert_array_equal(small().draw(role, 8, 2), expected)
        np.testing.assert_array_equal(small().draw(Role.named(role), 8, 2), expected)
    with pytest.raises(ValueError, match="no role 'heldout'; there are training"):
        Preset({"heldout": 5})


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("import nowhere_to_be_found", "line 1, ModuleNotFoundError: No module named"),
        ("x = 1", "there must be one subclass of loa.ProblemClass .found: none"),
        ("problem_class = 3", "must be an instance of loa.ProblemClass"),
        ("experiment = 3", "must be a loa.experiments.experiment.Experiment"),
    ],
)
def test_a_file_that_defines_no_problem_is_refused(tmp_path, content, sentence):
    path = tmp_path / "mine.py"
    path.write_text(content)
    with pytest.raises(ValueError, match=sentence):
        from_file(path)


@pytest.mark.parametrize(
    ("functionals", "sentence"),
    [
        ("[loa.StoppingTime()]", "two functionals are called 'stopping_time'"),
        ("[loa.Gap(3), loa.Gap(3)]", "two functionals are called 'gap_3'"),
        (
            "[loa.LargestGap(name='time')]",
            "no functional in `functionals` may be called 'time', because the",
        ),
        ("[loa.LargestGap(name='solved')]", "no functional in `functionals` may be called 'solved'"),
        ("[loa.Indicator('stopping time', bool)]", "two functionals are called 'stopping_time'"),
        ("[loa.LargestGap(name='a/b')]", "a functional in `functionals` must have a name without a slash"),
        ("[loa.LargestGap]", "`functionals` must be a list of instances of loa.Functional"),
        ("loa.LargestGap()", "`functionals` must be a list of instances of loa.Functional"),
    ],
)
@pytest.mark.wrong_types
def test_functionals_whose_names_collide_are_refused_with_the_file(tmp_path, functionals, sentence):
    path = tmp_path / "mine.py"
    path.write_text(
        "import loa\n\nproblem_class = loa.problems.Quadratics(dimension=3)\n"
        f"criterion = loa.loss_below(1e-3)\nfunctionals = {functionals}\n"
    )
    with pytest.raises(ValueError, match=f"^in {path}, line 5, {sentence}"):
        from_file(path)


def test_functionals_in_a_file_join_the_usual_ones(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import loa\n\nproblem_class = loa.problems.Quadratics(dimension=3)\n"
        "criterion = loa.loss_below(1e-3)\nfunctionals = [loa.LargestGap(cap=1e6), loa.ConvergenceRate()]\n"
    )
    experiment = from_file(path)
    names = ["stopping_time", "contraction_factor", "oracle_calls", "largest_gap", "convergence_rate"]
    assert [each.name for each in experiment.functionals] == names
    assert [each.name for each in certified(experiment)] == names[:4]


def test_defaults_fit_what_a_class_knows():
    smooth = experiment_for(Bowls(), name="bowls")
    assert list(smooth.baselines) == ["L-BFGS", "CG"]
    assert smooth.task.gap is loa.gaps.loss_gap
    assert "gradient_norm" in str(smooth.criterion)
    lasso = experiment_for(loa.problems.Lasso(rows=4, columns=6), name="lasso")
    assert "FISTA with restart" in lasso.baselines
    with pytest.raises(ValueError, match=r"criterion = loa.loss_below"):
        experiment_for(loa.problems.StochasticNetworkTraining(), name="stochastic")


@pytest.mark.parametrize("name", ["quadratics", "lasso", "network", "stochastic-network"])
def test_priors_ship_beside_the_weights(name):
    prior, algorithm = shipped_prior(name), loa.load(name)
    assert bool(prior.paper_lam) == (name != "stochastic-network")
    assert len(prior.stack) == 20
    np.testing.assert_allclose(prior.weights.sum(), 1.0)
    assert {"stopping_time", "contraction_factor"} <= set(prior.lam)
    first = prior.stack[0]
    assert jax.tree.structure(first) == jax.tree.structure(algorithm)
    for ours, theirs in zip(jax.tree.leaves(first), jax.tree.leaves(algorithm), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert shipped_prior("no-such-experiment") is None
