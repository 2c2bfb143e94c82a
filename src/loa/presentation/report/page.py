"""The page as a whole: head, contents, what was run, provenance."""

from __future__ import annotations

from importlib import resources
from string import Template

from ...problems.role import Role
from ...results.run_results import Results
from ...results.summary import RunSummary
from .certified import certificates
from .choice import choice
from .log import log
from .markup import Markup, definitions, items, markup, section, table, tag
from .numbers import number, seconds, words
from .pictures import pictures
from .plots import figures
from .tables import extremes, measured, published
from .verdict import verdict


def page(results: Results) -> str:
    """The whole document, with style, script and plotly inside."""
    from plotly.offline import get_plotlyjs

    summary = results.summary
    parts = [
        verdict(results),
        choice(results),
        _what_was_run(results),
        section("plots", "How the algorithms behave", HELP, *(figure.to_html() for figure in figures(results))),
        measured(results),
        log(results),
        certificates(results),
        published(results),
        extremes(results),
        pictures(results),
        _provenance(results),
    ]
    return Template(_file("page.html")).substitute(
        title=markup(f"{summary.heading} – loa"),
        style=_file("report.css"),
        header=_header(summary),
        contents=_contents(parts),
        main=markup(*parts),
        plotly=get_plotlyjs(),
        script=_file("report.js"),
    )


HELP = tag(
    "p",
    "Point at a curve to read it, drag to zoom, double-click to go back; the buttons above a plot show and hide its "
    "parts. With the keyboard: ",
    *(markup(tag("kbd", key), " ") for key in ("+", "−", "←", "→")),
    "to zoom and move, ",
    tag("kbd", "0"),
    " to go back.",
    class_="help",
)


def _file(name: str) -> str:
    return resources.files("loa.presentation.report").joinpath(name).read_text(encoding="utf-8")


def _header(summary: RunSummary) -> Markup:
    created = str(summary.provenance.get("created", ""))[:10]
    facts = [f"experiment {summary.experiment}", f"{summary.preset} preset", f"seed {summary.seed}", created]
    return markup(
        tag("p", f"Report of a {'solver' if summary.clocked else 'learned optimization algorithm'}", class_="eyebrow"),
        tag("h1", summary.heading),
        tag("p", " · ".join(filter(None, facts))),
    )


def _contents(parts: list[Markup]) -> Markup:
    """Links to the sections that there are."""
    names = {
        "verdict": "Verdict", "choice": "Choice", "run": "What was run", "plots": "Plots", "measures": "Measures",
        "log": "Learning and testing",
        "certificates": "Certificates", "published": "Published numbers", "extremes": "Hardest and easiest",
        "pictures": "Pictures", "provenance": "Provenance",
    }  # fmt: skip
    there = [name for name in names if any(part.startswith(f'<section id="{name}"') for part in parts)]
    return items([tag("a", names[name], href=f"#{name}") for name in there])


def _what_was_run(results: Results) -> Markup:
    summary = results.summary
    origin = "shipped with loa, trained before" if summary.pretrained else f"{summary.own} in this run"
    facts = [
        ("problems", summary.title or summary.experiment),
        ("dimension", number(summary.dimension) if summary.dimension else ""),
        (summary.who.removeprefix("the "), markup(tag("code", summary.algorithm), f", {origin}")),
        ("baselines", words(list(summary.baselines)) or "none"),
        ("solved when", tag("code", summary.criterion)),
        ("at most", f"{number(summary.t_max)} {summary.time.unit}"),
        ("measured on", f"{number(summary.sizes['test'])} test problems that were used for {_nothing_else(summary)}"),
        ("look", summary.looks()),
        ("candidates", f"{number(summary.candidates)} in the prior's support" if summary.candidates else ""),
    ]
    notes = items(summary.notes, class_="notes") if summary.notes else ""
    return section("run", "What was run", definitions([fact for fact in facts if fact[1]]), notes)


def _nothing_else(summary: RunSummary) -> str:
    """That the test problems are fresh, as far as the ledger of the directory knows."""
    return "an earlier look as well" if summary.seen_before else "nothing else"


def _provenance(results: Results) -> Markup:
    summary, origin = results.summary, results.summary.provenance
    facts = [
        ("command", _code(origin.get("command"))),
        ("seed", str(summary.seed)),
        ("created", str(origin.get("created", ""))),
        ("commit", _code(origin.get("commit"))),
        ("plan", _code(summary.plan)),
        ("versions", ", ".join(f"{name} {version}" for name, version in origin.get("versions", {}).items())),
        ("machine", ", ".join(f"{name} {value}" for name, value in origin.get("machine", {}).items())),
    ]
    roles = [[role, number(size), Role.named(role).purpose] for role, size in summary.sizes.items()]
    told = "Instances of the log, each in one role" if summary.log else "Draws of problems, independent of each other"
    draws = table(told, ["role", "problems", "used for"], roles)
    stages = [[stage, seconds(duration)] for stage, duration in summary.seconds.items()]
    times = table("Time by stage", ["stage", "time"], stages) if stages else ""
    return section(
        "provenance",
        "Provenance",
        definitions([fact for fact in facts if fact[1]]),
        tag("div", tag("div", draws, class_="roles"), times, class_="side-by-side"),
    )


def _code(text: object) -> Markup | str:
    return tag("code", str(text)) if text else ""
