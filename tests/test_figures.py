"""Figures: the numbers they show, and that what they say can be read."""

import dataclasses
import itertools

import matplotlib
import numpy as np
import pytest
import runs
from matplotlib.text import Text

from loa.certificates import Band
from loa.presentation.figures import (
    distribution,
    draw_all,
    evolution,
    labels,
    panels,
    profile,
    regressions,
    restored,
    style,
)
from loa.presentation.figures.histogram import histogram
from loa.presentation.figures.histogram_drawing import legend_text, rounded_up

LONG_NAMES = [
    "learned",
    "FISTA with restart, tuned",
    "FISTA, step size by the textbook",
    "ADMM with over-relaxation and tuning",
    "Heavy ball",
    "a price in $ or two $",
]


@pytest.fixture(scope="module")
def example():
    return runs.example()


def changed(results, **variables):
    """The same run with other values of the learned algorithm, or of all."""
    performance = results.performance.copy(deep=True)
    for name, values in variables.items():
        performance[name][:] = values
    return dataclasses.replace(results, performance=performance)


def six(results):
    performance = results.performance.isel(algorithm=[0, 1, 2, 3, 3, 2]).assign_coords(algorithm=LONG_NAMES)
    return dataclasses.replace(results, performance=performance)


def vacuous(results):
    references = tuple(dataclasses.replace(each, bound=1.077 * each.cap) for each in results.references)
    return dataclasses.replace(results, references=references)


def all_equal(results):
    return changed(results, stopping_time=37.0, contraction_factor=0.81, oracle_calls=74.0, outcome="solved")


def never_solved(results):
    return changed(
        results, stopping_time=600.0, contraction_factor=1.0, oracle_calls=1200.0, outcome="exhausted", gap=np.nan
    )


def wild(results):
    """Gaps that become zero, infinite and unknown; a curve that goes up; some problems that are not solved."""
    gap = results.performance["gap"].values.copy()
    gap[0, 40:] = 0.0
    gap[1, 100:, [0, 3]] = np.inf
    gap[2, 150:] = np.nan
    gap[3] = gap[3, :1] * np.exp(0.2 * results.performance["time"].values[:, None])
    times = results.performance["stopping_time"].values.copy()
    times[0, ::11], times[3] = 600.0, 600.0
    return changed(results, gap=gap, stopping_time=times, outcome=np.where(times < 600, "solved", "exhausted"))


def fast(results):
    """A learned algorithm that needs a few iterations, some of them none."""
    times = results.performance["stopping_time"].values.copy()
    times[0, :, 0] = np.arange(120) % 7
    gap = results.performance["gap"].values.copy()
    gap[0] = 1e4 * np.exp(-8.0 * results.performance["time"].values[:, None])
    return changed(results, stopping_time=times, oracle_calls=2 * times + 1, gap=gap)


def alone(results):
    performance = results.performance.isel(algorithm=[0]).drop_vars(["band_value", "band_share"])
    return dataclasses.replace(results, performance=performance)


VARIANTS = {
    "example": lambda results: results,
    "six": six,
    "vacuous": vacuous,
    "all equal": all_equal,
    "never solved": never_solved,
    "wild": wild,
    "fast": fast,
    "alone": alone,
}


