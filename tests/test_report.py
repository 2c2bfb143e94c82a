"""The report of a run: true to the numbers, safe whatever it shows, and usable in a real browser."""

import copy
import dataclasses
import itertools
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import plotly.graph_objects
import pytest
import runs

import loa.presentation.report
from loa.presentation.report import quantities, write_report
from loa.presentation.report.figure import Figure
from loa.presentation.report.plots import figures
from loa.presentation.report.verdict import contests, headline

EVIL = '<b>&"evil"</b> %{x} </script><script>window.evil = 1</script>'
LONG = "Nesterov_accelerated_gradient_with_a_name_that_goes_on_and_on_and_cannot_be_broken_anywhere_at_all"
WITHOUT_END = ("meta", "link", "img", "path", "br")


@pytest.fixture(scope="module")
def results():
    return runs.example()


def renamed(results, names):
    """The same run with other names of its baselines."""
    old = list(results.summary["baselines"])
    summary = copy.deepcopy(results.summary)
    summary["baselines"] = {new: summary["baselines"][name] for new, name in zip(names, old, strict=True)}
    performance = results.performance.assign_coords(algorithm=["learned", *names])
    return dataclasses.replace(results, summary=summary, performance=performance)


def with_roles_exchanged(results, baseline):
    """The same run, in which a baseline is called learned, and the learned algorithm has the baseline's name."""
    names = quantities.names(results.performance)
    place = names.index(baseline)
    order = list(range(len(names)))
    order[0], order[place] = place, 0
    performance = results.performance.isel(algorithm=order).assign_coords(algorithm=names)
    summary = copy.deepcopy(results.summary)
    summary["learned"], summary["baselines"][baseline] = summary["baselines"][baseline], summary["learned"]
    return dataclasses.replace(results, summary=summary, performance=performance)


def in_trouble(results):
    """The same run with values that are zero, infinite, not a number or missing, in all places where they can be."""
    results = renamed(results, [EVIL, LONG, "third"])
    performance, summary = results.performance.copy(deep=True), results.summary
    gap = performance["gap"].values
    gap[0, 50:], gap[1, 20:, 0], gap[2, 3:9], gap[3, :, 3], gap[3, 5, 2] = 0.0, np.inf, np.nan, 1e300, 0.0
    performance["contraction_factor"].values[1, :4] = np.nan
    performance["oracle_calls"].values[2, :4] = np.inf
    performance["features"].values[:] = np.nan
    described = summary["learned"]
    described["stopping_time"]["intervals"] = {"mean": [3.0, None], "median": [None, 9.0], "q95": [None, None]}
    summary["baselines"]["third"]["contraction_factor"]["mean"] = None
    summary["baselines"]["third"]["milliseconds"] = None
    summary["more_tests"] = {"new photographs": copy.deepcopy(described)}
    certificates = dict(results.certificates)
    certificates["95 % quantile"] = dataclasses.replace(certificates["95 % quantile"], bound=float("inf"))
    certificates["stopping time"] = dataclasses.replace(certificates["stopping time"], bound=600.0)
    return dataclasses.replace(results, performance=performance, certificates=certificates)


