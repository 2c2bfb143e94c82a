"""The report of a run: true to the numbers, safe whatever it shows, and usable in a real browser."""

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

import loa
import loa.presentation.report
from loa.presentation.report import write_report
from loa.presentation.report.figure import Figure
from loa.presentation.report.plots import figures
from loa.presentation.report.verdict import headline
from loa.results.quantities import contests

EVIL = '<b>&"evil"</b> %{x} </script><script>window.evil = 1</script>'
LONG = "Nesterov_accelerated_gradient_with_a_name_that_goes_on_and_on_and_cannot_be_broken_anywhere_at_all"
WITHOUT_END = ("meta", "link", "img", "path", "br")


@pytest.fixture(scope="module")
def run():
    return runs.made_up()


@pytest.fixture(scope="module")
def results(run):
    return run.results()


def with_roles_exchanged(run, baseline):
    """The same run, in which a baseline is called learned, and the learned algorithm has the baseline's name."""
    names = list(run.values)
    order = list(range(len(names)))
    place = names.index(baseline)
    order[0], order[place] = place, 0
    return run.renamed(names, order)


def in_trouble(run):
    """The same run with values that are zero, infinite, not a number or missing, in all places where they can be."""
    run = dataclasses.replace(run, certificates=run.certificates, more_tests={"new photographs": run.values["learned"]})
    run = run.renamed(["learned", EVIL, LONG, "third"])
    gap, factors, calls = (run.stacked(name) for name in ("gap", "contraction_factor", "oracle_calls"))
    gap[0, 50:], gap[1, 20:, 0], gap[2, 3:9], gap[3, :, 3], gap[3, 5, 2] = 0.0, np.inf, np.nan, 1e300, 0.0
    factors[1, :4] = np.nan
    calls[2, :4] = np.inf
    run = run.changed(gap=gap, contraction_factor=factors, oracle_calls=calls)
    run = run.changed(milliseconds=np.array([0.5, 0.5, 0.5, np.nan]))
    run = dataclasses.replace(run, features={"regularization": np.full(120, np.nan)})
    certificates = dict(run.certificates)
    certificates["95% quantile"] = dataclasses.replace(certificates["95% quantile"], bound=float("inf"))
    certificates["stopping time"] = dataclasses.replace(certificates["stopping time"], bound=600.0)
    return dataclasses.replace(run, certificates=certificates)


def with_energy(run):
    """With functionals that a user defined, one of them certified."""
    return runs.made_up(functionals=(runs.Energy(cap=300.0), runs.Energy(name="unbounded")))


