"""The results of a run: what is saved is what is loaded, and every quantity is computed once, by its definition."""

import dataclasses
import importlib.util
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import runs

import loa
from loa.certificates import (
    AnytimeCertificate,
    CappedMean,
    CVaR,
    Distribution,
    Goal,
    KLMean,
    Mean,
    MomentMean,
    PaperMean,
    PosteriorCVaR,
    PosteriorGoal,
    PosteriorMean,
    PosteriorProbability,
    PosteriorQuantile,
    PosteriorTail,
    Probability,
    Quantile,
    Tail,
    certify_while_choosing,
)
from loa.certificates.names import CERTIFIED, KINDS, TARGETS, kind
from loa.results import Results, RunSummary, names, quantities
from loa.results.algorithm_summary import Measured

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def run():
    return runs.made_up(functionals=(runs.Energy(cap=300.0), runs.Energy(name="unbounded")))


@pytest.fixture(scope="module")
def results(run):
    return run.results()


def times(performance, name):
    return quantities.values(performance, "stopping_time")[name][:, 0]


# Saving and loading


def test_what_is_saved_is_loaded(results, tmp_path):
    results.save(tmp_path)
    again = Results.load(tmp_path)
    assert again.summary == results.summary
    assert again.certificates == results.certificates
    assert again.references == results.references
    assert again.performance.equals(results.performance)


def test_what_is_not_finite_survives_and_a_title_is_a_title(run, tmp_path):
    values = run.stacked("unbounded")
    values[0, 3], values[1, :2] = np.inf, np.nan
    results = run.changed(unbounded=values).results()
    results = dataclasses.replace(results, summary=dataclasses.replace(results.summary, title="NaN"))
    results.save(tmp_path)
    json.loads((tmp_path / "summary.json").read_text(), parse_constant=lambda word: pytest.fail(word))
    again = Results.load(tmp_path).summary
    assert again.title == "NaN"
    assert again.learned.functionals["unbounded"].mean == np.inf
    assert np.isnan(again.baselines["FISTA with restart"].functionals["unbounded"].mean)