class Page(HTMLParser):
    """What is in a page; complains of elements that are not closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.text, self.data = [], [], "", []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in WITHOUT_END:
            self.open.append((tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        tag, attributes = self.open[-1] if self.open else ("", {})
        if tag == "script" and attributes.get("type") == "application/json":
            self.data.append(data)
        elif tag not in ("script", "style"):
            self.text += data

    def values(self, attribute):
        return [attributes[attribute] for _, attributes in self.elements if attribute in attributes]


def page(results, tmp_path):
    return Page(write_report(results, tmp_path).read_text(encoding="utf-8"))


VARIANTS = {
    "plain": lambda results: results,
    "images": runs.with_images,
    "regressions": runs.with_regressions,
    "trouble": in_trouble,
    "lost": lambda results: with_roles_exchanged(results, "FISTA"),
    "bare": lambda results: dataclasses.replace(
        results,
        certificates={},
        references=(),
        performance=results.performance.drop_vars(["band_value", "band_share", "features"]).isel(algorithm=[0]),
        summary={
            k: v for k, v in results.summary.items() if k not in ("published", "more_tests", "notes", "candidates")
        }
        | {"baselines": {}, "certificates": []},
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_page_is_sound_and_needs_no_network(name, results, tmp_path):
    found = page(VARIANTS[name](results), tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "report.html"]
    assert found.elements[0] == ("html", {"lang": "en"})
    identifiers = found.values("id")
    assert len(identifiers) == len(set(identifiers))
    assert set(found.values("aria-labelledby")) <= set(identifiers)
    for address in found.values("href") + found.values("src"):
        assert address.startswith("data:") or address[1:] in identifiers, address
    levels = [int(tag[1]) for tag, _ in found.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    for tag, attributes in found.elements:
        assert attributes.get("alt") if tag == "img" else True
        assert attributes.get("aria-label") if attributes.get("class") == "plot" else True


@pytest.mark.parametrize("name", VARIANTS)
def test_no_computer_words_for_missing_numbers(name, results, tmp_path):
    found = page(VARIANTS[name](results), tmp_path)
    spoken = " ".join([found.text, *found.values("aria-label"), *found.values("alt")])
    assert not re.search(r"\b(NaN|nan|null|None|inf|Infinity|undefined)\b", spoken)
    for data in found.data:
        drawn = json.loads(data, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
        assert "NaN" not in str(drawn)


def test_names_are_text_wherever_they_are_shown(results, tmp_path):
    found = page(renamed(results, [EVIL, LONG, "it's"]), tmp_path)
    assert EVIL in found.text
    assert not any(tag == "b" for tag, _ in found.elements)
    scripts = [attributes for tag, attributes in found.elements if tag == "script"]
    assert len([attributes for attributes in scripts if not attributes]) == 2


def test_every_certificate_is_read_out_with_its_assumptions(results, tmp_path):
    text = page(results, tmp_path).text
    for certificate in [*results.certificates.values(), *results.references]:
        assert certificate.sentence() in text
        for assumption in certificate.assumptions:
            assert assumption[1:] in text
    assert "All 5 statements hold together with 95 % confidence" in text


def test_bounds_are_never_shown_better_than_they_are(results, tmp_path):
    """The bound of the paper is 174.136: to four digits, but not below."""
    text = page(results, tmp_path).text
    assert "174.2" in text
    assert not re.search(r"174\.1\d*", text)


def test_the_verdict_is_what_the_numbers_say(results):
    summary = copy.deepcopy(results.summary)
    summary["learned"]["milliseconds"] = 0.3
    won = dataclasses.replace(results, summary=summary)
    beats = "The learned algorithm beats every baseline in iterations"
    assert headline(contests(won)) == f"{beats}, oracle calls and wall-clock time."
    assert headline(contests(results)) == f"{beats} and oracle calls, but not in wall-clock time."
    lost = headline(contests(with_roles_exchanged(results, "FISTA")))
    assert lost.startswith(
        "The learned algorithm does not beat every baseline, neither in iterations, oracle calls nor"
    )
    alone = dataclasses.replace(results, summary=summary | {"baselines": {}})
    assert "no baseline" in headline(contests(alone))


def test_a_difference_within_chance_is_no_victory(results):
    """Against a copy of itself with a little noise the learned algorithm neither wins nor loses."""
    performance = results.performance.copy(deep=True)
    noise = np.random.default_rng(3).normal(scale=5.0, size=performance["stopping_time"].shape[1:])
    performance["stopping_time"].values[1] = performance["stopping_time"].values[0] + noise - noise.mean() + 0.1
    contest = contests(dataclasses.replace(results, performance=performance))["stopping_time"]
    outcomes = {each.baseline: each.outcome for each in contest}
    assert outcomes == {"FISTA with restart": "level", "FISTA": "won", "a third method": "won"}


def test_profile_and_distribution_against_counting(results):
    performance = results.performance
    times = performance["stopping_time"].values[..., 0]
    solved = performance["outcome"].values[..., 0] == "solved"
    best = np.where(solved, times, np.inf).min(axis=0)
    for functional, factor in (("stopping_time", 1.0), ("stopping_time", 2.5), ("oracle_calls", 4.0)):
        shares = quantities.profile(performance, functional)
        for k, name in enumerate(quantities.names(performance)):
            expected = np.mean([solved[k, i] and times[k, i] <= factor * best[i] for i in range(times.shape[1])])
            assert shares[name].at(np.array([factor]))[0] == pytest.approx(expected)
    within = quantities.solved_within(performance)
    assert within["FISTA"].at(np.array([400.0]))[0] == pytest.approx(np.mean(times[2] <= 400))
    assert within["FISTA"].at(np.array([1e9]))[0] == pytest.approx(solved[2].mean())


def test_the_certified_band_says_nothing_of_unsolved_problems(results):
    band = quantities.certified_band(results.performance)
    assert band is not None
    assert np.diff(band.x).min() > 0
    data = results.performance.assign(band_value=("band", np.full(results.performance.sizes["band"], 600.0)))
    assert quantities.certified_band(data) is None


def test_bins_hold_all_values(results):
    for functional in ("stopping_time", "contraction_factor"):
        edges, shares = quantities.bins(quantities.values(results.performance, functional))
        assert len(edges) <= quantities.MOST_BINS + 3
        assert all(share.sum() == pytest.approx(1.0) for share in shares.values())
    same = quantities.bins({"a": np.full(10, 7.0), "b": np.array([np.inf, 7.0])}, whole=True)
    assert same.shares["a"].sum() == 1.0
    assert same.shares["b"].sum() == 0.5


@pytest.mark.parametrize("name", ["plain", "trouble"])
def test_plotly_knows_all_that_is_drawn(name, results):
    drawn = figures(VARIANTS[name](results))
    assert [figure.name for figure in drawn] == [
        "evolution", "stopping-time", "contraction-factor", "distribution", "profile",
    ]  # fmt: skip
    for figure in drawn:
        assert isinstance(figure, Figure)
        assert figure.numbers
        groups = {trace["legendgroup"] for plot in figure.plots for trace in plot.data}
        assert groups == {entry.group for entry in figure.legend}
        for plot in figure.plots:
            text = re.sub(r'"@[\w/.-]+"', '"#000000"', json.dumps({"data": plot.data, "layout": plot.layout}))
            plotly.graph_objects.Figure(json.loads(text))


def luminance(color):
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(first, second):
    """As the Web Content Accessibility Guidelines define it."""
    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_can_be_told_from_the_ground(theme):
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    style = (Path(loa.presentation.report.__file__).parent / "report.css").read_text()
    colors = {name: pair.split(", ")[theme] for name, pair in re.findall(r"--([\w-]+): light-dark\((.+?)\)", style)}
    for name in ("ink", "muted", "link", "good", "bad", "certified", "paper"):
        for ground in ("page", "panel"):
            assert contrast(colors[name], colors[ground]) >= 4.5, (name, ground)
    series = [name for name in colors if name.startswith("series")]
    assert len(series) == 8
    assert all(contrast(colors[name], colors["page"]) >= 3 for name in series)


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


@pytest.fixture(scope="module")
def browser(results, tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine, so the report cannot be tried in a browser")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    profile = tmp_path_factory.mktemp("profile")
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
        "disable-component-update", "disable-sync", "disable-dev-shm-usage", "window-size=1280,900",
        f"user-data-dir={profile}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    path = write_report(runs.with_regressions(in_trouble(results)), tmp_path_factory.mktemp("run"))
    driver.get(path.as_uri())
    yield driver
    driver.quit()


@pytest.fixture
def plot(browser):
    """The first plot, in the middle of the window."""
    element = browser.find_element("css selector", "#evolution .plot")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
    return element


def axis_range(browser, plot):
    return browser.execute_script("return arguments[0].layout.xaxis.range.map(Number)", plot)


def test_a_browser_draws_all_plots_without_complaint(browser):
    drawn = "return [...document.querySelectorAll('.plot')].map((plot) => plot.querySelectorAll('.trace').length)"
    counts = browser.execute_script(drawn)
    assert len(counts) == 5 + 1 + 3
    assert min(counts) > 0
    assert browser.get_log("browser") == []
    assert browser.execute_script("return window.evil") is None
    assert browser.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)") == []


def test_pointing_at_a_curve_shows_a_label(browser, plot):
    from selenium.webdriver.common.action_chains import ActionChains

    assert plot.find_elements("css selector", ".hoverlayer .hovertext") == []
    marker = plot.find_elements("css selector", ".scatterlayer .point")[1]
    ActionChains(browser).move_to_element(marker).perform()
    label = wait(lambda: plot.find_elements("css selector", ".hoverlayer .hovertext"))[0]
    assert re.search(r"gap .+ after \d+ iterations", label.text)


def test_a_button_hides_an_algorithm_and_brings_it_back(browser, plot):
    button = browser.find_element("css selector", "#evolution .legend button")
    count = len(plot.find_elements("css selector", ".scatterlayer .trace"))
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    wait(lambda: len(plot.find_elements("css selector", ".scatterlayer .trace")) == count - 3)
    button.send_keys("\ue007")
    assert button.get_attribute("aria-pressed") == "true"
    wait(lambda: len(plot.find_elements("css selector", ".scatterlayer .trace")) == count)


def test_keys_zoom_and_go_back(browser, plot):
    before = axis_range(browser, plot)
    plot.send_keys("+")
    wait(lambda: np.ptp(axis_range(browser, plot)) == pytest.approx(0.7 * np.ptp(before)))
    plot.send_keys("0")
    wait(lambda: axis_range(browser, plot) == pytest.approx(before))


def test_the_theme_button_recolours_page_and_plots(browser, plot):
    def colors():
        text = plot.find_element("css selector", ".xtick text")
        body = browser.find_element("css selector", "body")
        return text.value_of_css_property("fill"), body.value_of_css_property("background-color")

    first = colors()
    button = browser.find_element("id", "theme")
    browser.execute_script("arguments[0].click()", button)
    wait(lambda: colors()[0] != first[0])
    assert colors()[1] != first[1]
    browser.execute_script("arguments[0].click()", button)
    wait(lambda: colors() == first)


def test_on_a_phone_the_page_does_not_scroll_sideways(browser):
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        browser.refresh()
        assert browser.execute_script("return window.innerWidth") == 390
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
        widths = "return [...document.querySelectorAll('.plot .main-svg')].map((svg) => svg.clientWidth)"
        assert max(browser.execute_script(widths)) <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.refresh()


def test_paper_gets_light_and_narrow_plots(browser):
    width = "return document.querySelector('#evolution .plot .main-svg').clientWidth"
    before = browser.execute_script(width)
    browser.execute_script("document.documentElement.dataset.theme = 'dark'; dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script("return document.documentElement.dataset.theme") == "light"
    wait(lambda: browser.execute_script(width) == 660)
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script("return document.documentElement.dataset.theme") == "dark"
    wait(lambda: browser.execute_script(width) == before)


def wait(condition, seconds=10):
    """What `condition` returns, as soon as it is true."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(None, seconds, poll_frequency=0.05).until(lambda _: condition())  # pyright: ignore