def test_everything_is_written_and_the_settings_of_the_user_do_not_matter(example, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    written = draw_all(runs.with_regressions(example), first)
    names = {"figure.png", "figure.pdf", "distribution.png", "profile.png", "regressions.png"}
    assert {path.name for path in written} == {path.name for path in first.iterdir()} == names
    with matplotlib.rc_context({"font.size": 30, "lines.linewidth": 9, "axes.grid": True}):
        before = dict(matplotlib.rcParams)
        draw_all(runs.with_regressions(example), second)
        assert dict(matplotlib.rcParams) == before
    for path in written:
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name


def test_unknown_pictures_are_refused_before_anything_is_written(example, tmp_path):
    pictures = runs.with_images(example).pictures.assign_attrs(kind="sculptures")
    with pytest.raises(ValueError, match="images or regressions, got 'sculptures'"):
        draw_all(dataclasses.replace(example, pictures=pictures), tmp_path)
    assert not list(tmp_path.iterdir())


def readable_texts(figure):
    """Boxes of all that is written in a figure, ticks outside of their axes excepted."""
    figure.draw_without_rendering()
    texts = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        texts += [*axes.texts, *(each for each in axes.get_children() if isinstance(each, Text))]
        texts += axes.get_legend().get_texts() if axes.get_legend() else []
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            texts += [axis.label, *(tick.label1 for tick in ticks)]
    written = {id(text): text for text in texts if text.get_text().strip() and text.get_visible()}
    return [(text.get_text(), text.get_window_extent()) for text in written.values()]


@pytest.mark.parametrize(
    "draw", [panels.draw, distribution.draw, profile.draw], ids=["panels", "distribution", "profile"]
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_texts_are_inside_and_do_not_overlap(example, variant, draw):
    with style.house():
        figure = draw(VARIANTS[variant](example))
        boxes = readable_texts(figure)
    assert len(boxes) > 10
    for text, box in boxes:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, text
    for (first, one), (second, other) in itertools.combinations(boxes, 2):
        assert not one.padded(-0.5).overlaps(other.padded(-0.5)), (first, second)


def test_histogram_has_all_values_and_the_numbers_of_the_run(example):
    for functional in ("stopping_time", "contraction_factor"):
        data = histogram(example, functional)
        marks = {mark.kind: mark.value for mark in data.marks}
        described = example.summary["learned"][functional]
        assert marks["mean"] == pytest.approx(described["mean"])
        assert marks["median"] == described["median"]
        assert marks["certificate"] == example.certificates[functional.replace("_", " ")].bound
        assert marks["cap"] == {"stopping_time": 600.0, "contraction_factor": 1.0}[functional]
        paper = [each.bound for each in example.references if (each.kind, each.functional) == ("paper", functional)]
        assert [marks["paper"]] == paper
        assert data.shares.sum() + data.beyond == pytest.approx(1.0)
    assert [row.name for row in data.rows] == list(runs.SPEEDS)


@pytest.mark.parametrize("variant", ["all equal", "never solved", "wild", "fast"])
def test_histogram_of_degenerate_values(example, variant):
    for functional in ("stopping_time", "contraction_factor"):
        data = histogram(VARIANTS[variant](example), functional)
        assert data.shares.sum() + data.beyond == pytest.approx(1.0)
        assert (np.diff(data.edges) > 0).all()
        assert data.limits[0] <= data.edges[0] < data.edges[-1] <= data.limits[1]


def test_outliers_do_not_squeeze_the_histogram_and_are_named(example):
    times = example.performance["stopping_time"].values.copy()
    times[0, :, 0] = 10.0 + np.arange(120) % 5
    times[0, :2] = 500.0
    data = histogram(changed(example, stopping_time=times), "stopping_time")
    assert data.beyond == pytest.approx(2 / 120)
    assert data.limits[1] < 100
    assert legend_text(data.marks[-1], data) == "cap: 600 →"


def test_vacuous_bound_is_called_so(example):
    data = histogram(vacuous(example), "contraction_factor")
    texts = {mark.kind: legend_text(mark, data) for mark in data.marks}
    assert texts["paper"] == "paper’s bound: 1.077, vacuous"
    assert texts["certificate"] == f"our certificate: {rounded_up(example.certificates['contraction factor'].bound)}"


def test_evolution_leaves_the_picture_where_the_gap_is_zero_or_infinite(example):
    data = evolution.evolution(wild(example).performance)
    bottom, top = data.limits
    assert 0 < bottom < 1e-11
    assert top < 1e9
    assert (data.median[0, 40:] < bottom).all()
    assert (data.median[0, :30] > bottom).all()
    assert (data.mean[1, 100:] > top).all()
    assert np.isnan(data.median[2, 150:]).all()
    assert np.isfinite(data.median[[0, 1, 3]]).all()
    assert list(data.ends()) == ["learned", "FISTA with restart", "FISTA", "a third method"]


def test_the_picture_does_not_grow_with_the_few_problems_on_which_a_method_diverges(example):
    gap = example.performance["gap"].copy(deep=True)
    calm = evolution.evolution(changed(example, gap=gap.values).performance).limits
    gap.loc[dict(algorithm="FISTA", statistic=["mean", "high"], time=slice(5, None))] = 1e30
    assert evolution.evolution(changed(example, gap=gap.values).performance).limits == calm


def test_a_gap_that_hardly_changes_still_has_ticks(example):
    gap = 3.0 + np.exp(-example.performance["gap"]["time"].values / 100.0)[:, None] * np.ones((4, 1, 4))
    axes = panels.draw(changed(example, gap=gap)).axes[0]
    low, high = axes.get_ylim()
    assert sum(low <= place <= high for place in axes.get_yticks()) >= 1


def test_distribution_counts_what_is_solved_and_bounds_it_as_the_band_does(example):
    data = distribution.distributions(wild(example).performance)
    assert data.solved["learned"].shares[-1] == pytest.approx(1 - 11 / 120)
    assert data.solved["a third method"].times.size == 0
    band = Band(example.performance["band_value"].values, example.performance["band_share"].values)
    for time, share in zip(*data.certified, strict=True):
        assert share == band.at(time)
    capped = changed(example, band_value=np.minimum(4 * band.values, 600.0))
    certified = distribution.distributions(capped.performance).certified
    assert certified.times[-1] < 600
    assert certified.shares[-1] < band.shares[-1]


def test_performance_profile_by_hand():
    costs = [[10, 20, 0, 50, 5], [20, 10, 4, 50, 5], [30, 99, 0, 50, 20]]
    solved = [[True, True, True, False, True], [True, True, True, False, True], [True, False, True, False, True]]
    found = profile.performance_profile(costs, solved)
    assert found.factors.tolist() == [1, 2, 3, 4]
    expected = [[0.6, 0.8, 0.8, 0.8], [0.4, 0.6, 0.6, 0.6], [0.2, 0.2, 0.4, 0.6]]
    np.testing.assert_allclose(found.shares, expected)


def test_performance_profile_refuses_what_it_cannot_compare():
    with pytest.raises(ValueError, match="both be"):
        profile.performance_profile([1.0, 2.0], [True, True])
    with pytest.raises(ValueError, match="not negative"):
        profile.performance_profile([[np.nan, 2.0]], [[True, True]])


def test_labels_are_moved_apart_no_further_than_needed():
    heights = np.array([0.1, 0.2, 0.1, 0.1])
    wanted = np.array([0.0, 0.3, 0.31, 0.9])
    centres = labels.spread(wanted, heights, 0.0, 1.0)
    edges = np.stack([centres - heights / 2, centres + heights / 2])
    assert (edges[0, 1:] >= edges[1, :-1] - 1e-12).all()
    np.testing.assert_allclose(centres, [0.05, 0.23, 0.38, 0.9])


def test_pictures_show_the_data(example):
    pictures = runs.with_images(example).pictures
    figure = restored.draw(pictures)
    shown = np.array([axes.images[0].get_array() for axes in figure.axes])
    np.testing.assert_array_equal(shown, pictures["image"].values.reshape(12, 40, 30))
    assert [axes.get_title() for axes in figure.axes[:4]] == list(pictures["version"].values)
    fits = runs.with_regressions(example).pictures
    for number, axes in enumerate(regressions.draw(fits).axes):
        points, *curves = (line.get_ydata() for line in axes.lines)
        np.testing.assert_array_equal(points, fits["targets"].values[number])
        np.testing.assert_array_equal(curves, fits["curve"].values[number])