@pytest.mark.parametrize("name", ["summary.json", "certificates.json", "performance.nc"])
@pytest.mark.parametrize("damage", ["missing", "cut", "foreign", "empty", "another run"])
def test_damaged_and_foreign_files_get_one_sentence(results, tmp_path, name, damage):
    results.save(tmp_path)
    path, content = tmp_path / name, (tmp_path / name).read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "another run":
        other = tmp_path / "other"
        other.mkdir()
        fewer = dataclasses.replace(runs.made_up(), references=(), certificates={}).renamed(["learned"], [0])
        more = runs.made_up(functionals=(runs.Energy(name="else"),))
        (more if name == "summary.json" else fewer).results().save(other)
        path.write_bytes((other / name).read_bytes())
    else:
        path.write_bytes({"cut": content[: len(content) // 2], "foreign": b'{"a": [1]}', "empty": b""}[damage])
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        Results.load(tmp_path)
    sentence = str(caught.value)
    assert str(tmp_path) in sentence
    assert "\n" not in sentence
    assert sentence.count("run") >= 1


def test_an_edited_number_of_the_summary_is_noticed(results, tmp_path):
    results.save(tmp_path)
    path = tmp_path / "summary.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content))  # another layout of the same content
    assert Results.load(tmp_path).summary == results.summary
    content["learned"]["stopping_time"]["mean"] /= 2
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="was edited after it was made"):
        Results.load(tmp_path)


def test_the_summaries_in_the_documentation_are_of_this_format():
    specification = importlib.util.spec_from_file_location("results_page", ROOT / "benchmarks" / "results_page.py")
    page = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(page)
    summaries = page.shipped()
    assert [summary.experiment for summary in summaries] == list(page.ORDER)
    for summary in summaries:
        path = ROOT / "docs" / "results" / summary.experiment / "summary.json"
        assert summary.to_json() == json.loads(path.read_text())
    assert page.page(summaries) == (ROOT / "docs" / "results.md").read_text()


def test_the_page_compares_each_cost_with_the_method_that_is_best_in_it():
    summary = RunSummary.from_json(json.loads((ROOT / "docs" / "results" / "images" / "summary.json").read_text()))
    for cost in names.COSTS:
        best = quantities.rivals(summary, cost)[0]
        assert summary.baselines[best].average(cost) == min(each.average(cost) for each in summary.baselines.values())
    assert quantities.rivals(summary, "stopping_time")[0] == "CG"
    assert quantities.rivals(summary, "milliseconds")[0] == "L-BFGS"


# The builder


def test_certificates_stand_beside_the_same_measure_on_the_test_problems(run):
    values = run.values["learned"]["stopping_time"]
    more = {
        "tail": Tail("stopping_time", 90.0, cap=600.0).certify(values[:, 0], 0.9),
        "cvar": CVaR("stopping_time", 0.9, threshold=80.0, cap=600.0).certify(values[:, 0], 0.9),
        "quarter": Quantile("stopping_time", 0.25, cap=600.0).certify(values[:, 0], 0.9),
        "unknown": Mean("something_else", 600.0).certify(values[:, 0], 0.9),
    }
    found = {entry.name: entry.test for entry in run.certified(**more).results().summary.certificates if entry.together}
    assert found["tail"] == (values > 90).mean()
    assert found["cvar"] == loa.measures.cvar(values, 0.9)
    assert found["quarter"] == loa.measures.quantile(values, 0.25)
    assert found["distribution"] == np.median(values)
    assert found["success"] == 1.0
    assert found["energy"] == pytest.approx(0.37 * values.mean())
    assert found["unknown"] is None


def test_every_entry_leads_to_its_certificate(results):
    for entry in results.summary.certificates:
        certificate = results.certificate(entry)
        assert (entry.kind, entry.bound, entry.sentence) == (
            certificate.kind, certificate.bound, certificate.sentence()
        )  # fmt: skip
    assert len(results.summary.certificates) == len(results.certificates) + len(results.references)


def test_a_functional_of_the_user_is_described_like_the_others(results):
    summary = results.summary
    energy = summary.functional("energy")
    assert (energy.title, energy.unit, energy.cap) == ("Energy spent", "J", 300.0)
    assert summary.functional("unbounded").cap is None
    for numbers in summary.algorithms.values():
        assert set(numbers.functionals) == {
            "stopping_time", "contraction_factor", "oracle_calls", "energy", "unbounded"
        }  # fmt: skip
    content = summary.to_json()
    assert set(content["learned"]["energy"]) == {*names.MEASURES, "intervals"}
    assert summary.certified_mean("energy").name == "energy"


def test_one_value_that_is_not_a_number_does_not_undo_a_run():
    assert np.isnan(Measured.of([[1.0], [np.nan]]).mean)


# Names


def every_kind():
    """Certificates of all goals that there are, in all ways in which they can be made."""
    values, stack, half = np.linspace(1.0, 400.0, 200), np.full((50, 2), 100.0), np.full(2, 0.5)
    goals = [
        Mean("x", 500.0), Probability("x"), Tail("x", 300.0, cap=500.0), Quantile("x", 0.5, cap=500.0),
        CVaR("x", 0.5, threshold=200.0, cap=500.0), Distribution("x", cap=500.0),
        CappedMean("x", 500.0), MomentMean("x", 1e6, 2.0),
    ]  # fmt: skip
    posterior = [PosteriorMean("x", 500.0, 0.3), PaperMean("x", 500.0), PaperMean("x", 500.0, sharp=True),
                 KLMean("x", 500.0), PosteriorProbability("x"), PosteriorCVaR("x", 0.5, 200.0, 500.0, 0.3),
                 PosteriorTail("x", 300.0, 500.0, 0.3), PosteriorQuantile("x", 0.5, (100.0, 300.0), 500.0)]  # fmt: skip
    assert {type(goal) for goal in goals} == set(Goal.__subclasses__())
    assert {type(goal) for goal in posterior} == set(PosteriorGoal.__subclasses__())
    for goal in goals:
        sample = values > 100 if isinstance(goal, Probability) else values
        yield goal.certify(sample, 0.9)
        yield goal.certify(sample, 0.9, prior_mass=0.5)
    yield Mean("x", 1.0).certify(values > 100, 0.9)
    for goal in posterior:
        yield goal.certify(stack > 0 if isinstance(goal, PosteriorProbability) else stack, half, half, 0.9)
    yield certify_while_choosing(np.stack([values, values + 1], axis=1), "x", cap=500.0)
    growing = AnytimeCertificate(Mean("x", 500.0), 0.9)
    growing.add(values)
    yield growing.certificate()


def test_every_kind_of_bound_measure_and_target_has_a_text():
    certificates = list(every_kind())
    assert {certificate.kind for certificate in certificates} == set(KINDS) - {"kolmogorov-smirnov"}
    assert {certificate.measure for certificate in certificates} == set(CERTIFIED)
    assert {certificate.target for certificate in certificates} == set(TARGETS)
    assert all(kind(certificate.kind) != certificate.kind for certificate in certificates
               if certificate.kind != "order statistics")  # fmt: skip


def test_every_cost_measure_and_outcome_has_a_text(run, results):
    assert {each.name for each in dataclasses.fields(Measured)} == {*names.MEASURES, "intervals"}
    assert set(names.MEASURES) == set(names.HEADERS)
    for contest in itertools.chain(*quantities.contests(results.summary, results.performance).values()):
        assert contest.cost in names.COSTS
        assert contest.outcome in names.OUTCOMES


# Quantities


def test_a_difference_within_chance_is_no_victory(run):
    """Against a copy of itself with a little noise the learned algorithm neither wins nor loses."""
    values = run.stacked("stopping_time")
    noise = np.random.default_rng(3).normal(scale=5.0, size=values.shape[1:])
    values[1] = values[0] + noise - noise.mean() + 0.1
    results = run.changed(stopping_time=values).results()
    contest = quantities.contests(results.summary, results.performance)["stopping_time"]
    outcomes = {each.baseline: each.outcome for each in contest}
    assert outcomes == {"FISTA with restart": "level", "FISTA": "won", "a third method": "won"}
    paired = {each.baseline: each for each in contest}["FISTA"]
    assert paired.saved == pytest.approx((values[2] - values[0]).mean())
    assert paired.better == (values[0] < values[2]).mean()


def test_contests_are_sorted_by_the_cost(run):
    """FISTA is quicker than the learned algorithm, but solves fewer problems: that is no victory for either."""
    results = run.changed(milliseconds=np.array([0.3, 0.4, 0.1, np.nan])).results()
    found = quantities.contests(results.summary, results.performance)["milliseconds"]
    assert [(each.baseline, each.outcome) for each in found] == [
        ("FISTA", "level"), ("FISTA with restart", "won"), ("a third method", "unmeasured")
    ]  # fmt: skip
    alike = dataclasses.replace(results.summary.baselines["FISTA"], solved=results.summary.learned.solved)
    baselines = {**results.summary.baselines, "FISTA": alike}
    found = quantities.contests(dataclasses.replace(results.summary, baselines=baselines), results.performance)
    assert {each.baseline: each.outcome for each in found["milliseconds"]}["FISTA"] == "lost"


def test_performance_profile_by_hand():
    """In the third problem the best cost is zero, which algorithm 1 reaches by no factor, although it solves it."""
    costs = [[10, 20, 0, 50, 5], [20, 10, 4, 50, 5], [30, 99, 0, 50, 20]]
    solved = [[True, True, True, False, True], [True, True, True, False, True], [True, False, True, False, True]]
    found = quantities.performance_profile(costs, solved)
    assert found.factors.tolist() == [1, 2, 3, 4, np.inf]
    expected = [[0.6, 0.8, 0.8, 0.8, 0.8], [0.4, 0.6, 0.6, 0.6, 0.8], [0.2, 0.2, 0.4, 0.6, 0.6]]
    np.testing.assert_allclose(found.shares, expected)


def test_performance_profile_refuses_what_it_cannot_compare():
    with pytest.raises(ValueError, match="both be"):
        quantities.performance_profile([1.0, 2.0], [True, True])
    with pytest.raises(ValueError, match="not negative"):
        quantities.performance_profile([[np.nan, 2.0]], [[True, True]])


def test_figure_and_report_draw_the_same_profile(run):
    """One algorithm needs no step where the other needs one."""
    from loa.presentation.figures import profile
    from loa.presentation.report.plots import figures

    few = np.array([0.0, 1.0, 3.0, 5.0])[:, None, None] + np.zeros((4, 120, 1))
    results = run.changed(stopping_time=few, oracle_calls=2 * few, outcome="solved").results()
    lines = {line.get_label(): line for line in profile.draw(results).axes[0].lines if line.get_label() in run.values}
    traces = {trace["name"]: trace for trace in figures(results)[-1].plots[0].data}
    for name, line in lines.items():
        assert line.get_ydata().tolist() == traces[name]["y"] == ([1, 1] if name == "learned" else [0, 1])


def test_profile_and_distribution_against_counting(results):
    performance = results.performance
    each = np.stack([times(performance, name) for name in quantities.names(performance)])
    solved = performance["outcome"].values[..., 0] == "solved"
    best = np.where(solved, each, np.inf).min(axis=0)
    profiles = quantities.profiles(performance)
    for cost, factor in (("stopping_time", 1.0), ("stopping_time", 2.5), ("oracle_calls", 4.0)):
        for k, name in enumerate(quantities.names(performance)):
            expected = np.mean(solved[k] & (each[k] <= factor * best))
            assert profiles[cost][name].at([factor])[0] == pytest.approx(expected)
            assert profiles[cost][name].end() == pytest.approx(solved[k].mean())
    within = quantities.solved_within(performance)["FISTA"]
    assert within.at([400.0])[0] == pytest.approx(np.mean(times(performance, "FISTA") <= 400))
    assert within.end() == pytest.approx(solved[2].mean())


def test_the_certified_band_is_that_of_the_certificate_and_silent_on_unsolved_problems(run, results):
    band = quantities.certified_band(results.performance)
    certificate = results.certificates["distribution"]
    assert len(band.places) > 10
    assert np.diff(band.places).min() > 0
    for place, share in zip(*band, strict=True):
        assert share == certificate.at(place)
    held_out = np.linspace(300.0, 900.0, 500)
    capped = Distribution("stopping_time", cap=None).certify(held_out, 0.99)
    band = quantities.certified_band(run.certified(distribution=capped).results().performance)
    assert 300 < band.places[-1] < 600
    late = Distribution("stopping_time", cap=None).certify(held_out + 600, 0.99)
    assert quantities.certified_band(run.certified(distribution=late).results().performance) is None
    assert capped.at(599.9) == band.end()


def test_steps_are_drawn_from_corner_to_corner():
    steps = quantities.empirical([3, 1, 9, 3], [True, True, False, True])
    assert [list(each) for each in steps.between(0.0, 5.0)] == [[0, 1, 3, 5], [0, 0.25, 0.75, 0.75]]
    assert [list(each) for each in steps.between(1.0, 2.0)] == [[1, 2], [0.25, 0.25]]
    nothing = quantities.empirical([3.0], [False])
    assert [list(each) for each in nothing.between(0.0, 5.0)] == [[0, 5], [0, 0]]
    assert (steps.median(), nothing.median()) == (3.0, np.inf)


FUNCTIONALS = ("stopping_time", "contraction_factor", "oracle_calls", "energy", "unbounded")


@pytest.mark.parametrize("functional", FUNCTIONALS)
def test_histogram_has_all_values_and_the_numbers_of_the_run(run, results, functional):
    data = quantities.histogram(results.summary, results.performance, functional)
    marks = {mark.kind: mark.value for mark in data.marks}
    described = results.summary.learned.functionals[functional]
    assert (marks["mean"], marks["median"]) == (described.mean, described.median)
    certificate = run.certificates.get(functional.replace("_", " "))
    assert marks.get("certificate") == (certificate and certificate.bound)
    caps = {"stopping_time": 600.0, "contraction_factor": 1.0, "energy": 300.0}
    assert marks.get("cap") == caps.get(functional)
    paper = [each.bound for each in run.references if (each.kind, each.functional) == ("paper", functional)]
    assert [marks[kind] for kind in ("paper",) if kind in marks] == paper
    for name, bars in data.bars.items():
        sample = run.values[name][functional]
        assert bars.shares.sum() == pytest.approx(1.0)
        for left, right, share in zip(*bars, strict=True):
            assert ((left <= sample) & (sample < right)).mean() == pytest.approx(share)
    assert [row.name for row in data.rows] == list(runs.SPEEDS)
    learned = data.bars["learned"]
    assert data.limits[0] <= learned.left[0] < learned.right[0] <= data.limits[1]
    assert data.whole == (functional in ("stopping_time", "oracle_calls"))


def degenerate(name, run):
    """Values that are all equal, at the cap, whole in all algorithms but one, far away, or not finite."""
    shape = run.stacked("stopping_time").shape
    return {
        "equal": np.full(shape, 37.0),
        "cap": np.full(shape, 600.0),
        "zero": np.zeros(shape),
        "negative": -1e-9 * run.stacked("stopping_time"),
        "far": run.stacked("stopping_time") * np.array([1.0, 1e9, 1e-9, 1.0])[:, None, None],
        "infinite": np.where(np.arange(120)[:, None] % 3, run.stacked("stopping_time"), np.inf),
        "unknown": np.full(shape, np.nan),
        "never": np.full(shape, np.inf),
    }[name]


@pytest.mark.parametrize(
    "name", ["equal", "cap", "zero", "negative", "far", "infinite", "unknown", "never"]
)  # fmt: skip
def test_histogram_of_degenerate_values(run, name):
    values = degenerate(name, run)
    results = run.changed(unbounded=values).results()
    data = quantities.histogram(results.summary, results.performance, "unbounded")
    finite = np.isfinite(values).mean(axis=(1, 2))
    assert [bars.shares.sum() for bars in data.bars.values()] == pytest.approx(finite)
    assert np.isfinite(data.limits).all()
    assert data.limits[0] < data.limits[1]
    for bars in data.bars.values():
        assert len(bars.shares) <= 1000
        assert (bars.left < bars.right).all()
        edges, heights = bars.outline()
        assert (np.diff(edges) > 0).all()
        assert heights.sum() == pytest.approx(bars.shares.sum())


def test_outliers_do_not_squeeze_the_histogram_and_are_counted(run):
    values = run.stacked("stopping_time")
    values[0, :, 0] = 10.0 + np.arange(120) % 5
    values[0, :2] = 500.0
    results = run.changed(stopping_time=values).results()
    data = quantities.histogram(results.summary, results.performance, "stopping_time")
    assert data.beyond == pytest.approx(2 / 120)
    assert data.limits[1] < 100
    assert data.bars["learned"].shares.sum() == pytest.approx(1.0)


def test_evolution_leaves_the_picture_where_the_gap_is_zero_or_infinite(run):
    gap = run.stacked("gap")
    gap[0, 40:] = 0.0
    gap[1, 100:, [0, 3]] = np.inf
    gap[2, 150:] = np.nan
    gap[3] = gap[3, :1] * np.exp(0.2 * runs.TIME[:, None])
    data = quantities.evolution(run.changed(gap=gap).results().performance)
    bottom, top = data.limits
    assert 0 < bottom < 1e-11
    assert top < 1e9
    assert (data.median[0, 40:] < bottom).all()
    assert (data.median[0, :30] > bottom).all()
    assert (data.mean[1, 100:] > top).all()
    assert np.isnan(data.median[2, 150:]).all()
    assert np.isfinite(data.median[[0, 1, 3]]).all()
    assert list(data.ends()) == ["learned", "FISTA with restart", "FISTA", "a third method"]


def test_the_picture_does_not_grow_with_the_few_problems_on_which_a_method_diverges(run, results):
    gap = run.stacked("gap")
    calm = quantities.evolution(results.performance).limits
    for begin in (2, 0):
        gap[2, begin:, [0, 3]] = 1e300
        assert quantities.evolution(run.changed(gap=gap).results().performance).limits == calm


def test_problems_are_ranked_by_the_learned_algorithm(results):
    rows = quantities.ranking(results.performance)
    learned = times(results.performance, "learned")
    assert [row.times["learned"] for row in rows] == sorted(learned)
    assert sorted(row.number for row in rows) == list(range(120))
    worst = rows[-1]
    assert worst.solved["FISTA"] == (times(results.performance, "FISTA")[worst.number] < 600)
    assert worst.features == {"regularization": float(results.performance["features"].values[worst.number, 0])}


def test_there_is_one_quantile(results):
    values = times(results.performance, "FISTA")
    for level in (0.05, 0.5, 0.95):
        assert quantities.quantile(values, level) == loa.measures.quantile(values, level)
    assert (quantities.quantile(values, 0.0), quantities.quantile(values, 1.0)) == (values.min(), values.max())