def bare(run):
    """One algorithm, of which nothing is certified."""
    run = dataclasses.replace(run, certificates={}, references=(), features={})
    return run.renamed(["learned"], [0])


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
    "plain": lambda run: run.results(),
    "images": lambda run: runs.with_images(run.results()),
    "regressions": lambda run: runs.with_regressions(run.results()),
    "trouble": lambda run: in_trouble(run).results(),
    "lost": lambda run: with_roles_exchanged(run, "FISTA").results(),
    "energy": lambda run: with_energy(run).results(),
    "bare": lambda run: bare(run).results(),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_page_is_sound_and_needs_no_network(name, run, tmp_path):
    found = page(VARIANTS[name](run), tmp_path)
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
def test_no_computer_words_for_missing_numbers(name, run, tmp_path):
    found = page(VARIANTS[name](run), tmp_path)
    spoken = " ".join([found.text, *found.values("aria-label"), *found.values("alt")])
    assert not re.search(r"\b(NaN|nan|null|None|inf|Infinity|undefined)\b", spoken)
    for data in found.data:
        drawn = json.loads(data, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
        assert "NaN" not in str(drawn)


def test_names_are_text_wherever_they_are_shown(run, tmp_path):
    found = page(run.renamed(["learned", EVIL, LONG, "it's"]).results(), tmp_path)
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
    assert "All 6 statements hold together with 95% confidence" in text


def test_bounds_are_never_shown_better_than_they_are(results, tmp_path):
    """The bounds of the paper are shown to four digits, but not below what they are."""
    text = page(results, tmp_path).text
    bounds = [each.bound for each in results.references if 100 < each.bound < 1000]
    nearest = [f"{bound:.1f}" for bound in bounds]
    below = [shown for bound, shown in zip(bounds, nearest, strict=True) if float(shown) < bound]
    assert below, "none of the bounds would be rounded down"
    for shown in below:
        assert f"{float(shown) + 0.1:.1f}" in text
        assert not re.search(rf"\b{re.escape(shown)}\d*", text)


def test_a_certificate_is_found_by_its_name(run, tmp_path):
    """Two certificates with the same words are told apart, each with its own test value and details."""
    twin = dataclasses.replace(run.certificates["95% quantile"], level=0.5)
    assert twin.measure == "quantile"
    results = run.certified(twin=twin).results()
    entries = {entry.name: entry for entry in results.summary.certificates if entry.together}
    times = run.values["learned"]["stopping_time"]
    assert entries["95% quantile"].test == loa.measures.quantile(times, 0.95)
    assert entries["twin"].test == loa.measures.quantile(times, 0.5)
    text = page(results, tmp_path).text
    assert "level95%" in text
    assert "level50%" in text


def test_a_functional_of_the_user_is_in_tables_histograms_and_certificates(run, tmp_path):
    results = VARIANTS["energy"](run)
    found = page(results, tmp_path)
    assert found.text.count("Energy spent (J) on the test problems") == 2
    assert results.certificates["energy"].sentence() in found.text
    assert "Bounds of the mean energy spent" in found.text
    drawn = [figure for figure in figures(results) if figure.title == "Energy spent"]
    marks = [{entry.group for entry in figure.legend if not entry.group.startswith("a")} for figure in drawn]
    assert marks == [{"mean", "median", "certificate", "cap"}, {"mean", "median"}]
    assert len([attributes for _, attributes in found.elements if "card" in attributes.get("class", "").split()]) == 3


def test_the_verdict_is_what_the_numbers_say(run, results):
    def told(results):
        return headline(contests(results.summary, results.performance))

    beats = (
        "With 95% confidence, the learned algorithm beats every baseline in iterations. It is not decided whether the "
        "learned algorithm beats every baseline in oracle calls: without a largest value, nothing is certain about a "
        "mean."
    )
    faster = run.changed(milliseconds=np.array([0.3, 0.5, 0.5, 0.5]))
    assert told(faster.results()) == f"{beats} In wall-clock time on this machine, it was faster than every baseline."
    assert told(results).startswith(f"{beats} In wall-clock time on this machine, it was not faster than ")
    lost = told(with_roles_exchanged(run, "FISTA").results())
    assert lost.startswith("The learned algorithm does not beat every baseline, in iterations. ")
    assert "no baseline" in told(bare(run).results())


@pytest.mark.parametrize("name", ["plain", "trouble", "energy"])
def test_plotly_knows_all_that_is_drawn(name, run):
    results = VARIANTS[name](run)
    drawn = figures(results)
    titles = [functional.title for functional in results.summary.functionals]
    assert [figure.title for figure in drawn] == [
        "Evolution of the gap", *titles, "How many problems are solved in time", "Performance profile",
    ]  # fmt: skip
    assert len({figure.name for figure in drawn}) == len(drawn)
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
def browser(run, tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine, so the report cannot be tried in a browser")
    from selenium import webdriver
    from selenium.common.exceptions import NoSuchDriverException
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
    try:
        driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    except NoSuchDriverException:
        pytest.skip("no chromedriver on this machine, and none could be downloaded")
    path = write_report(runs.with_regressions(in_trouble(run).results()), tmp_path_factory.mktemp("run"))
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
    assert len(counts) == 6 + 1 + 3
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
