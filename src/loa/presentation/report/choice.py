"""What was chosen to be deployed, against what, and by how much."""

from __future__ import annotations

from ...results.choice import Choice
from ...results.run_results import Results
from .markup import Markup, section, table, tag
from .numbers import number


def choice(results: Results) -> Markup:
    """The section on the choice; nothing if there was none."""
    found = results.summary.choice
    if not found.costs:
        return Markup("")
    return section("choice", "How it was chosen", tag("p", found.sentence()), _judged(found), *_race(found))


def _judged(found: Choice) -> Markup:
    best = min(found.costs.values())
    rows = [
        [name, number(cost, 4), number(cost / best, 3) if best > 0 else "", *_share(found, name)]
        for name, cost in sorted(found.costs.items(), key=lambda each: each[1])
    ]
    caption = f"{found.minimize.capitalize()} on {number(found.problems)} validation problems"
    return table(caption, ["algorithm", found.minimize, "× the best", *(["solved"] if found.solved else [])], rows)


def _share(found: Choice, name: str) -> list[str]:
    return [f"{found.solved[name]:.1%}"] if found.solved else []


def _race(found: Choice) -> list[Markup]:
    """The families that raced on training problems, best first."""
    if not found.entrants:
        return []
    told = tag(
        "p",
        "Families of algorithms raced on training problems. In every round each tried more settings on more problems, "
        "and the worse half was dropped; the final was on validation problems. The settings are in summary.json.",
    )
    rows = [
        [each.name, each.kind, each.came_to, number(each.problems), number(each.cost, 4)] for each in found.entrants
    ]
    header = ["family", "kind", "came to", "problems", found.minimize]
    return [told, table("The race", header, rows)]
