"""Figures: the numbers they show, and that what they say can be read."""

import dataclasses
import itertools

import equinox as eqx
import matplotlib
import numpy as np
import pytest
import runs
from matplotlib.text import Text

from loa.certificates.bounds.rounding import number_up
from loa.presentation.figures import (
    distribution,
    draw_all,
    figure_files,
    labels,
    pairs,
    panels,
    profile,
    regressions,
    restored,
    style,
)
from loa.presentation.figures.histogram import legend_text
from loa.results.quantities import histogram

LONG_NAMES = [
    "learned",
    "FISTA with restart, tuned",
    "FISTA, step size by the textbook",
    "ADMM with over-relaxation and tuning",
    "Heavy ball",
    "a price in $ or two $",
]


@pytest.fixture(scope="module")
def run():
    return runs.made_up()


@pytest.fixture(scope="module")
def example(run):
    return run.results()


def vacuous(run):
    references = tuple(dataclasses.replace(each, bound=1.077 * each.cap) for each in run.references)
    return dataclasses.replace(run, references=references)


def all_equal(run):
    return run.changed(stopping_time=37.0, contraction_factor=0.81, oracle_calls=74.0, outcome="solved")


def never_solved(run):
    return run.changed(
        stopping_time=600.0, contraction_factor=1.0, oracle_calls=1200.0, outcome="exhausted", gap=np.nan
    )


def wild(run):
    """Gaps that become zero, infinite and unknown; a curve that goes up; some problems that are not solved."""
    gap, times = run.stacked("gap"), run.stacked("stopping_time")
    gap[0, 40:] = 0.0
    gap[1, 100:, [0, 3]] = np.inf
    gap[2, 150:] = np.nan
    gap[3] = gap[3, :1] * np.exp(0.2 * runs.TIME[:, None])
    times[0, ::11], times[3] = 600.0, 600.0
    return run.changed(gap=gap, stopping_time=times, outcome=np.where(times < 600, "solved", "exhausted"))


def fast(run):
    """A learned algorithm that needs a few iterations, on some problems none."""
    gap, times = run.stacked("gap"), run.stacked("stopping_time")
    times[0, :, 0] = np.arange(120) % 7
    gap[0] = 1e4 * np.exp(-8.0 * runs.TIME[:, None])
    return run.changed(stopping_time=times, oracle_calls=2 * times + 1, gap=gap)


def alone(run):
    """Without baselines, and with nothing certified of the whole distribution."""
    certificates = {name: each for name, each in run.certificates.items() if name != "distribution"}
    return dataclasses.replace(run.renamed(["learned"], [0]), certificates=certificates)


def further(run):
    """Functionals of a user: one with a long title and a symbol that is no formula, one with infinite values."""
    energies = runs.Energy(cap=300.0), runs.Energy(name="unbounded"), Strange()
    made = runs.made_up(functionals=energies)
    values = made.stacked("unbounded")
    values[0, :5], values[1] = np.inf, np.nan
    return made.changed(unbounded=values)


class Strange(runs.Energy):
    name: str = eqx.field(static=True, default="strange")

    @property
    def title(self):
        return "A functional with a title that is far too long for any panel, in $ and %"

    @property
    def symbol(self):
        return r"\frac{"


VARIANTS = {
    "example": lambda run: run,
    "six": lambda run: run.renamed(LONG_NAMES, [0, 1, 2, 3, 3, 2]),
    "vacuous": vacuous,
    "all equal": all_equal,
    "never solved": never_solved,
    "wild": wild,
    "fast": fast,
    "alone": alone,
    "further": further,
}


def test_everything_is_written_and_the_settings_of_the_user_do_not_matter(example, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    written = draw_all(runs.with_regressions(example), first)
    names = {"figure.png", "figure.pdf", "distribution.png", "profile.png", "pairs.png", "functionals.png"}
    names |= {"regressions.png"}
    assert {path.name for path in written} == {path.name for path in first.iterdir()} >= names
    assert {path.name for path in written} <= set(figure_files(pictures=True)) - {"over-time.png", "restored.png"}
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


DRAWINGS = {
    "panels": panels.draw,
    "further": panels.draw_further,
    "distribution": distribution.draw,
    "profile": profile.draw,
    "pairs": pairs.draw,
}


@pytest.mark.parametrize("drawing", DRAWINGS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_texts_are_inside_and_do_not_overlap(run, variant, drawing):
    with style.house():
        figure = DRAWINGS[drawing](VARIANTS[variant](run).results())
        if figure is None:
            assert (variant, drawing) == ("alone", "pairs")
            return
        boxes = readable_texts(figure)
    assert len(boxes) >= 10
    for text, box in boxes:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, text
    for (first, one), (second, other) in itertools.combinations(boxes, 2):
        assert not one.padded(-0.5).overlaps(other.padded(-0.5)), (first, second)


def titles(draw, results):
    """What stands above the panels, without whose values they are."""
    with style.house():
        found = [axes.get_title(loc="left") for axes in draw(results).axes]
    return [title.split(" of the")[0] for title in found if title]


def test_every_further_functional_has_a_panel_of_its_own(run):
    results = further(run).results()
    assert titles(panels.draw_further, results)[2:] == ["Oracle calls", "Energy spent"]
    assert titles(panels.draw_further, results)[:1] == ["Energy spent"]
    labels = [axes.get_xlabel() for axes in panels.draw_further(results).axes]
    assert labels.count("energy spent (J)") == 2
    assert len([label for label in labels if label]) == 4
    assert titles(panels.draw, results) == ["Gap over iterations", "Contraction factor", "Stopping time"]


def test_a_run_without_further_functionals_has_no_such_figure(run, tmp_path):
    results = dataclasses.replace(run, functionals=run.functionals[:2]).results()
    assert "functionals.png" not in {path.name for path in draw_all(results, tmp_path)}


def test_a_functional_that_was_not_measured_is_not_drawn(run):
    results = dataclasses.replace(run, functionals=run.functionals[:1]).results()
    assert titles(panels.draw, results) == ["Gap over iterations", "Stopping time"]
    assert len(profile.draw(results).axes) == 1


def test_what_the_legend_says(run):
    times = run.stacked("stopping_time")
    times[0, :, 0] = 10.0 + np.arange(120) % 5
    results = run.changed(stopping_time=times).results()
    data = histogram(results.summary, results.performance, "stopping_time")
    assert legend_text(data.marks[-1], data) == "cap: 600 →"
    results = vacuous(run).results()
    data = histogram(results.summary, results.performance, "contraction_factor")
    texts = {mark.kind: legend_text(mark, data) for mark in data.marks}
    assert texts["paper"] == "bound of the paper: 1.077, vacuous"
    assert texts["certificate"] == f"certified mean: {number_up(run.certificates['contraction factor'].bound)}"


def test_a_gap_that_hardly_changes_still_has_ticks(run):
    gap = 3.0 + np.exp(-runs.TIME / 100.0)[:, None] * np.ones((4, 1, 4))
    axes = panels.draw(run.changed(gap=gap).results()).axes[0]
    low, high = axes.get_ylim()
    assert sum(low <= place <= high for place in axes.get_yticks()) >= 1


def test_a_profile_ends_with_all_that_is_solved(run):
    """On a problem that the learned algorithm solves in no time, no factor is large enough for the others."""
    results = fast(run).results()
    axes = profile.draw(results).axes[0]
    ends = {line.get_label(): line.get_ydata()[-1] for line in axes.lines if line.get_label() in runs.SPEEDS}
    assert ends == pytest.approx({name: each.solved for name, each in results.summary.algorithms.items()})


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
